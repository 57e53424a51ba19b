"""Bundles: experiments whose cells a package freezes, one question each."""

from collections.abc import Sequence

from pydantic import Field

from citeforge.schemas.benchmarks.manifest import Manifest
from citeforge.schemas.record import FrozenRecord

DEFLECTION = ANSWERABLE, PARTIAL, RELATED = ("answerable", "partial", "related")
"""Cells of deflection: all relevant passages, some of them, none (related ones only)."""
FAITHFULNESS = ORIGINAL, REMOVED, DECOY = ("original", "removed", "decoy")
"""Cells of faithfulness: with the evidence, without it, and with its words in another passage."""


def rotation_name(shift: int) -> str:
    """Name of a cell of position: the same passages, moved on by so many places."""
    return f"rotation_{shift}"


def cells_of(kind: str, k: int) -> tuple[str, ...]:
    """Cells of a bundle that shows ``k`` passages a cell."""
    rotations = tuple(map(rotation_name, range(k)))
    return {"deflection": DEFLECTION, "faithfulness": FAITHFULNESS, "position": rotations}[kind]


def only_difference(before: Sequence[str], after: Sequence[str]) -> int:
    """The place at which two cells of a query show another passage."""
    return next(i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b)


class Bundle(FrozenRecord):
    """What a bundle consists of; stands in the manifest's ``config`` under ``bundle``.

    Attributes:
        name: the kind of benchmark.
        k: passages a cell shows, where enough were found.
        cells: context sets, in order.
        refusals: how refusals are detected (deflection).
    """

    name: str
    k: int = Field(ge=2)
    cells: tuple[str, ...] = Field(min_length=2)
    refusals: str | None = None


def bundle_of(manifest: Manifest) -> Bundle:
    """The bundle that a package was built with.

    Raises:
        KeyError: it is no bundle.
    """
    return Bundle.model_validate(manifest.config["bundle"])
