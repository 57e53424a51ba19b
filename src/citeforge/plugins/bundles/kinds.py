"""The kinds of bundles: ``deflection``, ``faithfulness`` and ``position``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from citeforge.kinds.rage import RageKind
from citeforge.plugins.bundles.design import (
    BundleRecipe,
    DeflectionRecipe,
    FaithfulnessRecipe,
    PositionRecipe,
)
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.base import Recipe, RunOptions

if TYPE_CHECKING:
    from citeforge.evaluator.measures.declared import Measure
    from citeforge.evaluator.measures.results import ScoredSubmission
    from citeforge.evaluator.submissions.submission import Submission
    from citeforge.evaluator.submissions.tools import ScoringTools
    from citeforge.package.package import Package


class BundleKind(RageKind):
    """Kind of a bundle: its cells (context sets) show the same passages, with changes."""

    facts = replace(
        RageKind.facts,
        is_design=True,
        readings=("bundle", *RageKind.facts.readings),
        headline=(),
        public=(),
        blinded=(),
        withheld=(),
        refusals={
            "hide-gold": "its cells tell relevant passages from others by what they leave out",
            "run authorship": "its cells are those of another experiment",
            **RageKind.facts.refusals,
        },
    )

    def build(self, recipe: Recipe, run: RunOptions) -> Manifest:
        """Build a bundle: a benchmark's queries under several experimental conditions."""
        from citeforge.plugins.bundles.build import build_bundle

        assert isinstance(recipe, BundleRecipe)
        return build_bundle(recipe, run)

    def read_answers(
        self, reads: str, submission: Submission, measures: Sequence[Measure], tools: ScoringTools
    ) -> ScoredSubmission:
        """Score a submission by measures that compare its answers under a bundle's conditions."""
        from citeforge.plugins.bundles.scoring import score_bundle

        return score_bundle(submission, measures, tools)

    def check_consistency(self, package: Package) -> Iterator[tuple[str, str]]:
        """Yield (file, problem) for errors in a bundle's package, wrong passages included."""
        from citeforge.plugins.bundles.build import find_problems

        yield from super().check_consistency(package)
        yield from find_problems(package)


class DeflectionKind(BundleKind):
    """Does a system refuse where it should?"""

    facts = replace(
        BundleKind.facts,
        name="deflection",
        recipe=DeflectionRecipe,
        about="questions with all relevant passages, some of them, and none",
        default_measures=("deflection",),
    )


class FaithfulnessKind(BundleKind):
    """Does a system cite what it used?"""

    facts = replace(
        BundleKind.facts,
        name="faithfulness",
        recipe=FaithfulnessRecipe,
        about="questions with their evidence, without it, and with a decoy",
        default_measures=("faithfulness",),
    )


class PositionKind(BundleKind):
    """Does it matter where a passage stands?"""

    facts = replace(
        BundleKind.facts,
        name="position",
        recipe=PositionRecipe,
        about="the same passages in every rotation",
        default_measures=("position",),
    )


DEFLECTION, FAITHFULNESS, POSITION = DeflectionKind(), FaithfulnessKind(), PositionKind()
