"""Bundles: does it refuse, are its citations faithful, does position matter?"""

from __future__ import annotations

from dataclasses import replace

from citeforge.kinds.hook import Hook
from citeforge.kinds.rage import RAGE
from citeforge.schemas.recipes.bundles import (
    DeflectionRecipe,
    FaithfulnessRecipe,
    PositionRecipe,
)

_BUILD = "citeforge.builders.bundles.build"
_NO_CELLS = "its cells are those of another experiment"
_BUNDLE = replace(
    RAGE,
    name="rage",
    is_design=True,
    readings={
        "bundle": Hook("citeforge.evaluator.bundles.reading:BundleReading"),
        **RAGE.readings,
    },
    headline=(),
    public=(),
    blinded={},
    withheld=(),
    refusals={
        "hide-gold": "its cells tell relevant passages from others by what they leave out",
        "run authorship": _NO_CELLS,
        **RAGE.refusals,
    },
    problems=(*RAGE.problems, Hook("citeforge.builders.bundles.verify:wrong_bundle")),
)

DEFLECTION = replace(
    _BUNDLE,
    name="deflection",
    recipe=DeflectionRecipe,
    builder=Hook(f"{_BUILD}:build_deflection"),
    about="questions with all relevant passages, some of them, and none",
    default_measures=("deflection",),
)
FAITHFULNESS = replace(
    _BUNDLE,
    name="faithfulness",
    recipe=FaithfulnessRecipe,
    builder=Hook(f"{_BUILD}:build_faithfulness"),
    about="questions with their evidence, without it, and with a decoy",
    default_measures=("faithfulness",),
)
POSITION = replace(
    _BUNDLE,
    name="position",
    recipe=PositionRecipe,
    builder=Hook(f"{_BUILD}:build_position"),
    about="the same passages in every rotation",
    default_measures=("position",),
)
