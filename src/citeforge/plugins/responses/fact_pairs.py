"""Statement–URL pairs of a report, for FACT's judge (arXiv 2506.11763, section 3.2)."""

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from citeforge.engines.text.segment import Segmenter
from citeforge.evaluator.statements.split import Statement, is_label, split_statements
from citeforge.evaluator.submissions.url_marks import AND, Markup, read_markup
from citeforge.plugins.responses.marks import Edit, Shift
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.citations.urls import normalise_url
from citeforge.schemas.invisible import WORD_JOINER
from citeforge.schemas.submission import CitedFact
from citeforge.schemas.text import normalise_em

_FRAGMENT = "#:~:text="
_ENDS = (".", "!", "?", "…")
_MARK = re.compile(r"\[\d+\]|" + re.escape(WORD_JOINER))


def without_fragment(url: str) -> str:
    """Normalise a URL as DeepResearch Bench does: remove only a text fragment (``#:~:text=…``)."""
    return url.partition(_FRAGMENT)[0]


KEYS: Mapping[str, Callable[[str], str]] = {"strict": normalise_url, "reference": without_fragment}
"""Protocol to the function that maps URLs of one page to the same key."""


def statement_pairs(
    report: str, segmenter: Segmenter, normalise_url: Callable[[str], str], urls: Sequence[str] = ()
) -> tuple[CitedFact, ...]:
    """List distinct pairs of a report's statement and the normalised URL it cites, in order.

    Statements that say the same word for word, case and punctuation aside, are one. A page is named
    as :data:`KEYS` do; ``[7]`` stands for a number that no list explains.

    Args:
        report: Markdown.
        segmenter: splits sentences.
        normalise_url: normalises a URL; two URLs with one key are one page.
        urls: URLs of the passages of the line, for a report without a list of references.
    """
    written = _write_with_marks(report, read_markup(report, urls), normalise_url)
    read = split_statements(written.text, Grammar(), segmenter, len(written.keys))
    pairs: dict[tuple[str, str], CitedFact] = {}
    for statement, cited in zip(
        read.statements, _cited_texts(written, read.statements), strict=True
    ):
        for number in dict.fromkeys(statement.numbers):
            if 1 <= number <= len(written.keys):
                pair = CitedFact(cited, written.keys[number - 1])
                pairs.setdefault((pair.url, normalise_em(pair.statement)), pair)
    return tuple(pairs.values())


@dataclass(frozen=True)
class _Written:
    """A report with numbered marks in place of links, and without its list of references.

    Attributes:
        text: the report.
        keys: pages, in the order of their numbers.
        labels: (start, end) of the texts of links in it.
    """

    text: str
    keys: list[str]
    labels: list[tuple[int, int]]


def _write_with_marks(
    report: str, links_and_lists: Markup, normalise_url: Callable[[str], str]
) -> _Written:
    """Replace a report's links by marks like [1] per normalised URL; remove reference lists.

    Args:
        report: Markdown.
        links_and_lists: its links and lists of references.
        normalise_url: normalises a URL; two URLs with one key are one page.

    Returns:
        The text with marks, keys of the pages in order of their numbers, and spans of links' texts
        in the new text.
    """
    numbers: dict[str, int] = {}
    edits: list[Edit] = []
    links: list[tuple[Edit, int, int]] = []  # with the span of the link's text in it
    cuts = [(s, e, None) for s, e in links_and_lists.lists]
    at = 0
    for start, end, mention in sorted(
        [*cuts, *((m.start, m.end, m) for m in links_and_lists.mentions)], key=lambda cut: cut[:2]
    ):
        if start < at:
            continue
        at = end
        if mention is None:
            edits.append(Edit(start, end, ""))
            continue
        pages = (name if name.startswith("[") else normalise_url(name) for name in mention.keys)
        marks = [f"[{numbers.setdefault(page, len(numbers) + 1)}]" for page in pages]
        # `Gold.[Reuters](url)` is two sentences.
        space = " " if mention.kept and report[max(0, start - 1) : start] in _ENDS else ""
        # A bracket behind a mark would make a link of both.
        joiner = WORD_JOINER if report[end : end + 1] == "(" else ""
        edits.append(Edit(start, end, "".join([space, mention.kept, *marks, joiner])))
        if mention.kept:
            links.append((edits[-1], len(space), len(space) + len(mention.kept)))
    shift = Shift(report, edits)
    labels = [
        (shift.new_spans[e][0] + first, shift.new_spans[e][0] + last) for e, first, last in links
    ]
    return _Written(shift.text, list(numbers), labels)


def _cited_texts(report: _Written, statements: Sequence[Statement]) -> Iterator[str]:
    """Yield, per statement of a report, the text that its citations support.

    It is the statement itself, but for one that has nothing but links: ``The sun is hot.
    [NASA](URL)`` is read as two statements, and the second cites for the first.

    Args:
        report: the report with marks in place of links, and spans of the links' texts.
        statements: its statements, in order.
    """
    text, before = report.text, ""
    last_end: int | None = None  # of the last statement that says something
    labels = deque(report.labels)
    since: list[tuple[int, int]] = []  # labels behind it
    for statement in statements:
        if not statement.spans:
            yield statement.text
            continue
        start, end = statement.spans[0][0], statement.spans[-1][1]
        mine = []
        while labels and labels[0][0] < end:
            label = labels.popleft()
            mine += [label] if label[1] > start else []
        since += mine
        is_row = text.startswith("|", start)
        if (
            last_end is None
            or not mine
            or is_row
            or not _has_only_links(text, last_end, end, since)
        ):
            before, last_end, since = statement.text, end, []
        yield before


def _has_only_links(text: str, start: int, end: int, link_texts: Sequence[tuple[int, int]]) -> bool:
    """Whether text[start:end] has only links, perhaps after a label such as "Sources:".

    Args:
        text: the report.
        start: start of the stretch.
        end: its end.
        link_texts: (start, end) of the text of each link in it.
    """
    rest = []
    for first, last in link_texts:
        rest.append(text[start:first])
        start = last
    words = _MARK.sub(" ", " ".join([*rest, text[start:end]])).strip(" \t\r\n.,;:()，；、。*_-•")
    return is_label(f"{words}:") or all(w in AND for w in words.split() if any(map(str.isalpha, w)))
