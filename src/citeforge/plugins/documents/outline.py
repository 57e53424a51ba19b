"""Find the parts of Markdown outside of passages: headings, front matter, comments, tags."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import yaml

from citeforge.schemas.text import splice

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LINE_END = re.compile(r"\r\n|\n|\r")
_FRONT = re.compile(
    r"\ufeff?(---|\+\+\+)[ \t]*(?:\r\n|\n)(.*?)^(?:\1|\.\.\.)[ \t]*(?:\r\n|\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_YAML_KEY = re.compile(r"\s*(?:#.*\n\s*)*[\w-]+[ \t]*:(?:\s|\Z)")
_TITLE_LINE = re.compile(r"^title[ \t]*+:(.*)$", re.MULTILINE)
_COMMENT = re.compile(r"(?<!`)<!--.*?-->", re.DOTALL)
_COMMENTS = re.compile(r"(?:\s*+<!--(?:(?!-->).)*+-->)++\s*+", re.DOTALL)
_TEMPLATE_TAGS = re.compile(r"(?:\s*+\{%(?:(?!%\}).)*+%\})++\s*+", re.DOTALL)
_HIDDEN = {"html_block": _COMMENTS, "paragraph_open": _TEMPLATE_TAGS}
"""Kind of block to the pattern of those that are not text."""
# People write comments as definitions of links without a target.
_REFERENCE_COMMENT = re.compile(r" {0,3}\[[^\]]*\]:[ \t]+(?:#|<>)(?:[ \t]|\Z)")
_INLINE = re.compile(
    r"[*`]+|\b_+|_+\b|!?\[([^\[\]]*+)\]\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)"
    r"|(?<!\s)\s*+\{[#.:][^{}]*+\}\s*+\Z"
)


@dataclass(frozen=True, slots=True, order=True)
class Break:
    """A stretch of a text that belongs to no passage.

    Attributes:
        start: position of its first character.
        end: position behind its last character.
        level: level of a heading, from 1; 0 for anything else.
        title: text of a heading.
    """

    start: int
    end: int
    level: int = 0
    title: str = ""


@cache
def _make_parser() -> MarkdownIt:
    """Make the parser of Markdown blocks; inline markup is not parsed."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def read_outline(text: str) -> tuple[str, str, tuple[Break, ...]]:
    """Parse Markdown: (text without inline comments, front-matter title, non-text stretches).

    Returns:
        (the text with comments inside paragraphs blanked out, so that its length stays; the title
        in its front matter, empty for none; headings and other breaks, in order).
    """
    front, title = _front_matter(text)
    lines = [front, *(front + m.end() for m in _LINE_END.finditer(text[front:])), len(text)]
    characters = list(text)
    breaks = [Break(0, front)] if front else []
    inside: set[int] = set()
    tokens = _make_parser().parse(text[front:])
    for token, following in zip(tokens, [*tokens[1:], None], strict=False):
        if token.map is None or token.level:
            continue
        start, end = (lines[min(line, len(lines) - 1)] for line in token.map)
        inside.update(range(*token.map))
        content = token.content if following is None or token.content else following.content
        hidden = _HIDDEN.get(token.type)
        if token.type == "heading_open":
            breaks.append(Break(start, end, int(token.tag[1:]), plain_title(content)))
        elif hidden is not None and hidden.fullmatch(content):
            breaks.append(Break(start, end))
        elif token.type in ("paragraph_open", "html_block"):
            for comment in _find_comments(text, start, end):
                characters[slice(*comment.span())] = re.sub(r"[^\r\n]", " ", comment[0])
    for number, (start, end) in enumerate(pairwise(lines)):
        if number not in inside and _REFERENCE_COMMENT.match(text[start:end].rstrip()):
            breaks.append(Break(start, end))
    return "".join(characters), title, tuple(sorted(breaks))


def plain_title(text: str) -> str:
    """Strip Markdown markup, comments, anchors and link targets from a heading."""
    plain = splice(text, ((*m.span(), "") for m in _find_comments(text, 0, len(text))))
    return " ".join(_INLINE.sub(lambda m: m[1] or "", plain).split())


def _find_comments(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield the closed HTML comments in a range of a Markdown text."""
    return _COMMENT.finditer(text, start, text.rfind("-->", start, end) + len("-->"))


def _front_matter(text: str) -> tuple[int, str]:
    """Find the front matter of a Markdown text: (its end, its title); (0, "") without any."""
    match = _FRONT.match(text)
    if match is None:
        return 0, ""
    if match[1] == "+++":
        try:
            content = tomllib.loads(match[2].replace("\r\n", "\n"))
        except tomllib.TOMLDecodeError:
            return 0, ""
        return match.end(), _title_text(content.get("title"))
    if match[2].strip() and not _YAML_KEY.match(match[2]):
        return 0, ""  # a text between two rules
    try:
        content = yaml.safe_load(match[2])
    except (yaml.YAMLError, ValueError, RecursionError):
        line = _TITLE_LINE.search(match[2])  # such as `title: Pumps: a manual`
        return match.end(), line[1].strip(" \t\r").strip("\"'") if line else ""
    title = content.get("title") if isinstance(content, dict) else None
    return match.end(), _title_text(title)


def _title_text(value: object) -> str:
    """Convert a front-matter title to one line; "" if it is neither text nor number."""
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def sections(
    breaks: tuple[Break, ...], text_length: int
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield (start, end, headings above it) of the sections between a text's breaks (headings…).

    Args:
        breaks: breaks in order.
        text_length: length of the text.
    """
    above: list[Break] = []
    begin = 0
    for boundary in breaks:
        yield begin, boundary.start, tuple(heading.title for heading in above)
        if boundary.level:
            above = [*(heading for heading in above if heading.level < boundary.level), boundary]
        begin = boundary.end
    yield begin, text_length, tuple(heading.title for heading in above)
