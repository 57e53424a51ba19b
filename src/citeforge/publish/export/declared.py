"""What an export is: one record an export, ours or a plugin's.

A plugin declares an :class:`Export` as an entry point of the group ``citeforge.exports``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from citeforge.schemas.recipes.base import Part

DroppedFields = list[str]
"""What a layout cannot carry, one line each."""
Source = Literal["benchmarks", "passages", "triples", "scores"]


class ContextOptions(Part):
    """Options of an export with one context a question."""

    context: str | None = None
    """Context set (default: the first one)."""


@dataclass(frozen=True)
class Export:
    """A layout of other tools that benchmarks or scores are written in.

    Attributes:
        name: how ``citeforge export`` names it.
        about: what it is, in one line.
        write: makes its files: (benchmark or score file, empty folder, options), and returns what
            the layout cannot carry. Raises InputError.
        options: record of its options; the command line makes its flags of the fields.
        of: what it is made of: every benchmark, those that show passages, those that show triples,
            or a score file or a folder of them.
    """

    name: str
    about: str
    write: Callable[[Path, Path, Any], DroppedFields]
    options: type[Part] = Part
    of: Source = "passages"
