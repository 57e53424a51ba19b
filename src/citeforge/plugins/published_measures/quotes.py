"""Measures of whether quotations of an answer are in its sources, word for word.

## quotes

Quoted spans of ragas (`QuotedSpansAlignment`), for `reference`; `strict` is ours. A quotation has
three words or more (`strict`: in scripts without spaces, signs), and is in one line. `strict` reads
double quotation marks of several languages ("…", “…”, „…“, «…», 「…」), compares words, whatever
their case and punctuation, and looks in one of the passages that statements with the quotation
cite; parts around an ellipsis or a word in brackets come in order. `reference` reads what is
between any two quotation marks or apostrophes, compares characters, and looks in all passages
shown, joined.

*Example.* 'He "lived in the house by the sea" [1] and "died […] in 1931" there [2]. "We never saw
him", it says.' Passage 1 has the first, passage 2 "died at home in 1931", nothing is cited for the
third. `strict`: Quotes = 2/3, the parts of the second come in order. `reference`: 1/3, the second
is not there as it is written.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citeforge.builders.authorship.facts import find_quotations, words_and_signs
from citeforge.evaluator.measures.declared import COUNT, per_answer
from citeforge.evaluator.measures.handed import Answer
from citeforge.evaluator.statements.split import split_statements
from citeforge.evaluator.statements.strict import make_statement
from citeforge.evaluator.submissions.tools import Need
from citeforge.package.items import Passage
from citeforge.schemas.matching.folding import fold

_LEAST_WORDS = 3
_GAP = re.compile(r"\[[^\]\n]*\]|\(\s*(?:…|\.{3})\s*\)|…|\.{3}")
"""What a quotation leaves out or changes: an ellipsis, or words in brackets."""
_ANY_MARKS = "\"'`´‘’“”„‟"
_SPAN = re.compile(f"[{_ANY_MARKS}](.*?)[{_ANY_MARKS}]")
_POOLED_MARKS = "\"'`´"
_POOLED_SPAN = re.compile(f"[{_POOLED_MARKS}](.*?)[{_POOLED_MARKS}]")


@dataclass(frozen=True)
class QuoteCounts:
    """Quotations of one answer.

    Attributes:
        cited: quotations that a passage cited for them has.
        shown: quotations that a passage shown has.
        total: all of them; 1 for a missing answer, of which none is found.
        written: all that the answer has.
        pooled: (found, all) of the measure over all answers.
        without: value of an answer without quotations; None where it leaves.
    """

    cited: int
    shown: int
    total: int
    written: int
    pooled: tuple[int, int]
    without: float | None = None


@per_answer(
    "quotes", needs=(Need.PASSAGES, Need.SEGMENTER), reads_labels=False,
    source="reference: ragas, QuotedSpansAlignment; strict: ours",
    missing=QuoteCounts(0, 0, 1, 0, (0, 1)),
)  # fmt: skip
def quotes(answer: Answer) -> QuoteCounts:
    """Count an answer's quotations, and those in its cited and shown passages.

    Raises:
        CannotError: no answer was shown a passage.
    """
    answer.submission.require_passages()
    found = list(_read_quotations(answer))
    sources = [f" {' '.join(_words(f'{p.title} {p.text}'))} " for p in answer.passages]
    cited = sum(any(_has_parts(sources[c], parts) for c in own) for parts, own in found)
    shown = sum(any(_has_parts(source, parts) for source in sources) for parts, _ in found)
    return QuoteCounts(cited, shown, len(found), len(found), (cited, len(found)))


def _read_quotations(answer: Answer) -> Iterator[tuple[list[str], set[int]]]:
    """Yield (parts as normalised words, positions of passages cited for it) of each quotation."""
    inputs = answer.submission
    statements = split_statements(
        answer.output, inputs.grammar, inputs.tools.get_segmenter(), answer.n_shown
    ).statements
    for text, start, end in find_quotations(answer.output):
        pieces = _GAP.split(inputs.grammar.strip_marks(text, answer.n_shown))
        parts = [" ".join(words) for piece in pieces if (words := _words(piece))]
        if sum(len(part.split()) for part in parts) >= _LEAST_WORDS:
            around = [s for s in statements if any(a < end and start < b for a, b in s.spans)]
            read = (make_statement(s.text, s.numbers, answer, inputs) for s in around)
            yield parts, {position for statement in read for position in statement.cited}


def _words(text: str) -> list[str]:
    """Split a text into normalised words; in scripts without spaces each character is one."""
    return words_and_signs(fold(text))


def _has_parts(source: str, parts: Sequence[str]) -> bool:
    """Whether a text of normalised words contains the parts of a quotation, in order."""
    at = 0
    for part in parts:
        at = source.find(f" {part} ", at)
        if at < 0:
            return False
        at += len(part) + 1
    return True


@quotes.reference
def reference_quotes(answer: Answer) -> QuoteCounts:
    """Count an answer's quoted spans, and those in the shown passages, as ragas does.

    Raises:
        CannotError: no answer was shown a passage.
    """
    answer.submission.require_passages()
    found = _count_spans(_SPAN, answer.output, answer.passages)
    pooled = _count_spans(_POOLED_SPAN, answer.output, answer.passages)
    return QuoteCounts(found[0], found[0], found[1], found[1], pooled, without=1.0)


def _count_spans(
    pattern: re.Pattern[str], output: str, passages: Sequence[Passage]
) -> tuple[int, int]:
    """Count quoted spans as ragas does: (those that the joined passages have, all)."""
    spans = [span for found in pattern.findall(output) if (span := found.strip())]
    spans = [_normalise(span) for span in spans if len(span.split()) >= _LEAST_WORDS]
    source = _normalise(" ".join(p.text for p in passages))
    return sum(span in source for span in spans), len(spans)


def _normalise(text: str) -> str:
    """Normalise a text as ragas does: single spaces, lower case."""
    return re.sub(r"\s+", " ", text).strip().lower()


MEASURES = (
    quotes.measure(
        "Quotes", "quotations of an answer that the passages cited for them have, word for word",
        mean=lambda q: q.cited / q.total if q.total else q.without,
        formula="quotations found in a passage that their statements cite ÷ quotations",
        edge_cases="no quotation: undefined; `reference`: 1, and passages shown"),
    quotes.measure(
        "Quotes@all", "the same over all answers together", ratio=lambda q: q.pooled,
        formula="sum of quotations found ÷ sum of quotations",
        edge_cases="`reference`: ragas' older function, which reads `\"`, `'`, `` ` `` and `´`"),
    quotes.measure(
        "Quotes.Shown", "quotations of an answer that a passage shown has",
        mean=lambda q: q.shown / q.total if q.total else q.without,
        formula="the same as `Quotes` in any passage shown; the rest is invented",
        edge_cases="no quotation: undefined; `reference`: 1"),
    quotes.measure(
        "Quotes.Count", "quotations per answer", mean=lambda q: q.written, **COUNT,
        formula="quotations of an answer"),
)  # fmt: skip
