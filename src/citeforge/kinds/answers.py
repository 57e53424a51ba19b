"""Questions with gold answers and frozen passages: HAGRID and ALCE."""

from __future__ import annotations

from dataclasses import replace

from citeforge.kinds.hook import Hook
from citeforge.kinds.rage import RAGE
from citeforge.schemas.recipes import AlceRecipe, HagridRecipe

HAGRID = replace(
    RAGE,
    name="hagrid",
    recipe=HagridRecipe,
    builder=Hook("citeforge.builders.frozen:build_hagrid"),
    about="questions with the quotes that their gold answers cite (HAGRID)",
    paper="hagrid",
    default_measures=("alce", "attributed_ir"),
    headline=("ALCE.CitF1", "ALCE.CitRec", "ALCE.CitPrec"),
)
ALCE = replace(
    RAGE,
    name="alce",
    recipe=AlceRecipe,
    builder=Hook("citeforge.builders.frozen:build_alce"),
    about="questions with retrieved documents (ALCE)",
    paper="alce",
    default_measures=("alce",),
    headline=("ALCE.CitF1", "ALCE.CitRec", "ALCE.CitPrec"),
    whole_corpus=("passages", "all"),
    problems=(*RAGE.problems, Hook("citeforge.builders.alce.verify:wrong_candidates")),
)
