"""Cut pages into passages: at headings, then between sentences, up to a greatest length."""

import math
import re
from collections.abc import Iterator

from citeforge.engines.text.segment import Segmenter, Span, trim_span
from citeforge.plugins.documents.formats import DocumentPage
from citeforge.plugins.documents.outline import sections

# A line end inside a paragraph: the next line starts no item, table row, quotation or code.
_WRAP = re.compile(r"(?<=[^\n])\r?\n(?=[^\s*+\-|>#`~•\d])")


def cut_page(
    page: DocumentPage, max_characters: int, segmenter: Segmenter
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Cut a page into passages: yield (start, end, headings above it) of each, in order.

    Only breaks and white space are left out.

    Args:
        page: page of a document.
        max_characters: most characters of a passage.
        segmenter: finds sentences.
    """
    for start, end, headings in sections(page.breaks, len(page.text)):
        for span in _cut_section(page.text, (start, end), max_characters, segmenter):
            yield *span, headings


def _cut_section(
    text: str, section: Span, max_characters: int, segmenter: Segmenter
) -> Iterator[Span]:
    """Cut a page's section at sentences into spans of about equal length, at most the maximum.

    Args:
        text: text of the page.
        section: (start, end) of the section.
        max_characters: most characters of a passage.
        segmenter: finds sentences.
    """
    # Line ends become as many spaces, so that a paragraph is one line and offsets stay the same.
    begin, end = section
    flowing = _WRAP.sub(lambda m: " " * len(m[0]), text[begin:end])
    spans = [
        (begin + a, begin + b)
        for span in segmenter.split(flowing)
        for a, b in _cut_sentence(flowing, span, max_characters)
    ]
    if not spans:
        return
    total = spans[-1][1] - spans[0][0]
    target = total / math.ceil(total / max_characters)
    begin, last = spans[0]
    for start, end in spans[1:]:
        if end - begin > max_characters or last - begin >= target:
            yield begin, last
            begin = start
        last = end
    yield begin, last


def _cut_sentence(text: str, span: Span, max_characters: int) -> Iterator[Span]:
    """Yield a sentence's span, cut (at spaces if possible) if it is longer than the maximum.

    Args:
        text: text of the section.
        span: (start, end) of the sentence in it.
        max_characters: most characters of a piece.
    """
    start, end = span
    while end - start > max_characters:
        at = text.rfind(" ", start + max_characters // 2, start + max_characters)
        at = start + max_characters if at < 0 else at
        if piece := trim_span(text, start, at):
            yield piece
        start = at
    if piece := trim_span(text, start, end):
        yield piece
