"""Answers in statements, kept in score files for reports."""

from __future__ import annotations

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.sentences import SentenceSegmenter
from citeforge.evaluator.cited_words import cited_words
from citeforge.evaluator.inputs import Inputs, Item
from citeforge.evaluator.measures.judging import render
from citeforge.evaluator.statements import split_statements
from citeforge.schemas.scores import AnswerDetail, PassageDetail, StatementDetail


def describe(inputs: Inputs) -> list[AnswerDetail]:
    """Answers of the first run, in the order of the benchmark."""
    segmenter = inputs.tools.segmenter or SentenceSegmenter()
    rows = []
    for item in sorted(inputs.runs[0], key=lambda i: i.row):
        found = split_statements(item.output, inputs.grammar, segmenter, len(item.passages))
        stray = [n for marker in found.stray for n in marker.numbers]
        told = [(s, _cited(s.numbers, item, inputs)) for s in found.statements]
        rows.append((item, told, _cited(stray, item, inputs)))
    if inputs.tools.judge is not None:
        inputs.tools.judge.ask(
            _pair(item, statement.text, cited)
            for item, statements, _ in rows
            for statement, (cited, _) in statements
            if cited
        )
    return [
        AnswerDetail(
            query_id=inputs.benchmark.query_ids[item.row],
            query=item.query,
            statements=[
                StatementDetail(
                    text=s.text,
                    cited=cited,
                    wrong=wrong,
                    supported=_supported(item, s.text, cited, inputs),
                )
                for s, (cited, wrong) in statements
            ],
            passages=[
                PassageDetail(id=p.id, title=p.title, text=p.text, label=p.label)
                for p in item.passages
            ],
            is_missing=item.is_missing,
            gold=_gold(item),
            cited=stray_cited,
            wrong=stray_wrong,
            said=cited_words(
                item.output, [s for s, _ in statements], item.spans, [p.text for p in item.passages]
            ),
        )
        for item, statements, (stray_cited, stray_wrong) in rows
    ]


_GOLD = 10
"""Gold answers that are kept."""


def _gold(item: Item) -> list[str]:
    """Texts of the gold answers, or their accepted forms where they have no text."""
    texts = (row.text or " / ".join(row.aliases) for row in item.gold)
    return [text for text in dict.fromkeys(texts) if text][:_GOLD]


def _cited(numbers: list[int], item: Item, inputs: Inputs) -> tuple[list[int], int]:
    distinct = [n - inputs.grammar.base for n in dict.fromkeys(numbers)]
    inside = [p for p in distinct if 0 <= p < len(item.passages)]
    return inside, len(distinct) - len(inside)


def _pair(item: Item, statement: str, cited: list[int]) -> Pair:
    return Pair("\n".join(render(item.passages[c], True) for c in cited), statement)


def _supported(item: Item, statement: str, cited: list[int], inputs: Inputs) -> bool | None:
    if inputs.tools.judge is None:
        return None
    if not cited:
        return False
    pair = _pair(item, statement, cited)
    decision = inputs.tools.judge.ask([pair])[pair]
    return None if isinstance(decision, JudgeFailure) else decision.entailed
