"""Statement–URL pairs of a report: what FACT asks a judge about (arXiv 2506.11763, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from citeforge.engines.segment import Segmenter
from citeforge.evaluator.research.markup import Markup, read_markup
from citeforge.evaluator.statements import split_statements
from citeforge.evaluator.vendors.placing import JOINER
from citeforge.schemas.grammar import Grammar
from citeforge.schemas.text import normalise_em
from citeforge.schemas.urls import same_url

_FRAGMENT = "#:~:text="


@dataclass(frozen=True)
class UrlPair:
    """A statement and a page that it cites.

    Attributes:
        statement: without its citations.
        key: the page, as :data:`KEYS` name it; ``[7]`` for a number that no list explains.
    """

    statement: str
    key: str


def as_written(url: str) -> str:
    """A URL as DeepResearch Bench compares it: as written, but for marked words behind it."""
    return url.partition(_FRAGMENT)[0]


KEYS: Mapping[str, Callable[[str], str]] = {"strict": same_url, "reference": as_written}
"""Protocol to when two URLs are one page."""


@dataclass(frozen=True)
class ReportPairs:
    """What a report cites.

    Attributes:
        pairs: each statement once for each page; statements that say the same word for word, case
            and punctuation aside, are one.
        markup: its citations as written.
        n_statements: statements, cited or not.
    """

    pairs: tuple[UrlPair, ...]
    markup: Markup
    n_statements: int


def read_pairs(
    report: str, segmenter: Segmenter, key: Callable[[str], str], shown: Sequence[str] = ()
) -> ReportPairs:
    """Statement–URL pairs of a report, in order.

    Args:
        report: Markdown.
        segmenter: splits sentences.
        key: when two URLs are one page.
        shown: URLs of the passages of the line, for a report without a list of references.
    """
    markup = read_markup(report, shown)
    keys: list[str] = []
    text = _with_marks(report, markup, keys, key)
    read = split_statements(text, Grammar(), segmenter, len(keys))
    found: dict[tuple[str, str], UrlPair] = {}
    for statement in read.statements:
        for number in dict.fromkeys(statement.numbers):
            if 1 <= number <= len(keys):
                pair = UrlPair(statement.text, keys[number - 1])
                found.setdefault((pair.key, normalise_em(pair.statement)), pair)
    return ReportPairs(tuple(found.values()), markup, len(read.statements))


def _with_marks(report: str, markup: Markup, keys: list[str], key: Callable[[str], str]) -> str:
    """The report with one number for each page, and without its list of references."""
    numbers: dict[str, int] = {}
    pieces: list[str] = []
    at = 0
    cuts = [(s, e, None) for s, e in markup.lists]
    for start, end, mention in sorted(
        [*cuts, *((m.start, m.end, m) for m in markup.mentions)], key=lambda cut: cut[:2]
    ):
        if start < at:
            continue
        pieces.append(report[at:start])
        at = end
        if mention is None:
            continue
        marks = []
        for name in mention.keys:
            page = name if name.startswith("[") else key(name)
            if page not in numbers:
                numbers[page] = len(keys) + 1
                keys.append(page)
            marks.append(f"[{numbers[page]}]")
        # A bracket behind a mark would make a link of both.
        pieces += [mention.kept, *marks, JOINER if report[end : end + 1] == "(" else ""]
    pieces.append(report[at:])
    return "".join(pieces)
