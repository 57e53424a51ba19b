"""Pages to passages: cut at headings, then between sentences, never longer than a limit."""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from citeforge.engines.text.segment import Segmenter, Span, lines_of, trimmed
from citeforge.plugins.documents.reading.formats import DocumentPage

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*?)[ \t]*#*\s*\Z")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_MARK = re.compile(r"[*`]+|\b_+|_+\b|!?\[([^\]]*)\]\([^)]*\)")
# A line end inside a paragraph: the next line is no item, table row, quotation or code.
_WRAP = re.compile(r"(?<=[^\n])\r?\n(?=[^\s*+\-|>#`~•\d])")


class Cut(NamedTuple):
    """Where a passage stands in its page.

    Attributes:
        start: of the passage, in characters.
        end: likewise.
        headings: above it, from the highest.
    """

    start: int
    end: int
    headings: tuple[str, ...]


def cut(page: DocumentPage, size: int, segmenter: Segmenter) -> Iterator[Cut]:
    """Passages of a page, in order; between them stand headings and white space alone.

    Args:
        page: of a document.
        size: characters that a passage has at most.
        segmenter: finds sentences.
    """
    sections = _sections(page.text) if page.has_headings else [Cut(0, len(page.text), ())]
    for section in sections:
        for start, end in _pieces(page.text, section, size, segmenter):
            yield Cut(start, end, section.headings)


def _sections(text: str) -> Iterator[Cut]:
    """Texts between headings of Markdown."""
    above: list[tuple[int, str]] = []
    begin, fence = 0, ""
    for start, end in lines_of(text):
        line = text[start:end]
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        if fence or (match := _HEADING.match(line)) is None:
            continue
        yield Cut(begin, start, tuple(name for _, name in above))
        level, title = len(match[1]), _MARK.sub(lambda m: m[1] or "", match[2]).strip()
        above = [*((n, name) for n, name in above if n < level), (level, title)]
        begin = end
    yield Cut(begin, len(text), tuple(name for _, name in above))


def _pieces(text: str, section: Cut, size: int, segmenter: Segmenter) -> Iterator[Span]:
    """Spans of about equal length, cut between sentences."""
    # Of the same length, so that places stay what they are: a paragraph is one line.
    flowing = _WRAP.sub(lambda m: " " * len(m[0]), text[section.start : section.end])
    spans = [
        (section.start + a, section.start + b)
        for span in segmenter.split(flowing)
        for a, b in _shorter(flowing, span, size)
    ]
    if not spans:
        return
    total = spans[-1][1] - spans[0][0]
    target = total / math.ceil(total / size)
    begin, last = spans[0]
    for start, end in spans[1:]:
        if end - begin > size or last - begin >= target:
            yield begin, last
            begin = start
        last = end
    yield begin, last


def _shorter(text: str, span: Span, size: int) -> Iterator[Span]:
    """A sentence; in pieces, cut at spaces where there are some, if it is longer than a passage."""
    start, end = span
    while end - start > size:
        at = text.rfind(" ", start + size // 2, start + size)
        at = start + size if at < 0 else at
        if piece := trimmed(text, start, at):
            yield piece
        start = at
    if piece := trimmed(text, start, end):
        yield piece
