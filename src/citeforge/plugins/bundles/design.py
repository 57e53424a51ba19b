"""Bundles: experiments whose conditions (cells) are context sets of one package; their recipes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.base import Option, Recipe
from citeforge.schemas.recipes.groups import QUESTIONS, ROWS
from citeforge.schemas.record import FrozenRecord
from citeforge.schemas.refusals import checked_detector

DEFLECTION = ANSWERABLE, PARTIAL, RELATED = ("answerable", "partial", "related")
"""Cells of deflection: all relevant passages, some of them, none (related ones only)."""
FAITHFULNESS = ORIGINAL, REMOVED, DECOY = ("original", "removed", "decoy")
"""Cells of faithfulness: with the evidence, without it, and with its words in another passage."""


def rotation_name(shift: int) -> str:
    """Name the context set in which passages are rotated by ``shift`` positions."""
    return f"rotation_{shift}"


def cell_names(kind: str, k: int) -> tuple[str, ...]:
    """List the context sets of a kind of bundle whose contexts have ``k`` passages."""
    rotations = tuple(map(rotation_name, range(k)))
    return {"deflection": DEFLECTION, "faithfulness": FAITHFULNESS, "position": rotations}[kind]


class BundleRecipe(Recipe):
    """Fields that the recipes of all bundles share."""

    main_input: ClassVar[str] = "benchmark"

    benchmark: Annotated[Path, Option(input=True)] = Field(
        description="Package with judged passages: relevant ones, and others of the same query."
    )
    """Package that passages are taken from, or hub:ORG/NAME[@REVISION]."""
    k: int = Field(5, ge=3)
    """Passages per cell."""
    sample: Annotated[int | None, QUESTIONS] = Field(None, ge=1)
    """Sample this many queries."""
    seed: int = 0
    """Seed of sample and order."""
    base: Annotated[Literal[0, 1], ROWS] = 1
    """Number that prompts give to the first passage."""


class DeflectionRecipe(BundleRecipe):
    """Does a system refuse where it should? Cells with all relevant passages, some, and none."""

    kind: ClassVar[str] = "deflection"

    refusals: Annotated[str, AfterValidator(checked_detector)] = "rules:en"
    """Detector of refusals: rules:LANG[,LANG…] (de, en, es, fr, it, nl, pt, zh), or judge."""


class FaithfulnessRecipe(BundleRecipe):
    """Do citations depend on the evidence? Cells with it, without it, and with a decoy."""

    kind: ClassVar[str] = "faithfulness"


class PositionRecipe(BundleRecipe):
    """Does it matter where a passage stands? Every rotation of the same passages."""

    kind: ClassVar[str] = "position"


def first_difference(ids: Sequence[str], other_ids: Sequence[str]) -> int:
    """Find the first position at which two contexts of a query show different passages."""
    return next(i for i, (a, b) in enumerate(zip(ids, other_ids, strict=True)) if a != b)


class Bundle(FrozenRecord):
    """Design of a bundle, from ``bundle`` in the manifest's ``config``.

    Attributes:
        name: the kind of benchmark.
        k: passages per cell.
        cells: context sets, in order.
        refusals: how refusals are detected (deflection).
    """

    name: str
    k: int = Field(ge=2)
    cells: tuple[str, ...] = Field(min_length=2)
    refusals: str | None = None


def parse_bundle(manifest: Manifest) -> Bundle:
    """Read a bundle's kind, and size and names of its context sets, from its manifest.

    Raises:
        KeyError: the package is no bundle.
    """
    return Bundle.model_validate(manifest.config["bundle"])
