"""Answers in statements, kept in score files for reports."""

from collections.abc import Callable

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.text.segment import Segmenter
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.measures.alce.answers import in_range, reference_claims
from citeforge.evaluator.measures.attributed_ir.answers import claims_of
from citeforge.evaluator.measures.judging import Claim, premise
from citeforge.evaluator.statements.cited_words import cited_words
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.evaluator.statements.split import strict_statements
from citeforge.schemas.scores import AnswerDetail, CitedWords, PassageDetail, StatementDetail

_Statements = tuple[list[Claim], Claim, list[CitedWords]]
"""An answer in statements, citations that belong to none, and what its system cites for."""


def answer_details(inputs: Inputs) -> list[AnswerDetail]:
    """Answers of the first run, in the order of the benchmark.

    ``reference``: the statements that ALCE's measures looked at, else those of Attributed-IR's;
    where neither was computed, the answer is split as in ``strict``.
    """
    segmenter = inputs.tools.segmenter or SentenceSegmenter()
    is_air = _scored(inputs, claims_of) and not _scored(inputs, reference_claims)
    items = sorted(inputs.runs[0], key=lambda item: item.row)
    rows = [(item, *_read(item, inputs, segmenter)) for item in items]

    def pair(item: AnswerItem, claim: Claim) -> Pair:
        is_strict = inputs.protocol == "strict"
        return Pair(premise(item.passages, claim.cited, is_strict, not is_air), claim.text)

    judge = inputs.tools.judge
    asked = [(item, c) for item, claims, _, _ in rows for c in claims if c.cited and not c.skipped]
    decisions = {} if judge is None else judge.ask(pair(item, claim) for item, claim in asked)

    def supported(item: AnswerItem, claim: Claim) -> bool | None:
        if judge is None:
            return None
        if not claim.cited or claim.skipped:
            return False
        decision = decisions[pair(item, claim)]
        return None if isinstance(decision, JudgeFailure) else decision.entailed

    return [
        AnswerDetail(
            query_id=inputs.benchmark.query_ids[item.row],
            query=item.query,
            statements=[
                StatementDetail(
                    text=claim.text,
                    cited=list(claim.cited),
                    wrong=claim.wrong,
                    supported=supported(item, claim),
                )
                for claim in claims
            ],
            passages=[
                PassageDetail(id=p.id, title=p.title, text=p.text, label=p.label)
                for p in item.passages
            ],
            is_missing=item.is_missing,
            gold=_gold(item),
            cited=list(stray.cited),
            wrong=stray.wrong,
            said=words,
        )
        for item, claims, stray, words in rows
    ]


def _read(item: AnswerItem, inputs: Inputs, segmenter: Segmenter) -> _Statements:
    scored = _scored(inputs, reference_claims) or _scored(inputs, claims_of)
    if inputs.protocol == "reference" and scored:
        return scored.get(item.row, []), Claim("", ()), []
    split = strict_statements(item.output, inputs.grammar, segmenter, len(item.passages))
    texts = [p.text for p in item.passages]
    return (
        [in_range(s.text, s.numbers, item, inputs) for s in split.statements],
        in_range("", [n for marker in split.stray for n in marker.numbers], item, inputs),
        cited_words(item.output, split.statements, item.spans, texts),
    )


def _scored(
    inputs: Inputs, read: Callable[[AnswerItem, Inputs], list[Claim]]
) -> dict[int, list[Claim]]:
    """Statements of the first run that a reader gave the measures, by query row."""
    name = read.__qualname__
    return {
        row: claims
        for (reader, run, row), claims in inputs.statements.items()
        if reader == name and run == 0
    }


_GOLD = 10
"""Gold answers that are kept."""


def _gold(item: AnswerItem) -> list[str]:
    """Texts of the gold answers, or their accepted forms where they have no text."""
    texts = (row.text or " / ".join(row.aliases) for row in item.gold)
    return [text for text in dict.fromkeys(texts) if text][:_GOLD]
