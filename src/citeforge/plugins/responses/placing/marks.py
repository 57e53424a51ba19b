"""Citations that stand beside a text are put into it, as marks of our grammar.

A span of words belongs to every statement of which it covers a letter or digit; each gets its mark,
before the full stop. A citation with a place and no extent becomes a mark at that place. What
comes out is read again, so that the measures read what was meant.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citeforge.engines.text.segment import Segmenter
from citeforge.evaluator.statements.split import Statement, Statements, strict_statements
from citeforge.plugins.responses.placing.records import Cited
from citeforge.schemas.citations.grammar import Grammar, overlaps
from citeforge.schemas.citations.marks import JOINER

_STOPS = ".!?。！？"
_BRACKETS = "[【［(（"
_TRIES, _FEW_TRIES, _LONG = 30, 4, 20_000
"""Readings of a text while places are sought, and of one of so many characters."""
_JOINS = re.compile(r"[(\-\u2010-\u2015\uff0d\uff5e]")


@dataclass(frozen=True)
class Edit:
    """Characters [start, end) of a text are replaced by others."""

    start: int
    end: int
    new: str


class Shift:
    """A text after edits that do not overlap, and where its characters went.

    Attributes:
        text: the text after them.
        places: edit to (start, end) of what it put there.
    """

    def __init__(self, text: str, edits: Iterable[Edit]) -> None:
        pieces: list[str] = []
        self._old, self._new = [0], [0]
        self.places: dict[Edit, tuple[int, int]] = {}
        at = size = 0
        for edit in sorted(edits, key=lambda e: (e.start, e.end)):
            pieces += [text[at : edit.start], edit.new]
            size += edit.start - at
            self.places[edit] = size, size + len(edit.new)
            size += len(edit.new)
            at = edit.end
            self._old.append(at)
            self._new.append(size)
        self.text = "".join([*pieces, text[at:]])

    def start(self, old: int) -> int:
        """Where a span that starts at an offset starts now, behind what was put there."""
        at = bisect_right(self._old, old) - 1
        return self._new[at] + old - self._old[at]

    def end(self, old: int) -> int:
        """Where a span that ends at an offset ends now, before what was put there."""
        return 0 if old == 0 else self.start(old - 1) + 1


def place_marks(
    text: str,
    cited: Sequence[Cited],
    numbers: Sequence[int],
    grammar: Grammar,
    segmenter: Segmenter,
    n_docs: int,
) -> tuple[str, list[tuple[int, int]]]:
    """The text with a mark for every citation, and (start, end) of each citation in it.

    Args:
        text: the answer, whose brackets are no marks.
        cited: its citations.
        numbers: number that each of them cites, as marks say it.
        grammar: how marks are read.
        segmenter: what splits sentences.
        n_docs: passages shown.
    """
    marks = _marks(text, cited, numbers)
    edits = list(dict.fromkeys(marks.values()))
    first = Shift(text, [*edits, *_escapes(text, grammar, n_docs, edits)])
    spans_of_words = [
        (first.start(c.start), first.end(c.end), n)
        for c, n in zip(cited, numbers, strict=True)
        if not c.is_mark
    ]
    second = Shift(first.text, [])
    if spans_of_words:
        second = _Placing(first.text, spans_of_words, grammar, segmenter, n_docs).place()
    spans = []
    for at, c in enumerate(cited):
        start, end = first.places[marks[at]] if at in marks else (
            first.start(c.start), first.end(c.end)
        )  # fmt: skip
        now = second.start(start)
        spans.append((now, max(now, second.end(end))))
    return second.text, spans


def _bracketed(text: str, end: int, numbers: Iterable[int]) -> str:
    """Marks of numbers, each once, to stand before an offset of a text.

    ``[1](so)`` would be a link, and ``[1]-[4]`` a range.
    """
    marks = "".join(f"[{n}]" for n in dict.fromkeys(numbers))
    return marks + JOINER if _JOINS.match(text, end) else marks


def _marks(text: str, cited: Sequence[Cited], numbers: Sequence[int]) -> dict[int, Edit]:
    """Citation to the edit that makes its mark; those that overlap share one."""
    edits: dict[int, Edit] = {}
    group: list[int] = []

    def close() -> None:
        if group:
            start = min(cited[i].start for i in group)
            end = max(cited[i].end for i in group)
            edit = Edit(start, end, _bracketed(text, end, (numbers[i] for i in sorted(group))))
            edits.update(dict.fromkeys(group, edit))
            group.clear()

    behind = -1
    for at in sorted(
        (i for i, c in enumerate(cited) if c.is_mark), key=lambda i: (cited[i].start, cited[i].end)
    ):
        c = cited[at]
        if c.start >= behind and not (group and cited[group[-1]].start == c.start):
            close()
        group.append(at)
        behind = max(behind, c.end)
    close()
    return edits


def _escapes(text: str, grammar: Grammar, n_docs: int, marks: Sequence[Edit]) -> list[Edit]:
    """Edits after which no bracket of the answer itself is read as a citation."""
    edits = []
    places = sorted((e.start, e.end) for e in marks)
    for marker in grammar.parse(text, n_docs).markers:
        if marker.is_listed or not marker.numbers:
            continue
        if overlaps((marker.start, marker.end), places):
            continue
        edits += [
            Edit(at + 1, at + 1, JOINER)
            for at in range(marker.start, marker.end)
            if text[at] in _BRACKETS
        ]
    return edits


class _Placing:
    """Marks for spans of words."""

    def __init__(
        self,
        text: str,
        spans: Sequence[tuple[int, int, int]],
        grammar: Grammar,
        segmenter: Segmenter,
        n_docs: int,
    ) -> None:
        self.text = text
        self._reading = grammar, segmenter, n_docs
        self.before = self._read(text)
        self.adding: dict[int, list[int]] = {}
        self.loose: list[tuple[int, int]] = []
        places = [(s, e, i) for i, st in enumerate(self.before.statements) for s, e in st.spans]
        starts = [s for s, _, _ in places]
        for start, end, number in spans:
            self._add(start, end, number, places, starts)
        self.tries = dict.fromkeys(self.adding, 0)

    def _read(self, text: str) -> Statements:
        grammar, segmenter, n_docs = self._reading
        return strict_statements(text, grammar, segmenter, n_docs)

    def _add(
        self,
        start: int,
        end: int,
        number: int,
        places: Sequence[tuple[int, int, int]],
        starts: Sequence[int],
    ) -> None:
        hit = False
        at = max(0, bisect_right(starts, start) - 1)
        while at < len(places) and places[at][0] < end:
            s, e, statement = places[at]
            if any(c.isalnum() for c in self.text[max(s, start) : min(e, end)]):
                hit = True
                written = self.before.statements[statement].numbers
                mine = self.adding.setdefault(statement, [])
                if number not in written and number not in mine:
                    mine.append(number)
            at += 1
        if not hit:  # a heading, say: a mark at its end, and the grammar says to what it belongs
            self.loose.append((end, number))

    def place(self) -> Shift:
        """Marks where the grammar reads them as meant."""
        for _ in range(_TRIES if len(self.text) < _LONG else _FEW_TRIES):
            shift = Shift(self.text, self._edits())
            if not self._better(self._read(shift.text)):
                return shift
        return shift

    def _edits(self) -> list[Edit]:
        at: dict[int, list[int]] = {}
        for statement, numbers in self.adding.items():
            if numbers:
                place = _places(self.text, self.before.statements[statement])[self.tries[statement]]
                at.setdefault(place, []).extend(numbers)
        for place, number in self.loose:
            at.setdefault(place, []).append(number)
        return [Edit(p, p, _bracketed(self.text, p, numbers)) for p, numbers in at.items()]

    def _better(self, after: Statements) -> bool:
        """Whether other places were chosen, where the text is read otherwise than meant."""
        pairs = zip(self.before.statements, after.statements, strict=False)
        wrong = [i for i, (old, new) in enumerate(pairs) if not self._as_meant(i, old, new)]
        if len(after.statements) != len(self.before.statements):
            # What follows the first one is compared with others than its own.
            wrong = [min([*wrong, len(after.statements), len(self.before.statements) - 1])]
        moved = False
        for first in wrong:
            for at in (first, first - 1, first + 1):
                if self.adding.get(at) and self.tries[at] < 2:
                    self.tries[at] += 1
                    moved = True
                    break
        return moved

    def _as_meant(self, at: int, before: Statement, after: Statement) -> bool:
        meant, read = {*before.numbers, *self.adding.get(at, ())}, set(after.numbers)
        as_many = meant <= read if self.loose else meant == read
        return before.text == after.text and as_many


def _places(text: str, statement: Statement) -> tuple[int, int, int]:
    """Where a mark of a statement may go: before its full stop, at its end, behind its last
    letter."""
    inside = [i for s, e in statement.spans for i in range(s, e)]
    end = inside[-1] + 1
    stop = next((i + 1 for i in reversed(inside) if text[i] not in _STOPS), end)
    stop = max([stop, *(m.end for m in statement.markers if stop <= m.start <= end)])
    letter = next((i + 1 for i in reversed(inside) if text[i].isalnum()), end)
    return stop, end, letter
