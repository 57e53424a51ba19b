"""Insertion of citations into an answer's text, as marks of the benchmark's grammar.

A span of words belongs to every statement of which it covers a letter or digit; each gets its mark,
before the full stop. A citation with an offset and no extent becomes a mark there. What
comes out is read again, so that the measures read what was meant.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import eq, le

from citeforge.engines.text.segment import Segmenter, lines_of
from citeforge.evaluator.statements.split import Statement, Statements, split_statements
from citeforge.plugins.responses.records import Cited
from citeforge.schemas.citations.doubt import find_variables, is_subscript
from citeforge.schemas.citations.grammar import Grammar, Marker, overlaps
from citeforge.schemas.invisible import WORD_JOINER

_STOPS = ".!?。！？"
_BRACKETS = "[【［(（"
_TRIES, _FEW_TRIES, _LONG = 30, 4, 20_000
"""Most readings of a text while offsets for marks are searched; fewer for so many characters."""
_MARK = re.compile(r"\[\d+\]")
_JOINS = re.compile(r"[(}\-\u2010-\u2015\uff0d\uff5e]")


@dataclass(frozen=True)
class Edit:
    """An edit of a text: the characters [start, end) are replaced by others."""

    start: int
    end: int
    new: str


class Shift:
    """A text after edits that do not overlap, with the mapping of old to new offsets.

    Attributes:
        text: the text after them.
        new_spans: (start, end) of each edit in the new text.
    """

    def __init__(self, text: str, edits: Iterable[Edit]) -> None:
        """Apply edits to a text, and record how offsets shift.

        Args:
            text: the old text.
            edits: replacements of stretches of it that do not overlap.
        """
        pieces: list[str] = []
        self._old, self._new = [0], [0]
        self.new_spans: dict[Edit, tuple[int, int]] = {}
        at = size = 0
        for edit in sorted(edits, key=lambda e: (e.start, e.end)):
            pieces += [text[at : edit.start], edit.new]
            size += edit.start - at
            self.new_spans[edit] = size, size + len(edit.new)
            size += len(edit.new)
            at = edit.end
            self._old.append(at)
            self._new.append(size)
        self.text = "".join([*pieces, text[at:]])

    def start(self, old_offset: int) -> int:
        """Map a span's start in the old text to the edited text, after inserted characters."""
        at = bisect_right(self._old, old_offset) - 1
        return self._new[at] + old_offset - self._old[at]

    def end(self, old_offset: int) -> int:
        """Map a span's end in the old text to the edited text, before inserted characters."""
        return 0 if old_offset == 0 else self.start(old_offset - 1) + 1


def place_marks(
    text: str,
    cited: Sequence[Cited],
    numbers: Sequence[int],
    grammar: Grammar,
    segmenter: Segmenter,
    n_docs: int,
) -> tuple[str, list[tuple[int, int]]]:
    """Write citations as marks into an answer: (new text, new (start, end) of each citation).

    Args:
        text: the answer, whose brackets are no marks.
        cited: its citations.
        numbers: number that each of them cites, as marks say it.
        grammar: how marks are read.
        segmenter: what splits sentences.
        n_docs: passages shown.
    """
    marks = _make_mark_edits(text, cited, numbers)
    edits = list(dict.fromkeys(marks.values()))
    first = _apply_edits(text, [*edits, *_make_escape_edits(text, grammar, n_docs, edits)])
    spans_of_words = [
        (first.start(c.start), first.end(c.end), n)
        for c, n in zip(cited, numbers, strict=True)
        if not c.is_mark
    ]
    second = Shift(first.text, [])
    if spans_of_words:
        second = _insert_marks(
            first.text,
            spans_of_words,
            lambda new: split_statements(new, grammar, segmenter, n_docs),
        )
    spans = []
    for at, c in enumerate(cited):
        start, end = first.new_spans[marks[at]] if at in marks else (
            first.start(c.start), first.end(c.end)
        )  # fmt: skip
        now = second.start(start)
        spans.append((now, max(now, second.end(end))))
    return second.text, spans


def _apply_edits(text: str, edits: Sequence[Edit]) -> Shift:
    """Apply edits to a text; separate marks from variables that they would index (``a_0[1]``)."""
    shift = Shift(text, edits)
    variables = find_variables(shift.text)
    joiners = [
        Edit(edit.start, edit.start, WORD_JOINER)
        for edit, (start, end) in shift.new_spans.items()
        if any(
            is_subscript(shift.text, *mark.span(), variables)
            for mark in _MARK.finditer(shift.text, start, end)
        )
    ]
    return Shift(text, [*joiners, *edits]) if joiners else shift


def _write_marks(text: str, start: int, end: int, numbers: Iterable[int]) -> str:
    """Write citation marks (``[1][4]``) of distinct numbers to replace text[start:end].

    ``[1](so)`` would be a link, ``[1]-[4]`` a range, and ``[1]}`` and ``^[1]`` marks with a sign.

    Args:
        text: the answer.
        start: start of the stretch that the marks replace.
        end: its end.
        numbers: numbers to cite.
    """
    marks = "".join(f"[{n}]" for n in dict.fromkeys(numbers))
    before = WORD_JOINER if text[max(0, start - 1) : start] == "^" else ""
    return before + marks + (WORD_JOINER if _JOINS.match(text, end) else "")


def _make_mark_edits(text: str, cited: Sequence[Cited], numbers: Sequence[int]) -> dict[int, Edit]:
    """Make the edits that rewrite citations that are marks already, by citation's index.

    Args:
        text: the answer.
        cited: citations, some of which are marks in the text.
        numbers: number that each citation gets, in the same order.
    """
    groups: list[list[int]] = []
    behind = -1
    marks = [(c.start, c.end, at) for at, c in enumerate(cited) if c.is_mark]
    for start, end, at in sorted(marks):
        if groups and (start < behind or cited[groups[-1][-1]].start == start):
            groups[-1].append(at)
        else:
            groups.append([at])
        behind = max(behind, end)
    edits: dict[int, Edit] = {}
    for group in groups:
        first, last = min(cited[i].start for i in group), max(cited[i].end for i in group)
        new = _write_marks(text, first, last, (numbers[i] for i in sorted(group)))
        edits.update(dict.fromkeys(group, Edit(first, last, new)))
    return edits


def find_other_marks(
    text: str, cited: Sequence[tuple[int, int]], grammar: Grammar, n_docs: int
) -> list[Marker]:
    """Find citation marks in an answer's text outside the spans of its known citations.

    Args:
        text: the answer.
        cited: (start, end) of the known citations in the text, sorted.
        grammar: how marks are read.
        n_docs: passages shown.
    """
    return [
        marker
        for marker in grammar.parse(text, n_docs).markers
        if marker.numbers and not overlaps((marker.start, marker.end), cited)
    ]


def _make_escape_edits(
    text: str, grammar: Grammar, n_docs: int, marks: Sequence[Edit]
) -> list[Edit]:
    """Make the edits that keep brackets that cite nothing from reading as citation marks.

    They insert word joiners.

    Args:
        text: the answer.
        grammar: how marks are read.
        n_docs: passages shown.
        marks: edits that write its citations; other brackets are escaped.
    """
    cut = []
    for marker in find_other_marks(text, sorted((e.start, e.end) for e in marks), grammar, n_docs):
        brackets = [at + 1 for at in range(marker.start, marker.end) if text[at] in _BRACKETS]
        # `.²` is no mark behind a joiner, and `^2^` none around one.
        cut += brackets or [marker.start + (not text[marker.start].isdigit())]
    return [Edit(at, at, WORD_JOINER) for at in cut]


def _insert_marks(
    text: str, spans: Sequence[tuple[int, int, int]], split_statements: Callable[[str], Statements]
) -> Shift:
    """Insert citation marks so that each statement, split again, cites its spans' numbers.

    An insertion that makes the grammar read a statement otherwise is tried again at its next
    offset.

    Args:
        text: the answer.
        spans: (start, end, number) of stretches of the text and of the passage that is cited for
            each.
        split_statements: splits a text into statements with their citations.
    """
    before = split_statements(text).statements
    missing, loose = _find_missing_numbers(text, spans, before)
    agrees = le if loose else eq
    tries = dict.fromkeys(missing, 0)
    for _ in range(_TRIES if len(text) < _LONG else _FEW_TRIES):
        numbers_at: dict[int, list[int]] = {}
        for statement, numbers in missing.items():
            offset = _mark_offsets(text, before[statement])[tries[statement]]
            numbers_at.setdefault(offset, []).extend(numbers)
        for offset, number in loose:
            numbers_at.setdefault(offset, []).append(number)
        shift = _apply_edits(
            text, [Edit(p, p, _write_marks(text, p, p, n)) for p, n in numbers_at.items()]
        )
        after = split_statements(shift.text).statements
        wrong = [
            at
            for at, (old, new) in enumerate(zip(before, after, strict=False))
            if old.text.replace(WORD_JOINER, "") != new.text.replace(WORD_JOINER, "")
            or not agrees({*old.numbers, *missing.get(at, ())}, {*new.numbers})
        ]
        if len(after) != len(before):
            # What follows the first one is compared with others than its own.
            wrong = [min([*wrong, len(after), len(before) - 1])]
        is_moved = False
        for first in wrong:
            near = (at for at in (first, first - 1, first + 1) if tries.get(at, 2) < 2)
            if (at := next(near, None)) is not None:
                tries[at] += 1
                is_moved = True
        if not is_moved:
            break
    return shift


def _find_missing_numbers(
    text: str, spans: Sequence[tuple[int, int, int]], statements: Sequence[Statement]
) -> tuple[dict[int, list[int]], list[tuple[int, int]]]:
    """Find numbers still without a mark: (by statement's index, (offset, number) of others).

    Args:
        text: the answer.
        spans: (start, end, number) of stretches of the text and of the passage that is cited for
            each.
        statements: statements of the text.

    Returns:
        (numbers by the statement that they belong to; (offset, number) of spans outside all
        statements, such as headings, where the grammar says to what a mark belongs).
    """
    extents = [(s, e, i) for i, st in enumerate(statements) for s, e in st.spans]
    starts = [s for s, _, _ in extents]
    lines = lines_of(text) or [(0, 0)]
    letters = [next((i for i in range(s, e) if text[i].isalnum()), e) for s, e in lines]
    missing: dict[int, list[int]] = {}
    loose: list[tuple[int, int]] = []
    for start, end, number in spans:
        near = extents[max(0, bisect_right(starts, start) - 1) : bisect_left(starts, end)]
        hits = [at for s, e, at in near if any(map(str.isalnum, text[max(s, start) : min(e, end)]))]
        offset = start + len(text[start:end].rstrip())  # not behind the line break
        line = bisect_right(lines, (offset, len(text) + 1)) - 1
        first, behind = lines[line]
        if not hits and letters[line] >= offset:
            # What follows on this line; in front of it, a mark could make an entry of a list.
            later = range(max(0, bisect_right(starts, offset) - 1), len(extents))
            following = next(
                ((extents[i][0], extents[i][2]) for i in later if extents[i][1] > offset),
                (behind, 0),
            )
            hits = [following[1]] if first <= following[0] < behind else []
        for at in hits:
            if number not in (*statements[at].numbers, *missing.get(at, ())):
                missing.setdefault(at, []).append(number)
        if not hits:
            loose.append((offset, number))
    return missing, loose


def _mark_offsets(text: str, statement: Statement) -> tuple[int, int, int]:
    """Compute offsets for a statement's marks: (before its full stop, at its end, after a word)."""
    inside = [i for s, e in statement.spans for i in range(s, e)]
    end = inside[-1] + 1
    stop = next((i + 1 for i in reversed(inside) if text[i] not in _STOPS), end)
    stop = max([stop, *(m.end for m in statement.markers if stop <= m.start <= end)])
    letter = next((i + 1 for i in reversed(inside) if text[i].isalnum()), end)
    return stop, end, letter
