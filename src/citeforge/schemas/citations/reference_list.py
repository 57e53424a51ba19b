"""Reference lists: lines of an output that say what its numbers stand for, and claim nothing.

A list follows a heading such as "References", or is a run of lines at the end that start with the
numbers that the text has cited. Lines that start with a mark and say something are no list.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from citeforge.schemas.citations.words import AND, alternatives, words_of

Span = tuple[int, int]


class Mark(NamedTuple):
    """One citation mark: its offsets in the output, and the numbers that it cites."""

    start: int
    end: int
    numbers: tuple[int, ...]


_WORDS = (
    rf"{alternatives(words_of('headings'))}|{alternatives(words_of('headings', unspaced=True))}"
)
# Possessive runs, and no line break in them: else these would be quadratic.
_DECOR = r"[ \t>#*_=•·–—-]"
_NAME = (
    r"(?:(?:in-?line|in-?text|cited|list of|key|the|all|external)[ \t]+)*"
    rf"(?:{_WORDS})(?:[ \t]+(?:and|&|und|et|y)[ \t]+(?:{_WORDS}|notes))?"
    r"(?:[ \t]+(?:list|used|cited|section))?"
)
_LABEL = rf"(?:\d{{1,2}}[.)][ \t]+)?{_NAME}"
HEADING = re.compile(rf"{_DECOR}*+{_LABEL}{_DECOR}*+(?:[:：]{_DECOR}*+)?", re.IGNORECASE)
"""A line that is nothing but the heading of a reference list."""

LABELLED = re.compile(rf"[ \t>#*_=•·–—(（-]*+{_LABEL}[*_ \t]*+[:：][*_\s]*", re.IGNORECASE)
"""The label that opens a line such as `Source: [1]`."""

_SINGULAR = re.compile(
    rf"\W*(?:{alternatives(words_of('headings_of_one'))}"
    rf"|{alternatives(words_of('headings_of_one', unspaced=True))})\b",
    re.I,
)
_OPENS = rf"{_DECOR}*+(?:\d{{1,2}}[.)][ \t]++)?(?:[\[【［(（]|{_NAME}\b)"
_FIRST_LINE = re.compile(_OPENS, re.IGNORECASE)
_LATER_LINE = re.compile(rf"[\n\r\u2028\x85\v\f]{_OPENS}", re.IGNORECASE)
_OPENING = re.compile(
    r"[\s>*_•·–—-]*(?:\d{1,2}[.)]\s+)?(?:(?:source|reference|ref\.?|citation)\s*(?=\[\d+\]\s*:))?",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"[\s>]*(?:[*•·–—-]\s|\d{1,2}[.)]\s|[\"“«])", re.IGNORECASE)
_SOURCE = re.compile(r"https?://|\bdoi\b|\((?:1[89]|20)\d\d[a-z]?\)", re.IGNORECASE)
_OTHER_HEADING = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*\n]+\*\*:?\s*\Z|\w[\w ]{0,30}[:：]\s*\Z)")
_PREDICATE = re.compile(r"[\s,:]*[^\W\d_]+(?=\s)")


@lru_cache(maxsize=2)  # one answer is asked about several times in a row
def may_hold_list(output: str) -> bool:
    """Whether an output may have a reference list; a quick check, never wrongly False."""
    return _FIRST_LINE.match(output) is not None or _LATER_LINE.search(output) is not None


def find_lists(output: str, marks: Sequence[Mark]) -> list[Span]:
    """Find an output's reference lists (sources listed by number), as spans of whole lines.

    Args:
        output: what the system wrote.
        marks: its citation marks, in order.
    """
    if not may_hold_list(output):
        return []
    return _Output(output, marks).lists()


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of an output.

    Attributes:
        start: offset of its first character in the output.
        text: with its end.
        marks: citation marks that begin in it.
    """

    start: int
    text: str
    marks: Sequence[Mark]

    @property
    def end(self) -> int:
        """Offset in the output just after the line."""
        return self.start + len(self.text)

    @property
    def opener(self) -> Mark | None:
        """Citation mark at the start of the line, after bullets; None if there is none."""
        opening = _OPENING.match(self.text)
        if not self.marks or opening is None or self.marks[0].start > self.start + opening.end():
            return None
        return self.marks[0]

    @property
    def is_entry(self) -> bool:
        """Whether the line looks like an entry of a reference list."""
        return (
            self.opener is not None
            or _ENTRY.match(self.text) is not None
            or _SOURCE.search(self.text) is not None
        )

    def has_letters_after(self, output_offset: int) -> bool:
        """Whether letters follow an offset on its line, citation marks not counted."""
        offset = output_offset - self.start
        pieces = []
        for start, end, _ in self.marks:
            if start >= offset + self.start:
                pieces.append(self.text[offset : start - self.start])
                offset = end - self.start
        return any(c.isalpha() for piece in [*pieces, self.text[offset:]] for c in piece)


class _Output:
    """An output in lines."""

    def __init__(self, output: str, marks: Sequence[Mark]) -> None:
        """Split an output into lines, each with the marks that begin in it."""
        self.output = output
        self.marks = marks
        self.lines: list[_Line] = []
        at = n = 0
        for text in output.splitlines(keepends=True):
            at, begin, first = at + len(text), at, n
            while n < len(marks) and marks[n].start < at:
                n += 1
            self.lines.append(_Line(begin, text, marks[first:n]))
        full = [i for i, line in enumerate(self.lines) if not line.text.isspace()]
        self.first, self.last = (full[0], full[-1]) if full else (0, 0)

    def lists(self) -> list[Span]:
        """Find the spans of all reference lists: those with a heading, and one at the end."""
        spans: list[Span] = []
        number = 0
        while number < len(self.lines):
            end = self._end_of_list(number)
            if end:
                spans.append((self.lines[number].start, self.lines[end - 1].end))
            number = end or number + 1
        after, behind = spans[-1][1] if spans else 0, self.lines[self.last].end
        if after < behind and (start := self._find_trailing_list(after)) is not None:
            spans.append((self.lines[start].start, behind))
        return spans

    def _end_of_list(self, number: int) -> int:
        """Get the index of the line after the list that a line starts; 0 if it starts no list."""
        line = self.lines[number]
        if HEADING.fullmatch(line.text.rstrip()) is not None:
            rest = range(number + 1, self.last + 1)
            following = next((i for i in rest if self.lines[i].text.strip()), None)
            if following is None or (number == self.first and not self.lines[following].is_entry):
                return 0
            return self._end_of_entries(following)
        label = LABELLED.match(line.text)
        if label is None or not line.marks or line.marks[0].start > line.start + label.end():
            return 0
        if line.has_letters_after(line.start + label.end()):
            return 0 if self._is_about_sources(line) else self._end_of_entries(number)
        # `Sources: [1], [2]` at the end repeats what the text has cited.
        is_later = number == self.last and self.marks[0].start < line.start
        return number + 1 if is_later and not _SINGULAR.match(line.text) else 0

    def _is_about_sources(self, line: _Line) -> bool:
        """Whether marks are the subject of a sentence, as in `Sources: [1], [2] both say …`."""
        n = 1
        for (_, end, _), (start, _, _) in pairwise(line.marks):
            if self.output[end:start].strip(" \t,;&").lower() not in AND | {""}:
                break
            n += 1
        return n > 1 and _is_statement(self.output[line.marks[n - 1].end : line.end])

    def _end_of_entries(self, first: int) -> int:
        """Get the index of the line after the reference list entries that start at a line."""
        end = first + 1
        blank = False
        for number in range(first + 1, self.last + 1):
            line = self.lines[number]
            if not line.text.strip():
                blank = True
                continue
            if line.opener is None and _OTHER_HEADING.match(line.text):
                break
            if blank and not (line.is_entry or line.text[0].isspace()):
                break
            end, blank = number + 1, False
        return end

    def _find_trailing_list(self, min_offset: int) -> int | None:
        """Find a list without heading at the output's end, after an offset: first line or None.

        Lines are read from the end. Each entry opens with one mark, and the numbers rise. Entries
        with a colon behind the mark (``[1]: …``) are a list; others are one if the text before them
        cites one of their numbers, has no such lines itself, and no entry is a statement.

        Args:
            min_offset: offset in the output before which no line is read.
        """
        first = self.last + 1
        numbers: list[int] = []
        defined = True
        for number in range(self.last, -1, -1):
            line = self.lines[number]
            if line.start < min_offset:
                break
            mark = line.opener
            if mark is None or len(mark.numbers) != 1 or not line.has_letters_after(mark.end):
                if line.text.strip() and not (line.text[0].isspace() or _ENTRY.match(line.text)):
                    break
                continue
            if numbers and mark.numbers[0] >= numbers[-1]:
                return None
            defined = defined and self.output[mark.end : mark.end + 1] == ":"
            if not defined and _is_statement(self.output[mark.end : line.end]):
                return None
            numbers.append(mark.numbers[0])
            first = number
        if not numbers or first <= self.first:
            return None
        if defined:
            return first
        before = self.lines[:first]
        if not set(numbers) & {n for line in before for mark in line.marks for n in mark.numbers}:
            return None
        if any(
            line.opener is not None and line.has_letters_after(line.opener.end) for line in before
        ):
            return None
        apart = not any(c.isalpha() for c in before[-1].text)
        return first if apart or len(numbers) > 1 else None


def _is_statement(following_text: str) -> bool:
    """Whether the text after a mark makes it a sentence's subject, as in `[1] states that …`."""
    word = _PREDICATE.match(following_text)
    return word is not None and word.group().strip(" ,:\t").islower()
