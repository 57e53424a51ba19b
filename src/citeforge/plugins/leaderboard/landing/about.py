"""What the pages say of a benchmark: what it is, how large, by whom, and where more stands."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, field_validator

from citeforge.evaluator.reports.rows import counts_of
from citeforge.package.manifest import BY_HAND, CARD, read_stats
from citeforge.package.package import Package
from citeforge.plugins.leaderboard.landing.definitions import markdown
from citeforge.publish.hub import parse_hub
from citeforge.schemas.recipes.base import Part
from citeforge.schemas.scores import ScoreFile


class Presentation(Part):
    """What ``leaderboard.yaml`` says of a benchmark, or of the whole leaderboard."""

    description: str | None = Field(default=None, min_length=1)
    """What it is, in a paragraph (default: that of the package's card)."""
    organisation: str | None = Field(default=None, min_length=1)
    """Who keeps it (default: the organisation of hub:ORG/NAME)."""
    date: datetime.date | None = None
    """When it was made, as 2026-11-23."""
    links: dict[str, str] = Field(default_factory=dict)
    """Names to addresses (https://…), such as those of paper and code."""

    @field_validator("date", mode="before")
    @classmethod
    def _is_a_day(cls, day: object) -> object:
        try:
            return day if day is None else datetime.date.fromisoformat(str(day))
        except ValueError as error:
            raise ValueError(f"{day!r} is no day; write it as 2026-11-23") from error

    @field_validator("links")
    @classmethod
    def _are_addresses(cls, links: dict[str, str]) -> dict[str, str]:
        for name, address in links.items():
            if not address.startswith(("https://", "http://")):
                raise ValueError(f"{name}: {address!r} is no address; begin with https://")
        return links

    def of_hub(self, spec: str) -> "Presentation":
        """The same, completed by the place of a benchmark on the Hub; nothing for a folder."""
        place = parse_hub(spec)
        if place is None:
            return self
        repo, _ = place
        links = {**self.links, "Hugging Face Hub": f"https://huggingface.co/datasets/{repo}"}
        organisation = self.organisation or repo.partition("/")[0]
        return self.model_copy(update={"organisation": organisation, "links": links})


@dataclass(frozen=True)
class Introduction:
    """The head of a landing page.

    Attributes:
        html: the paragraph; its markup is ours or Markdown's.
        facts: names and values.
        links: names and addresses.
        contexts: context sets and what they hold.
    """

    html: str
    facts: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]
    contexts: tuple[tuple[str, str], ...] = ()


def introduction(package: Package, about: Presentation, files: Sequence[ScoreFile]) -> Introduction:
    """What stands over the ranking of a benchmark."""
    manifest = package.manifest
    stats = read_stats(package.folder)
    contexts = tuple((name, info.description) for name, info in manifest.contexts.items())
    systems, references = counts_of(files)
    facts = [
        ("Queries", _number(stats.get("queries"))),
        ("Context sets", f"{len(contexts):,}"),
        ("Passages", _number(stats.get("passages"))),
        ("Systems", f"{systems:,}" if systems or not references else ""),
        ("References", f"{references:,}" if references else ""),
        *_facts(about),
        ("Version", manifest.version),
        ("Licence", manifest.licence or "not stated"),
    ]
    text = about.description or _of_card(package.folder) or package.kind.about
    return Introduction(
        paragraph(text), tuple(f for f in facts if f[1]), tuple(about.links.items()), contexts
    )


def introduce_all(about: Presentation, n_queries: int, n_systems: int) -> Introduction:
    """What stands over the matrix of a leaderboard of several benchmarks."""
    facts = [("Queries", f"{n_queries:,}"), ("Systems", f"{n_systems:,}"), *_facts(about)]
    links = tuple(about.links.items())
    return Introduction(paragraph(about.description or ""), tuple(f for f in facts if f[1]), links)


def _number(count: object) -> str:
    return f"{count:,}" if isinstance(count, int) else ""


def _facts(about: Presentation) -> list[tuple[str, str]]:
    day = "" if about.date is None else about.date.isoformat()
    return [("Date", day), ("Organisation", about.organisation or "")]


def paragraph(text: str) -> str:
    """HTML of a paragraph in Markdown."""
    return str(markdown().renderInline(text.strip())) if text.strip() else ""


def _of_card(folder: Path) -> str:
    """The first paragraph of what was written by hand, else of the card; empty without one."""
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
