"""Pages to passages: cut at headings, then between sentences, never longer than a limit."""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from citeforge.engines.text.segment import Segmenter, Span, trimmed
from citeforge.plugins.documents.reading.formats import DocumentPage
from citeforge.plugins.documents.reading.outline import sections

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
    """Cut a page into passages, in order; only breaks and white space are between them.

    Args:
        page: of a document.
        size: characters that a passage has at most.
        segmenter: finds sentences.
    """
    for start, end, headings in sections(page.breaks, len(page.text)):
        for place in _pieces(page.text, (start, end), size, segmenter):
            yield Cut(*place, headings)


def _pieces(text: str, section: Span, size: int, segmenter: Segmenter) -> Iterator[Span]:
    """Spans of about equal length, cut between sentences."""
    # Of the same length, so that places stay what they are: a paragraph is one line.
    begin, end = section
    flowing = _WRAP.sub(lambda m: " " * len(m[0]), text[begin:end])
    spans = [
        (begin + a, begin + b)
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
    """Cut a sentence that is longer than a passage, at spaces if there are any."""
    start, end = span
    while end - start > size:
        at = text.rfind(" ", start + size // 2, start + size)
        at = start + size if at < 0 else at
        if piece := trimmed(text, start, at):
            yield piece
        start = at
    if piece := trimmed(text, start, end):
        yield piece
