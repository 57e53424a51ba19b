"""Answers split into statements with citations and verdicts, as score files keep them."""

import re
from collections.abc import Callable, Iterator, Sequence

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.text.segment import Segmenter
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.measures.alce_citations import make_claim, reference_claims
from citeforge.evaluator.measures.attributed_ir_citations import split_claims
from citeforge.evaluator.measures.judging import Claim, premise
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.evaluator.submissions.split import Statement, strict_statements
from citeforge.schemas.scores import AnswerDetail, CitedWords, PassageDetail, StatementDetail
from citeforge.schemas.submission import CitedSpan

_CUT = re.compile(r"…|\.\.\.")


def cited_words(
    output: str, statements: Sequence[Statement], spans: Sequence[CitedSpan], texts: Sequence[str]
) -> list[CitedWords]:
    """Match a system's own citation spans to statements of its answer and cited passages.

    Args:
        output: what the system wrote; spans count its characters.
        statements: read from it.
        spans: as the submission has them.
        texts: passages that were shown.

    Returns:
        One for each span and statement of which it covers a letter or digit; a span that covers
        none (a place, a mark) and quotes something is listed without a statement.
    """
    places = [_offsets_in_output(output, s) for s in statements]
    words: list[CitedWords] = []
    for span in spans:
        inside = span.passage is not None and 0 <= span.passage < len(texts)
        passage = span.passage if inside else None
        quoted = [] if passage is None else list(quotations(texts[passage], span))
        covered = (
            []
            if span.written is not None
            else [
                (number, within[0], within[-1] + 1)
                for number, at in enumerate(places)
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
    """Find a citation's quotation in the passage's text; yield (start, end) of each part.

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
    places: list[int] = []
    text = statement.text
    for i in (i for start, end in statement.spans for i in range(start, end)):
        if len(places) == len(text):
            break
        char = text[len(places)]
        if output[i] == char or (output[i].isspace() and char.isspace()):
            places.append(i)
        elif not output[i].isspace():  # only white space is left out of a statement
            return []
    return places if len(places) == len(text) else []


_Statements = tuple[list[Claim], Claim, list[CitedWords]]
"""Statements of an answer, citations outside them, and the words its system cites for."""


def answer_details(inputs: Inputs) -> list[AnswerDetail]:
    """List the first run's answers, split into statements with citations and verdicts.

    ``reference``: the statements that ALCE's measures looked at, else those of Attributed-IR's;
    where neither was computed, the answer is split as in ``strict``.
    """
    segmenter = inputs.tools.segmenter or SentenceSegmenter()
    is_air = _scored_claims(inputs, split_claims) and not _scored_claims(inputs, reference_claims)
    items = sorted(inputs.runs[0], key=lambda item: item.row)
    rows = [(item, *_split_answer(item, inputs, segmenter)) for item in items]

    def pair(item: AnswerItem, claim: Claim) -> Pair:
        """Pair a claim with all passages that it cites, as the judge is asked."""
        is_strict = inputs.protocol == "strict"
        return Pair(premise(item.passages, claim.cited, is_strict, not is_air), claim.text)

    judge = inputs.tools.judge
    asked = [(item, c) for item, claims, _, _ in rows for c in claims if c.cited and not c.skipped]
    decisions = {} if judge is None else judge.ask(pair(item, claim) for item, claim in asked)

    def supported(item: AnswerItem, claim: Claim) -> bool | None:
        """Whether a claim's citations support it by the judge's verdict; None without one."""
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
            gold=_gold_texts(item),
            cited=list(stray.cited),
            wrong=stray.wrong,
            said=words,
        )
        for item, claims, stray, words in rows
    ]


def _split_answer(item: AnswerItem, inputs: Inputs, segmenter: Segmenter) -> _Statements:
    """Split an answer into statements with citations, stray citations, and cited words."""
    scored = _scored_claims(inputs, reference_claims) or _scored_claims(inputs, split_claims)
    if inputs.protocol == "reference" and scored:
        return scored.get(item.row, []), Claim("", ()), []
    split = strict_statements(item.output, inputs.grammar, segmenter, len(item.passages))
    texts = [p.text for p in item.passages]
    return (
        [make_claim(s.text, s.numbers, item, inputs) for s in split.statements],
        make_claim("", [n for marker in split.stray for n in marker.numbers], item, inputs),
        cited_words(item.output, split.statements, item.spans, texts),
    )


def _scored_claims(
    inputs: Inputs, read: Callable[[AnswerItem, Inputs], list[Claim]]
) -> dict[int, list[Claim]]:
    """Get the claims of the first run's answers, by row, as the scoring measure read them."""
    name = read.__qualname__
    return {
        row: claims
        for (reader, run, row), claims in inputs.statements.items()
        if reader == name and run == 0
    }


_MOST_GOLD_ANSWERS = 10
"""Gold answers that are kept."""


def _gold_texts(item: AnswerItem) -> list[str]:
    """List the texts of the gold answers, or their accepted forms where they have no text."""
    texts = (row.text or " / ".join(row.aliases) for row in item.gold)
    return [text for text in dict.fromkeys(texts) if text][:_MOST_GOLD_ANSWERS]
