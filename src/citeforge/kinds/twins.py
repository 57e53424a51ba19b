"""Twins: passages beside rewrites of a language model."""

from __future__ import annotations

from dataclasses import replace

from citeforge.kinds.hook import Hook
from citeforge.kinds.rage import RAGE
from citeforge.schemas.recipes import TwinsRecipe

TWINS = replace(
    RAGE,
    name="twins",
    recipe=TwinsRecipe,
    builder=Hook("citeforge.builders.twins.build:build_twins"),
    planner=Hook("citeforge.builders.twins.build:plan_twins"),
    about="passages with twins that a language model wrote",
    paper="attrieval",
    annotation=(*RAGE.annotation, "twin-relevant", "twin-nonrelevant"),
    problems=(*RAGE.problems, Hook("citeforge.builders.authorship.verify:wrong_twins")),
)
