"""HAGRID and ALCE: questions with gold answers, and quotes or retrieved documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from citeforge.kinds.rage import RageKind
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.answers import AlceRecipe, HagridRecipe
from citeforge.schemas.recipes.base import Recipe, RunOptions

if TYPE_CHECKING:
    from citeforge.package.package import Package

_CITATIONS = (
    "ALCE.CitF1", "ALCE.CitRec", "ALCE.CitPrec", "CiteF1@query", "CiteF1", "NLI.F1", "NLI.rec",
    "AutoAIS.cit", "ROUGE-Lsum.F", "BLEU",
)  # fmt: skip
"""Measures that sum up scores, the best first; without a judge those of gold answers."""


class HagridKind(RageKind):
    """Questions with the quotes that their gold answers cite."""

    facts = replace(
        RageKind.facts,
        name="hagrid",
        recipe=HagridRecipe,
        about="questions with the quotes that their gold answers cite (HAGRID)",
        paper="hagrid",
        default_measures=("alce", "attributed_ir"),
        headline=_CITATIONS,
    )

    def build(self, recipe: Recipe, run: RunOptions) -> Manifest:
        """Build a package of HAGRID's questions, with their quotes as contexts."""
        from citeforge.builders.alce.frozen import build_hagrid

        assert isinstance(recipe, HagridRecipe)
        return build_hagrid(recipe, run)


class AlceKind(RageKind):
    """Questions with retrieved documents."""

    facts = replace(
        RageKind.facts,
        name="alce",
        recipe=AlceRecipe,
        about="questions with retrieved documents (ALCE)",
        paper="alce",
        default_measures=("alce",),
        headline=_CITATIONS,
        whole_corpus=("passages", "all"),
    )

    def build(self, recipe: Recipe, run: RunOptions) -> Manifest:
        """Build a package of questions with the documents retrieved for them."""
        from citeforge.builders.alce.frozen import build_alce

        assert isinstance(recipe, AlceRecipe)
        return build_alce(recipe, run)

    def check_consistency(self, package: Package) -> Iterator[tuple[str, str]]:
        """Yield (table, problem) for wrong ids, contexts and candidates in a package."""
        from citeforge.builders.verify import wrong_candidates

        yield from super().check_consistency(package)
        yield from wrong_candidates(package)


HAGRID, ALCE = HagridKind(), AlceKind()
