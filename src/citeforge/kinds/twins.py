"""Twins: passages beside rewrites of a language model that keep content and relevance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from citeforge.engines.llm.budget import RunPlan
from citeforge.kinds.rage import RageKind
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.base import Recipe, RunOptions
from citeforge.schemas.recipes.twins import TwinsRecipe

if TYPE_CHECKING:
    from citeforge.package.package import Package


class TwinsKind(RageKind):
    """Passages with twins that a language model wrote."""

    facts = replace(
        RageKind.facts,
        name="twins",
        recipe=TwinsRecipe,
        about="passages with twins that a language model wrote",
        paper="attrieval",
        annotation=(*RageKind.facts.annotation, "twin-relevant", "twin-nonrelevant"),
    )

    def build(self, recipe: Recipe, run: RunOptions) -> Manifest:
        """Build a package of passages, each with a rewrite by an LLM (twin)."""
        from citeforge.builders.authorship.twins import build_twins

        assert isinstance(recipe, TwinsRecipe)
        return build_twins(recipe, run)

    def plan(self, recipe: Recipe, run: RunOptions) -> RunPlan:
        """Count the calls of a build to its LLM, without asking it."""
        from citeforge.builders.authorship.twins import plan_twins

        assert isinstance(recipe, TwinsRecipe)
        return plan_twins(recipe, run)

    def check_consistency(self, package: Package) -> Iterator[tuple[str, str]]:
        """Yield (table, problem) for wrong ids, contexts and LLM rewrites in a package."""
        from citeforge.builders.verify import wrong_twins

        yield from super().check_consistency(package)
        yield from wrong_twins(package)


TWINS = TwinsKind()
