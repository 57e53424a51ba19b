"""Citations in reports: links, numbers with a list of references, bare URLs.

What is read, outside code and images:

- ``[text](url)``: text that belongs to the sentence stays in it; it goes where links stand in round
  brackets of their own, or the text is a number, the host, or a word such as "source";
- ``[7]``, ``[7, 8]``, ``【7†L1-L5】``, ``[7†L1-L5]``, ``[^7]``: numbers of the list of references;
- ``<url>`` and bare URLs.

An entry of the list of references is a line that starts with a number (``[7]``, ``7.``, ``[^7]:``)
and has a URL, there or in the lines before the next entry. The list itself is no statement.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from citeforge.schemas.citations.grammar import Grammar, overlaps

_URL = r"https?://(?:[^\s()<>\[\]【】「」，。；、）]|\([^\s()<>]*\))+"
_TARGET = r"<?(?P<{}>https?://(?:[^\s()<>]|\([^\s()<>]*\))+)>?(?:\s+\"[^\"\n]*\")?"
_TOKEN = re.compile(
    r"(?P<code>```.*?(?:```|\Z)|`[^`\n]+`)"
    r"|(?P<image>!\[[^\[\]\n]*\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\))"
    rf"|\[(?P<label>(?:[^\[\]\n]|\[[^\[\]\n]*\])*)\]\({_TARGET.format('target')}\)"
    r"|\[(?P<dagger>\d{1,3})†[^\[\]\n]*\]"
    rf"|<?(?P<bare>{_URL})>?",
    re.DOTALL,
)
_ENTRY = re.compile(r"\s*(?:[-*•]\s+)?(?:\[\^?(\d{1,3})\]|【(\d{1,3})】|(\d{1,3})[.)])\s*:?")
_WORDS = re.compile(
    r"\W*(?:\^?\d{1,3}|sources?|links?|refs?|references?|here|来源|链接|原文|quelle|fuente|出典)\W*",
    re.IGNORECASE,
)
AND = ("and", "und", "et", "y", "和")
"""What may stand between two citations of one sentence."""
_BETWEEN = re.compile(rf"\s*+(?:[,;，；、]|{'|'.join(AND)})?+\s*+")
_TRAILING = ".,;:!?'\"*_，。；：！？、）"

FAILED = "scrape failed:"
"""How DeepResearch Bench's files begin the text of a page that could not be fetched."""


def has_text(text: str) -> bool:
    """Whether a page's text is neither blank nor a note that it could not be fetched."""
    return bool(text.strip()) and not text.startswith(FAILED)


@dataclass(frozen=True)
class Mention:
    """One citation in a report.

    Attributes:
        start: its first character.
        end: behind its last one.
        keys: URLs as written; a number without an entry as ``[7]``.
        kept: what stays in the text in its place.
    """

    start: int
    end: int
    keys: tuple[str, ...]
    kept: str = ""


@dataclass
class Markup:
    """The citations of a report.

    Attributes:
        mentions: in order.
        lists: (start, end) of lists of references.
        references: number to URL.
        twice: numbers that the list has more than once; the first entry counts.
        unlisted: numbers that are cited and have no entry with a URL, in order.
    """

    mentions: list[Mention] = field(default_factory=list)
    lists: tuple[tuple[int, int], ...] = ()
    references: dict[int, str] = field(default_factory=dict)
    twice: list[int] = field(default_factory=list)
    unlisted: list[int] = field(default_factory=list)


def read_markup(report: str, urls: Sequence[str] = ()) -> Markup:
    """Read citations of a Markdown report: links, bare URLs, and numbers of listed ``urls``.

    Args:
        report: Markdown.
        urls: URLs of the passages of the line, in order; in a report without a list of references
            its numbers are theirs, from 1.
    """
    parsed = Grammar().parse(report, 0)
    markup = Markup(lists=parsed.lists)
    for start, end in parsed.lists:
        _read_list(report[start:end], markup)
    if not markup.references:
        markup.references = {number: url for number, url in enumerate(urls, 1) if url}
    spans: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(report):
        if overlaps(match.span(), parsed.lists):
            continue
        spans.append(match.span())
        mention = _make_mention(match, markup.references)
        if mention is not None:
            markup.mentions.append(mention)
    for marker in parsed.markers:
        inside = overlaps((marker.start, marker.end), spans)
        if marker.numbers and not marker.is_listed and not inside:
            keys = tuple(dict.fromkeys(_page_key(n, markup.references) for n in marker.numbers))
            markup.mentions.append(Mention(marker.start, marker.end, keys))
    markup.mentions = _merge_in_brackets(report, sorted(markup.mentions, key=lambda m: m.start))
    cited = [k for m in markup.mentions for k in m.keys if k.startswith("[")]
    markup.unlisted = [int(k[1:-1]) for k in dict.fromkeys(cited)]
    return markup


def _merge_in_brackets(report: str, mentions: Sequence[Mention]) -> list[Mention]:
    """Merge the citations in a report that share round brackets into one, brackets included."""
    grouped: list[Mention] = []
    at = 0
    while at < len(mentions):
        last = at
        while last + 1 < len(mentions) and _BETWEEN.fullmatch(
            report, mentions[last].end, mentions[last + 1].start
        ):
            last += 1
        group = mentions[at : last + 1]
        start, end = group[0].start, group[-1].end
        if report[start - 1 : start] in ("(", "（") and report[end : end + 1] in (")", "）"):
            keys = tuple(dict.fromkeys(k for m in group for k in m.keys))
            group = [Mention(start - 1, end + 1, keys)]
        grouped += group
        at = last + 1
    return grouped


def _page_key(number: int, references: Mapping[int, str]) -> str:
    """Name the page of a numbered mark: its URL in the reference list, else the mark."""
    return references.get(number, f"[{number}]")


def _read_list(text: str, markup: Markup) -> None:
    """Add the numbered URLs of a reference list to ``markup``.

    Args:
        text: the list.
        markup: what was read so far; gets ``references`` and numbers that are listed twice.
    """
    number: int | None = None
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        rest = line
        if entry is not None:
            number = int(next(g for g in entry.groups() if g))
            rest = line[entry.end() :]
        url = next(_find_urls(rest), None)
        if url is None or number is None:
            continue
        if number in markup.references:
            if entry is not None:
                markup.twice.append(number)
            continue
        markup.references[number] = url


def _find_urls(text: str) -> Iterator[str]:
    """Yield the URLs in a text: link targets and bare URLs."""
    for match in _TOKEN.finditer(text):
        if match["target"]:
            yield match["target"]
        elif match["bare"]:
            yield match["bare"].rstrip(_TRAILING)


def _make_mention(match: re.Match[str], references: Mapping[int, str]) -> Mention | None:
    """Turn a matched link, URL or mark ``[7†…]`` into a citation; None for code and images."""
    start, end = match.span()
    if match["dagger"]:
        return Mention(start, end, (_page_key(int(match["dagger"]), references),))
    if match["bare"]:
        url = match["bare"].rstrip(_TRAILING)
        if not match[0].startswith("<"):
            end = match.start("bare") + len(url)
        return Mention(start, end, (url,))
    if match["target"] is None:
        return None
    label = match["label"].strip()
    host = (urlsplit(match["target"]).hostname or "").removeprefix("www.")
    is_mark = not label or _WORDS.fullmatch(label) or label.lower().removeprefix("www.") == host
    return Mention(start, end, (match["target"],), "" if is_mark else label)
