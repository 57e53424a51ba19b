"""Statement–URL pairs of a report: what FACT asks a judge about (arXiv 2506.11763, section 3.2)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from citeforge.engines.text.segment import Segmenter
from citeforge.evaluator.statements.split import Statement, is_label, strict_statements
from citeforge.evaluator.statements.url_marks import AND, Markup, Mention, read_markup
from citeforge.plugins.responses.placing.marks import Edit, Shift
from citeforge.schemas.citations.grammar import JOINER, Grammar
from citeforge.schemas.citations.urls import same_url
from citeforge.schemas.submission import CitedFact
from citeforge.schemas.text import normalise_em

_FRAGMENT = "#:~:text="
_ENDS = (".", "!", "?", "…")
_STOPS = re.compile(r"[.,;:。，；]*")
_MARK = re.compile(r"\[\d+\]|" + re.escape(JOINER))


def as_written(url: str) -> str:
    """Normalise a URL as DeepResearch Bench does: remove only a text fragment (``#:~:text=…``)."""
    return url.partition(_FRAGMENT)[0]


KEYS: Mapping[str, Callable[[str], str]] = {"strict": same_url, "reference": as_written}
"""Protocol to the function that maps URLs of one page to the same key."""


def statement_pairs(
    report: str, segmenter: Segmenter, key: Callable[[str], str], urls: Sequence[str] = ()
) -> tuple[CitedFact, ...]:
    """List the statement–URL pairs of a report, in order, without duplicates.

    Statements that say the same word for word, case and punctuation aside, are one. A page is named
    as :data:`KEYS` do; ``[7]`` stands for a number that no list explains.

    Args:
        report: Markdown.
        segmenter: splits sentences.
        key: when two URLs are one page.
        urls: URLs of the passages of the line, for a report without a list of references.
    """
    markup = read_markup(report, urls)
    numbered = _with_marks(report, markup, key)
    read = strict_statements(numbered.text, Grammar(), segmenter, len(numbered.keys))
    bare = _bare_links(numbered, read.statements)
    if bare:
        markup.mentions = _merge_mentions(report, markup.mentions, bare)
        numbered = _with_marks(report, markup, key)
        read = strict_statements(numbered.text, Grammar(), segmenter, len(numbered.keys))
    keys = numbered.keys
    pairs: dict[tuple[str, str], CitedFact] = {}
    for statement in read.statements:
        for number in dict.fromkeys(statement.numbers):
            if 1 <= number <= len(keys):
                pair = CitedFact(statement.text, keys[number - 1])
                pairs.setdefault((pair.url, normalise_em(pair.statement)), pair)
    return tuple(pairs.values())


@dataclass(frozen=True)
class _Written:
    """A report with numbered marks in place of links, and without its list of references.

    Attributes:
        text: the report.
        keys: pages, in the order of their numbers.
        labels: (start, end) of the texts of links in it, to the link.
    """

    text: str
    keys: list[str]
    labels: dict[tuple[int, int], Mention]


def _with_marks(report: str, markup: Markup, key: Callable[[str], str]) -> _Written:
    """Replace a report's links by numbered marks, and remove its list of references."""
    numbers: dict[str, int] = {}
    edits: list[Edit] = []
    links: list[tuple[Edit, int, Mention]] = []  # with the place of the link's text in it
    cuts = [(s, e, None) for s, e in markup.lists]
    at = 0
    for start, end, mention in sorted(
        [*cuts, *((m.start, m.end, m) for m in markup.mentions)], key=lambda cut: cut[:2]
    ):
        if start < at:
            continue
        at = end
        if mention is None:
            edits.append(Edit(start, end, ""))
            continue
        pages = (name if name.startswith("[") else key(name) for name in mention.keys)
        marks = [f"[{numbers.setdefault(page, len(numbers) + 1)}]" for page in pages]
        # `Gold.[Reuters](url)` is two sentences.
        space = " " if mention.kept and report[max(0, start - 1) : start] in _ENDS else ""
        # A bracket behind a mark would make a link of both.
        joiner = JOINER if report[end : end + 1] == "(" else ""
        edits.append(Edit(start, end, "".join([space, mention.kept, *marks, joiner])))
        if mention.kept:
            links.append((edits[-1], len(space), mention))
    shift = Shift(report, edits)
    labels = {}
    for edit, before, mention in links:
        first = shift.places[edit][0] + before
        labels[first, first + len(mention.kept)] = mention
    return _Written(shift.text, list(numbers), labels)


def _bare_links(numbered: _Written, statements: Sequence[Statement]) -> list[list[Mention]]:
    """Group the links that follow a sentence with no text between: they cite that sentence.

    They would be statements of their own, of nothing but their texts; one list for each.
    """
    text = numbered.text
    groups: list[list[Mention]] = []
    before: int | None = None  # the end of the last statement that says something
    labels = list(numbered.labels)
    since: list[tuple[int, int]] = []  # labels behind it
    at = 0
    for statement in (s for s in statements if s.spans):
        start, end = statement.spans[0][0], statement.spans[-1][1]
        mine = []
        while at < len(labels) and labels[at][0] < end:
            if labels[at][1] > start:
                mine.append(labels[at])
            at += 1
        since += mine
        is_row = text.startswith("|", start)
        if before is not None and mine and not is_row and _links_alone(text, before, end, since):
            groups.append([numbered.labels[span] for span in mine])
        else:
            before, since = end, []
    return groups


def _merge_mentions(
    report: str, mentions: Sequence[Mention], groups: Sequence[Sequence[Mention]]
) -> list[Mention]:
    """Merge each group of mentions into one that spans them all, without their texts."""
    merged = list(mentions)
    for group in groups:
        start, end = group[0].start, group[-1].end
        inside = [m for m in merged if start <= m.start < end]
        keys = tuple(dict.fromkeys(k for m in inside for k in m.keys))
        place = merged.index(inside[0])
        end += len(_STOPS.match(report, end)[0])  # type: ignore[index]
        merged[place : place + len(inside)] = [Mention(start, end, keys)]
    return merged


def _links_alone(text: str, start: int, end: int, labels: Sequence[tuple[int, int]]) -> bool:
    """Whether a report has only links, and a label for them, between two offsets."""
    rest = []
    for first, last in labels:
        rest.append(text[start:first])
        start = last
    words = _MARK.sub(" ", " ".join([*rest, text[start:end]])).strip(" \t\r\n.,;:()，；、。*_-•")
    return is_label(f"{words}:") or all(w in AND for w in words.split() if any(map(str.isalpha, w)))
