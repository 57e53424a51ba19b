"""Answers split into statements with citations and verdicts, as score files keep them."""

import re
from collections.abc import Iterable, Iterator, Sequence

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.text.segment import Segmenter
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.judging import premise
from citeforge.evaluator.statements.protocols import statements_of
from citeforge.evaluator.statements.split import Statement, split_statements
from citeforge.evaluator.statements.strict import CitedStatement, make_statement
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.evaluator.submissions.tools import Need
from citeforge.schemas.scores import AnswerDetail, CitedWords, PassageDetail, StatementDetail
from citeforge.schemas.submission import CitedSpan

_CUT = re.compile(r"…|\.\.\.")


def cited_words(
    output: str,
    statements: Sequence[Statement],
    spans: Sequence[CitedSpan],
    passage_texts: Sequence[str],
) -> list[CitedWords]:
    """Match a system's citation spans to words of its statements and of cited passages.

    Args:
        output: what the system wrote; spans count its characters.
        statements: read from it.
        spans: as the submission has them.
        passage_texts: passages that were shown.

    Returns:
        One for each span and statement of which it covers a letter or digit; a span that covers
        none (a place, a mark) and quotes something is listed without a statement.
    """
    offsets = [_offsets_in_output(output, s) for s in statements]
    words: list[CitedWords] = []
    for span in spans:
        inside = span.passage is not None and 0 <= span.passage < len(passage_texts)
        passage = span.passage if inside else None
        quoted = [] if passage is None else list(quotations(passage_texts[passage], span))
        covered = (
            []
            if span.written is not None
            else [
                (number, within[0], within[-1] + 1)
                for number, at in enumerate(offsets)
                if (within := [n for n, i in enumerate(at) if span.start <= i < span.end])
                and any(output[at[n]].isalnum() for n in within)
            ]
        )
        for number, start, end in covered:
            words.append(
                CitedWords(statement=number, start=start, end=end, passage=passage, quoted=quoted)
            )
        if quoted and not covered:
            words.append(CitedWords(passage=passage, quoted=quoted))
    return words


def quotations(text: str, span: CitedSpan) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each part of a citation's quotation in a passage's text.

    White space may differ. The parts between ellipses are looked for one by one.
    """
    quote = (span.quote or "").split()
    start, end = span.quote_start, span.quote_end
    if span.quote_unit == "char" and start is not None and end is not None:
        if quote and text[start:end].split() == quote:
            yield start, end
        return
    for part in _CUT.split(" ".join(quote)):
        words = r"\s+".join(re.escape(w) for w in part.split())
        match = re.search(words, text) if words else None
        if match is not None:
            yield match.span()


def _offsets_in_output(output: str, statement: Statement) -> list[int]:
    """Map each character of a statement to its offset in the output; empty if they do not match."""
    offsets: list[int] = []
    text = statement.text
    for i in (i for start, end in statement.spans for i in range(start, end)):
        if len(offsets) == len(text):
            break
        char = text[len(offsets)]
        if output[i] == char or (output[i].isspace() and char.isspace()):
            offsets.append(i)
        elif not output[i].isspace():  # only white space is left out of a statement
            return []
    return offsets if len(offsets) == len(text) else []


_Statements = tuple[list[CitedStatement], CitedStatement, list[CitedWords]]
"""Statements of an answer, citations outside them, and the words its system cites for."""


def answer_details(inputs: Inputs, measures: Iterable[Measure]) -> list[AnswerDetail]:
    """List the first run's answers, split into statements with citations and verdicts.

    Args:
        inputs: the answers.
        measures: those that were computed. ``reference`` lists the statements that ALCE's looked
            at, else those of Attributed-IR's; without either, answers are split as in ``strict``.
    """
    groups = [m.group for m in measures if Need.STATEMENTS in m.group.needs]
    evaluator = min((g.evaluator for g in groups if g.evaluator), default=None)  # ALCE's first
    is_air = evaluator == "attributed_ir"
    items = sorted(inputs.runs[0], key=lambda item: item.row)
    if inputs.protocol == "reference" and evaluator is not None:
        read = {key: statements for key, _, statements in statements_of(inputs, evaluator)}
        nothing = CitedStatement("", ())
        rows: list[tuple[AnswerItem, list[CitedStatement], CitedStatement, list[CitedWords]]]
        rows = [(item, read.get((0, item.row), []), nothing, []) for item in items]
    else:
        segmenter = inputs.tools.segmenter or SentenceSegmenter()
        rows = [(item, *_split_answer(item, inputs, segmenter)) for item in items]

    def pair(item: AnswerItem, statement: CitedStatement) -> Pair:
        """Pair a statement with all passages that it cites: premise and hypothesis of the judge."""
        is_strict = inputs.protocol == "strict"
        return Pair(premise(item.passages, statement.cited, is_strict, not is_air), statement.text)

    hides_labels = inputs.benchmark.is_public_half
    judge = inputs.tools.judge
    judged_statements = [
        (item, c)
        for item, statements, _, _ in rows
        for c in statements
        if c.cited and not c.skipped
    ]
    decisions = (
        {}
        if judge is None
        else judge.ask(pair(item, statement) for item, statement in judged_statements)
    )

    def supported(item: AnswerItem, statement: CitedStatement) -> bool | None:
        """Whether a statement's citations support it by the judge's verdict; None without one."""
        if judge is None:
            return None
        if not statement.cited or statement.skipped:
            return False
        decision = decisions[pair(item, statement)]
        return None if isinstance(decision, JudgeFailure) else decision.entailed

    return [
        AnswerDetail(
            query_id=inputs.benchmark.query_ids[item.row],
            query=item.query,
            statements=[
                StatementDetail(
                    text=statement.text,
                    cited=list(statement.cited),
                    wrong=statement.wrong,
                    supported=supported(item, statement),
                )
                for statement in statements
            ],
            passages=[
                PassageDetail(
                    id=p.id, title=p.title, text=p.text, label=None if hides_labels else p.label
                )
                for p in item.passages
            ],
            is_missing=item.is_missing,
            gold=_gold_texts(item),
            cited=list(stray.cited),
            wrong=stray.wrong,
            said=words,
        )
        for item, statements, stray, words in rows
    ]


def _split_answer(item: AnswerItem, inputs: Inputs, segmenter: Segmenter) -> _Statements:
    """Split an answer: (statements, citations outside them, statement words with cited words)."""
    split = split_statements(item.output, inputs.grammar, segmenter, len(item.passages))
    texts = [p.text for p in item.passages]
    return (
        [make_statement(s.text, s.numbers, item, inputs) for s in split.statements],
        make_statement("", [n for marker in split.stray for n in marker.numbers], item, inputs),
        cited_words(item.output, split.statements, item.spans, texts),
    )


_MOST_GOLD_ANSWERS = 10
"""Gold answers that are kept."""


def _gold_texts(item: AnswerItem) -> list[str]:
    """List the texts of the gold answers, or their short forms where they have no text."""
    texts = (row.text or " / ".join(row.aliases) for row in item.gold)
    return [text for text in dict.fromkeys(texts) if text][:_MOST_GOLD_ANSWERS]
