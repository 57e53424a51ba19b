"""Clean the pages of a PDF: drop running headers and footers, join sentences over two pages."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from citeforge.plugins.documents.reading.outline import Break

_EDGE = 3
"""Lines at the top and at the bottom of a page that may be running headers and footers."""
_WINDOW = 4
"""Pages before and after, in which repetitions of a line are counted."""
_REPEATS = 3
"""Pages of the window that must have a running line."""
_LONGEST_LINE = 120
"""Most characters of a running line."""
_NUMBER = re.compile(r"\d+")
_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n(?=[a-zß-ÿ])")
_CLOSED = re.compile(r"[.!?:;…。！？।۔።။»”\"')\]]\s*\Z")
_SENTENCE = re.compile(r".+?(?:[.!?…][»”\"')\]]*(?=\s|\Z)|[。！？।۔።။][」』»”\"')\]]*)", re.DOTALL)
_WRAPPED = 0.7
"""Share of the page's longest line from which its last line counts as wrapped."""


class DocumentPage(NamedTuple):
    """A page, a line of JSON Lines, or a whole file.

    Attributes:
        number: number of the page or line, from 1; None for a whole file.
        text: text in which offsets of passages count.
        title: title of the document; empty for none.
        breaks: headings and other stretches that belong to no passage, in order.
    """

    number: int | None
    text: str
    title: str = ""
    breaks: tuple[Break, ...] = ()


def clean_pages(pages: Sequence[DocumentPage], counts: Counter[str]) -> Iterator[DocumentPage]:
    """Clean PDF pages: remove running headers and footers, join sentences over two pages.

    Args:
        pages: pages in order.
        counts: the numbers of lines removed and of sentences joined are added.
    """
    bodies = zip(pages, _remove_running_lines(pages, counts), strict=True)
    rest = [page._replace(text=text) for page, text in bodies]
    for at, page in enumerate(rest):
        following = rest[at + 1] if at + 1 < len(rest) else None
        if following is not None and following.number == (page.number or 0) + 1:
            text = following.text.lstrip()
            if head := _continuation(page.text, text):
                counts["sentences over two pages, joined"] += 1
                page = page._replace(text=f"{page.text.rstrip()}\n{head}")
                rest[at + 1] = following._replace(text=text[len(head) :].lstrip())
        yield page._replace(text=_HYPHEN.sub("", page.text))


def _remove_running_lines(pages: Sequence[DocumentPage], counts: Counter[str]) -> list[str]:
    """Remove running headers and footers from the texts of pages, and count them."""
    texts = [page.text.strip() for page in pages]
    for is_top in (True, False):
        keys = [
            {key for line in _edge_lines(text, is_top) for key in _line_keys(page, line)}
            for page, text in zip(pages, texts, strict=True)
        ]
        for at, page in enumerate(pages):
            around = Counter[str]()
            for near in keys[max(0, at - _WINDOW) : at + _WINDOW + 1]:
                around.update(near)
            while line := next(iter(_edge_lines(texts[at], is_top)), ""):
                if all(around[key] < _REPEATS for key in _line_keys(page, line)):
                    break
                parts = texts[at].split(line, 1) if is_top else texts[at].rsplit(line, 1)
                texts[at] = parts[1 if is_top else 0].strip()
                counts["running headers and footers, left out"] += 1
    return texts


def _edge_lines(text: str, is_top: bool) -> list[str]:
    """List the first or last three non-blank lines of a page, the outermost first."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[:_EDGE] if is_top else lines[: -_EDGE - 1 : -1]


def _line_keys(page: DocumentPage, line: str) -> set[str]:
    """Make keys of a line; a running line shares one with its repetitions on other pages.

    Besides its text: the text with a number replaced by its distance from the page's number.
    """
    text = " ".join(line.split())
    numbers = list(_NUMBER.finditer(text))
    if len(text) > _LONGEST_LINE or any(len(n[0]) > 9 for n in numbers):
        return set()
    keys = {text}
    for n in numbers:
        keys.add(f"{text[: n.start()]}\0{int(n[0]) - (page.number or 0)}{text[n.end() :]}")
    return keys


def _continuation(text: str, following: str) -> str:
    """Find the start of a page that completes the last sentence of the page before, or ""."""
    text, following = text.rstrip(), following.lstrip()
    if not text or not following or _CLOSED.search(text):
        return ""
    lines = text.splitlines()
    is_wrapped = len(lines) > 1 and len(lines[-1]) >= _WRAPPED * max(map(len, lines[:-1]))
    first = following[0]
    if not (first.isalpha() and (not first.isupper() or is_wrapped)):
        return ""
    sentence = _SENTENCE.match(following.partition("\n\n")[0])
    return "" if sentence is None else sentence[0]
