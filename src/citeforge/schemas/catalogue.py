"""Rows of the catalogue: everything that a user can name, with a line of help each."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Sort = Literal[
    "sources",
    "kinds",
    "formats",
    "exports",
    "judges",
    "embedders",
    "llms",
    "writers",
    "checkers",
    "retrievers",
    "rerankers",
    "fusions",
    "perplexity",
    "segmenters",
    "graphs",
    "runners",
    "systems",
    "measures",
    "plots",
    "trackers",
    "commands",
]
"""Sorts of things that users name: plugin groups, and words behind ``citeforge list``."""


class Named(Protocol):
    """Attributes by which help, completion, lists and errors show what users can name."""

    @property
    def name(self) -> str:
        """Name that users type, up to a colon; empty for the entry that takes any other name."""

    @property
    def form(self) -> str:
        """What users type for this entry: ``name``, ``name:ARGUMENT``, or ``name[:ARGUMENT]``."""

    @property
    def help(self) -> str:
        """Description in one line, as ``citeforge list`` shows it."""


@dataclass(frozen=True)
class Row:
    """One thing that users can name.

    Attributes:
        name: part before the colon; empty for names of any other form.
        argument: part after the colon: empty for none, in brackets if it may be left out.
        help: description in one line.
        needs: module of :data:`citeforge.schemas.errors.EXTRAS` without which it cannot be made.
    """

    name: str
    argument: str
    help: str
    needs: str = field(default="", kw_only=True)

    @property
    def form(self) -> str:
        """What users type for this entry: ``name``, ``name:ARGUMENT``, or ``name[:ARGUMENT]``."""
        if self.argument.startswith("["):
            return f"{self.name}[:{self.argument[1:]}"
        return ":".join(filter(None, (self.name, self.argument)))


@dataclass(frozen=True)
class Choice(Row):
    """Row of something that is made when it is named, such as a judge.

    Attributes:
        factory: function that makes it, from the argument if it takes one, and from settings.
    """

    factory: Callable[..., Any] | None = None


def listed(rows: Iterable[Named]) -> str:
    """List names as users type them in one text: ``rules, hf:MODEL or table:FILE``."""
    *most, last = (row.form for row in rows)
    return f"{', '.join(most)} or {last}" if most else last
