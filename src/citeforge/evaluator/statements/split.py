"""Statements: the sentences of an output with the citations that belong to each.

The rules have a version, which stands in the segmenter's signature (``r1``, ``r2``). This file
holds the records and version 1; version 2 is :mod:`citeforge.evaluator.statements.lines`.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Protocol

from citeforge.engines.text.segment import Segmenter, Span
from citeforge.schemas.citations.grammar import Marker, Parsed


class MarkerReader(Protocol):
    """Finds citation marks: of passages (Grammar) or of triples (TripleGrammar)."""

    def parse(self, output: str, n_docs: int) -> Parsed:
        """Marks of an output."""
        ...


@dataclass(frozen=True)
class Statement:
    """A statement and its citations.

    Attributes:
        text: the sentence without markers, white space squeezed at its ends.
        spans: where its characters stand in the output, markers and their spaces left out.
        markers: the marks that belong to it, in order.
    """

    text: str
    spans: tuple[Span, ...]
    markers: tuple[Marker, ...]

    @property
    def numbers(self) -> list[int]:
        """Citation numbers as written, in order, repeats kept."""
        return [n for marker in self.markers for n in marker.numbers]


@dataclass(frozen=True)
class Statements:
    """An output in statements.

    Attributes:
        statements: in order.
        stray: markers of an output without any statement.
        text: the output without markers, from which the statements were cut.
        n_lists: reference lists, whose lines and marks are in nothing else.
    """

    statements: tuple[Statement, ...]
    stray: tuple[Marker, ...]
    text: str
    n_lists: int = 0


def split_statements(
    output: str, grammar: MarkerReader, segmenter: Segmenter, n_docs: int
) -> Statements:
    """Strict reading, by the version of the rules that the segmenter names.

    Version 2 is docs/definitions.md#statements. Version 1: markers are cut out first, the rest is
    split into sentences, and markers are attached by their offset: to the statement that contains
    them, else to the one before; but when the output opens with a marker, markers between
    statements bind forward throughout.
    """
    parsed = grammar.parse(output, n_docs)
    if segmenter.rules_version > 1:
        from citeforge.evaluator.statements.lines import read_lines

        return read_lines(output, parsed, segmenter)
    markers = parsed.markers
    pieces: list[str] = []
    raw_starts: list[int] = []  # where each kept piece starts in the output
    clean_starts: list[int] = []  # and in the text without markers
    places: list[int] = []  # offset of each marker in the text without markers
    at = size = 0
    for start, end in [*((m.start, m.end) for m in markers), (len(output), len(output))]:
        raw_starts.append(at)
        clean_starts.append(size)
        pieces.append(output[at:start])
        size += start - at
        places.append(size)
        at = end
    text = "".join(pieces)
    sentences = segmenter.split(text)
    if not sentences:
        return Statements((), markers, text)
    forward = bool(markers) and not output[: markers[0].start].strip()
    owned: list[list[Marker]] = [[] for _ in sentences]
    starts = [s for s, _ in sentences]
    for marker, place in zip(markers, places, strict=False):
        owned[_owner(place, sentences, starts, forward)].append(marker)
    return Statements(
        tuple(
            Statement(
                _joined(output, spans),
                spans,
                tuple(mine),
            )
            for spans, mine in zip(
                (_raw_spans(s, e, raw_starts, clean_starts, len(text)) for s, e in sentences),
                owned,
                strict=True,
            )
        ),
        (),
        text,
    )


def _joined(output: str, spans: tuple[Span, ...]) -> str:
    """Text of a statement; the space before a marker goes with it where punctuation follows."""
    pieces: list[str] = []
    for start, end in spans:
        piece = output[start:end]
        if piece[0] in ".,;:!?)":
            while pieces and not pieces[-1].strip():
                pieces.pop()
            if pieces:
                pieces[-1] = pieces[-1].rstrip()
        pieces.append(piece)
    return " ".join("".join(pieces).split())


def _owner(place: int, sentences: list[Span], starts: list[int], forward: bool) -> int:
    """Index of the sentence that a marker at ``place`` belongs to."""
    before = bisect_right(starts, place) - 1
    inside = before >= 0 and sentences[before][0] < place < sentences[before][1]
    if inside:
        return before
    if forward:
        # At the very start of a sentence, or between two: the sentence that follows.
        follows = before if before >= 0 and sentences[before][0] == place else before + 1
        return min(follows, len(sentences) - 1)
    if before >= 0 and sentences[before][0] == place:
        before -= 1
    return max(before, 0)


def _raw_spans(
    start: int, end: int, raw_starts: list[int], clean_starts: list[int], size: int
) -> tuple[Span, ...]:
    """Where [start, end) of the text without markers stands in the output."""
    spans = []
    for i in range(bisect_right(clean_starts, start) - 1, len(clean_starts)):
        raw, clean = raw_starts[i], clean_starts[i]
        if clean >= end:
            break
        clean_end = clean_starts[i + 1] if i + 1 < len(clean_starts) else size
        low, high = max(start, clean), min(end, clean_end)
        if low < high:
            spans.append((raw + low - clean, raw + high - clean))
    return tuple(spans)
