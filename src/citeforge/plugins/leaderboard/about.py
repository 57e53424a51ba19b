"""Texts of pages about a benchmark (description, facts, links), and the page of definitions."""

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it.token import Token
from pydantic import Field, field_validator

from citeforge.engines.posix import follow_checkout_link
from citeforge.evaluator.measures.definitions import built_in_families, family_definitions
from citeforge.evaluator.measures.registry import find_measure
from citeforge.evaluator.rows import count_systems
from citeforge.package.manifest import BY_HAND, CARD, read_stats
from citeforge.package.package import Package
from citeforge.publishing.hub import parse_hub
from citeforge.reports.pages.markup import frame_tables, markdown_parser
from citeforge.schemas.recipes.base import Part
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.text import is_date

_TEXT = Path(__file__).parent / "templates" / "definitions.md"
_FAMILY = re.compile(r"measures/(\w+)\.md")
_MEASURE = re.compile(r"[A-Z][\w.@-]+")
_SUBMIT = "How to submit"
_WEB = ("https://", "http://")


@cache
def definitions() -> tuple[str, frozenset[str]]:
    """Render the definitions of all measures for a leaderboard: (HTML, anchors in it).

    Anchors are sections' names, and ``m-NAME`` of measures.

    Links to families lead into the page; those to other pages of the documentation become text.
    """
    parser = markdown_parser()
    texts = [follow_checkout_link(_TEXT).read_text(encoding="utf-8")]
    texts += [f"## {family}\n\n{family_definitions(family)}" for family in built_in_families()]
    tokens = parser.parse("\n".join(texts))
    anchors: set[str] = set()
    for at, token in enumerate(tokens):
        types = [t.type for t in tokens[max(0, at - 2) : at]]
        if types[-1:] == ["heading_open"]:
            _set_anchor(tokens[at - 1], token.content.lower(), anchors)
        for part in token.children or ():
            is_name = part.type == "code_inline" and _MEASURE.fullmatch(part.content)
            if is_name and types == ["tr_open", "td_open"]:
                _set_anchor(part, f"m-{part.content}", anchors)
        _turn_links_into_anchors(token.children or [])
    html = parser.renderer.render(tokens, parser.options, {})
    return frame_tables(html), frozenset(anchors)


def _set_anchor(token: Token, name: str, anchors: set[str]) -> None:
    """Set a Markdown token's HTML id to a name, and add it to ``anchors`` unless it is there."""
    if name not in anchors:
        token.attrSet("id", name)
        anchors.add(name)


def _turn_links_into_anchors(tokens: list[Token]) -> None:
    """Point link tokens to measure families' pages to anchors; make other links text, in place."""
    for at, part in enumerate(tokens):
        if part.type != "link_open":
            continue
        target = str(part.attrs["href"])
        if family := _FAMILY.fullmatch(target):
            part.attrs["href"] = f"#{family[1]}"
        elif not target.startswith("#"):
            for end in (part, next(p for p in tokens[at:] if p.type == "link_close")):
                end.type, end.tag, end.nesting, end.content = "text", "", 0, ""


def definition_link(measure: str) -> str:
    """Get the link to a measure's definition; empty if a leaderboard's pages have none."""
    name = measure.split("[")[0]
    declaration = find_measure(name)
    names = (name, re.sub(r"@\d+$", "@k", name))
    anchors = [f"m-{n}" for n in names] + ([] if declaration is None else [declaration.family])
    anchor = next((a for a in anchors if a in definitions()[1]), None)
    return "" if anchor is None else f"definitions.html#{anchor}"


class Presentation(Part):
    """Description, links and dates of a benchmark or leaderboard (``leaderboard.yaml``)."""

    description: str | None = Field(default=None, min_length=1)
    """Description in a paragraph (default: that of the package's card)."""
    organisation: str | None = Field(default=None, min_length=1)
    """Organisation that maintains it (default: that of hub:ORG/NAME)."""
    date: datetime.date | None = None
    """When it was made, as 2026-11-23."""
    links: dict[str, str] = Field(default_factory=dict)
    """Names to addresses (https://…), such as those of paper and code."""
    submit: str = ""
    """Instructions for submitters: an address (https://…), or a sentence."""

    @field_validator("date", mode="before")
    @classmethod
    def _check_date(cls, day: object) -> object:
        """Check that a benchmark's date is written as 2026-11-23; return it unchanged."""
        if day is None or (is_date(text := str(day)) and len(text) == len("2026-11-23")):
            return day
        raise ValueError(f"{day!r} is not a date; write it as 2026-11-23")

    @field_validator("links")
    @classmethod
    def _check_addresses(cls, links: dict[str, str]) -> dict[str, str]:
        """Check that the values of links, by name, are web addresses."""
        for name, address in links.items():
            if not address.startswith(_WEB):
                raise ValueError(f"{name}: {address!r} is not an address; begin with https://")
        return links

    def with_hub_links(self, spec: str) -> "Presentation":
        """Copy a benchmark's description with organisation and link of ``hub:ORG/NAME``.

        For a path it returns the description unchanged.
        """
        on_hub = parse_hub(spec)
        if on_hub is None:
            return self
        repo, _ = on_hub
        links = {**self.links, "Hugging Face Hub": f"https://huggingface.co/datasets/{repo}"}
        organisation = self.organisation or repo.partition("/")[0]
        return self.model_copy(update={"organisation": organisation, "links": links})


@dataclass(frozen=True)
class Introduction:
    """The head of a first page.

    Attributes:
        html: description, rendered from Markdown.
        facts: (name, value) pairs.
        links: (name, address) pairs.
        contexts: (context set, description) pairs.
    """

    html: str
    facts: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]
    contexts: tuple[tuple[str, str], ...] = ()

    @property
    def says_how_to_submit(self) -> bool:
        """Whether a page's facts or links have instructions for submitters."""
        return _SUBMIT in {**dict(self.facts), **dict(self.links)}


def introduction(package: Package, about: Presentation, files: Sequence[ScoreFile]) -> Introduction:
    """Make the introduction of a benchmark's page: description, facts, links, context sets."""
    manifest = package.manifest
    stats = read_stats(package.folder)
    contexts = tuple((name, info.description) for name, info in manifest.contexts.items())
    systems, controls = count_systems(files)
    facts = [
        ("Queries", _format_count(stats.get("queries"))),
        ("Context sets", f"{len(contexts):,}"),
        ("Passages", _format_count(stats.get("passages"))),
        ("Systems", f"{systems:,}" if systems or not controls else ""),
        ("Controls", f"{controls:,}" if controls else ""),
        *_facts(about),
        ("Version", manifest.version),
        ("Licence", manifest.licence or "not stated"),
    ]
    text = about.description or _read_description(package.folder) or package.kind.facts.about
    return Introduction(paragraph(text), tuple(f for f in facts if f[1]), _links(about), contexts)


def introduce_all(about: Presentation, n_queries: int, n_systems: int) -> Introduction:
    """Make the introduction of a leaderboard of several benchmarks: description, facts, links."""
    facts = [("Queries", f"{n_queries:,}"), ("Systems", f"{n_systems:,}"), *_facts(about)]
    text = paragraph(about.description or "")
    return Introduction(text, tuple(f for f in facts if f[1]), _links(about))


def _format_count(count: object) -> str:
    """Format an integer with commas; empty for any other value."""
    return f"{count:,}" if isinstance(count, int) else ""


def _facts(about: Presentation) -> list[tuple[str, str]]:
    """List (name, value) of a benchmark's date, organisation, and how to submit (not as link)."""
    day = "" if about.date is None else about.date.isoformat()
    submit = "" if about.submit.startswith(_WEB) else about.submit
    return [("Date", day), ("Organisation", about.organisation or ""), (_SUBMIT, submit)]


def _links(about: Presentation) -> tuple[tuple[str, str], ...]:
    """List (name, address) of a benchmark's links, with that to instructions for submitters."""
    submit = {_SUBMIT: about.submit} if about.submit.startswith(_WEB) else {}
    return tuple({**about.links, **submit}.items())


def paragraph(text: str) -> str:
    """Render a paragraph of Markdown as HTML."""
    return str(markdown_parser().renderInline(text.strip())) if text.strip() else ""


def _read_description(folder: Path) -> str:
    """Read the first paragraph of a package's description, else of its card; may be empty."""
    for name in (BY_HAND, CARD):
        path = folder / name
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if text.startswith("---\n"):
            text = text.partition("\n---\n")[2]
        blocks = (block.strip() for block in text.split("\n\n"))
        paragraph = next((b for b in blocks if b and b[0] not in "#|<>`-*!"), "")
        if paragraph:
            return paragraph
    return ""
