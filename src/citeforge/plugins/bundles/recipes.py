"""``build deflection``, ``build faithfulness``, ``build position``."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from citeforge.schemas.models.refusals import checked_detector
from citeforge.schemas.recipes.base import Option, Recipe


class BundleRecipe(Recipe):
    """What all bundles depend on."""

    main_input: ClassVar[str] = "benchmark"

    benchmark: Annotated[Path, Option(input=True)] = Field(
        description="Package with judged passages: relevant ones, and others of the same query."
    )
    """Package that passages are taken from."""
    k: int = Field(5, ge=3)
    """Passages a cell."""
    sample: int | None = Field(None, ge=1)
    """Sample this many queries."""
    seed: int = 0
    """Seed of sample and order."""
    base: Literal[0, 1] = 1
    """Number that prompts give to the first passage."""


class DeflectionRecipe(BundleRecipe):
    """Does a system refuse where it should? Cells with all relevant passages, some, and none."""

    kind: ClassVar[str] = "deflection"

    refusals: str = "rules:en"
    """How refusals are told: rules:LANG[,LANG…] (de, en, es, fr, it, nl, pt, zh), or judge."""

    @field_validator("refusals")
    @classmethod
    def _check_detector(cls, text: str) -> str:
        return checked_detector(text)


class FaithfulnessRecipe(BundleRecipe):
    """Do citations depend on the evidence? Cells with it, without it, and with a decoy."""

    kind: ClassVar[str] = "faithfulness"


class PositionRecipe(BundleRecipe):
    """Does it matter where a passage stands? Every rotation of the same passages."""

    kind: ClassVar[str] = "position"
