"""The definitions of all measures as a page of the site, and where each measure stands on it."""

import re
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from citeforge.evaluator.measures.registry import find_measure

_TEXT = Path(__file__).parents[1] / "templates" / "definitions.md"
_MEASURE = re.compile(r"[A-Z][\w.@-]+")


def markdown() -> MarkdownIt:
    """Of text that may come from anybody: its HTML stays text, and no picture is loaded."""
    return MarkdownIt("js-default").disable(["image", "linkify", "replacements", "smartquotes"])


@cache
def definitions() -> tuple[str, frozenset[str]]:
    """The body of the page, and its anchors: sections, and ``m-NAME`` of measures.

    Links to other pages of the documentation become text; the site has none of these.
    """
    parser = markdown()
    tokens = parser.parse(_TEXT.read_text(encoding="utf-8"))
    anchors: set[str] = set()
    for at, token in enumerate(tokens):
        types = [t.type for t in tokens[max(0, at - 2) : at]]
        if types[-1:] == ["heading_open"]:
            _anchor(tokens[at - 1], token.content.lower(), anchors)
        for part in token.children or ():
            is_name = part.type == "code_inline" and _MEASURE.fullmatch(part.content)
            if is_name and types == ["tr_open", "td_open"]:
                _anchor(part, f"m-{part.content}", anchors)
        _drop_links(token.children or [])
    html = parser.renderer.render(tokens, parser.options, {})
    box = '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'
    html = html.replace("<table>", box).replace("</table>", "</table></div>")
    return html, frozenset(anchors)


def _anchor(token: Token, name: str, anchors: set[str]) -> None:
    if name not in anchors:
        token.attrSet("id", name)
        anchors.add(name)


def _drop_links(parts: list[Token]) -> None:
    """Make text of links that lead out of the page."""
    for at, part in enumerate(parts):
        if part.type == "link_open" and not str(part.attrs["href"]).startswith("#"):
            for end in (part, next(p for p in parts[at:] if p.type == "link_close")):
                end.type, end.tag, end.nesting, end.content = "text", "", 0, ""


def definition_link(measure: str) -> str:
    """Where a site defines a measure, beside its first page; empty for one that is not ours."""
    name = measure.split("[")[0]
    declaration = find_measure(name)
    places = (name, re.sub(r"@\d+$", "@k", name))
    anchors = [f"m-{p}" for p in places] + ([] if declaration is None else [declaration.family])
    anchor = next((a for a in anchors if a in definitions()[1]), None)
    return "" if anchor is None else f"definitions.html#{anchor}"
