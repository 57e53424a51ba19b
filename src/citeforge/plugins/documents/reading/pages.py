"""Pages of a PDF as one text: running headers and footers leave, sentences over two pages join."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_EDGE = 3
"""Lines at the top and at the bottom of a page that may be running ones."""
_WINDOW = 4
"""Pages before and after, among which a running line repeats (chapters, left and right pages)."""
_REPEATS = 3
"""Pages of a window that have the line."""
_LONGEST_LINE = 120
"""Characters of a running line."""
_NUMBER = re.compile(r"\d+")
_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n(?=[a-zß-ÿ])")
_CLOSED = re.compile(r"[.!?:;…。！？।۔።။»”\"')\]]\s*\Z")
_SENTENCE = re.compile(r".+?(?:[.!?…][»”\"')\]]*(?=\s|\Z)|[。！？।۔።။][」』»”\"')\]]*)", re.DOTALL)
_WRAPPED = 0.7
"""Share of the longest line of a page from which its last line is taken for a wrapped one."""


class Page(NamedTuple):
    """A page with a text.

    Attributes:
        number: from 1.
        text: lines.
    """

    number: int
    text: str


def whole_pages(pages: Sequence[Page], counts: Counter[str]) -> Iterator[Page]:
    """Pages without running lines; the rest of a sentence moves to the page on which it begins.

    Args:
        pages: in order.
        counts: takes in how many lines were left out and how many sentences joined.
    """
    bodies = zip(pages, _without_running_lines(pages, counts), strict=True)
    rest = [Page(page.number, text) for page, text in bodies]
    for at, page in enumerate(rest):
        following = rest[at + 1] if at + 1 < len(rest) else None
        if following is not None and following.number == page.number + 1:
            text = following.text.lstrip()
            if head := _continuation(page.text, text):
                counts["sentences over two pages, joined"] += 1
                page = page._replace(text=f"{page.text.rstrip()}\n{head}")
                rest[at + 1] = following._replace(text=text[len(head) :].lstrip())
        yield page._replace(text=_HYPHEN.sub("", page.text))


def _without_running_lines(pages: Sequence[Page], counts: Counter[str]) -> list[str]:
    """Texts of pages without their running headers and footers."""
    texts = [page.text.strip() for page in pages]
    for is_top in (True, False):
        keys = [
            {key for line in _edge(text, is_top) for key in _keys(page.number, line)}
            for page, text in zip(pages, texts, strict=True)
        ]
        for at, page in enumerate(pages):
            around = Counter[str]()
            for near in keys[max(0, at - _WINDOW) : at + _WINDOW + 1]:
                around.update(near)
            while line := next(iter(_edge(texts[at], is_top)), ""):
                if all(around[key] < _REPEATS for key in _keys(page.number, line)):
                    break
                parts = texts[at].split(line, 1) if is_top else texts[at].rsplit(line, 1)
                texts[at] = parts[1 if is_top else 0].strip()
                counts["running headers and footers, left out"] += 1
    return texts


def _edge(text: str, is_top: bool) -> list[str]:
    """The first or last lines of a page that are not blank, from the outermost."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[:_EDGE] if is_top else lines[: -_EDGE - 1 : -1]


def _keys(page: int, line: str) -> set[str]:
    """Keys by which a running header or footer is recognised on other pages.

    A page number differs from the page by the same number everywhere; other numbers stay the same.
    """
    text = " ".join(line.split())
    numbers = list(_NUMBER.finditer(text))
    if len(text) > _LONGEST_LINE or any(len(n[0]) > 9 for n in numbers):
        return set()
    keys = {text}
    for n in numbers:
        keys.add(f"{text[: n.start()]}\0{int(n[0]) - page}{text[n.end() :]}")
    return keys


def _continuation(text: str, following: str) -> str:
    """The part of a page with which the last sentence of the page before it ends; may be empty."""
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
