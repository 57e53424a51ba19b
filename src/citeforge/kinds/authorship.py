"""Authorship: the same passages under labels that state different authors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from citeforge.kinds.twins import TwinsKind
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.authorship import AuthorshipRecipe
from citeforge.schemas.recipes.base import Recipe, RunOptions

if TYPE_CHECKING:
    from citeforge.evaluator.measures.declared import Measure
    from citeforge.evaluator.measures.results import ScoredSubmission
    from citeforge.evaluator.submissions.submission import Submission
    from citeforge.evaluator.submissions.tools import ScoringTools
    from citeforge.package.items import Labelling
    from citeforge.package.package import Package


class AuthorshipKind(TwinsKind):
    """Authorship benchmarks: cells that state different authors for the same passages."""

    facts = replace(
        TwinsKind.facts,
        name="authorship",
        recipe=AuthorshipRecipe,
        about="the same passages under every label of authorship",
        is_design=True,
        readings=("cells", *TwinsKind.facts.readings),
        template="authorship",
        default_measures=("authorship",),
        headline=(),
        public=(),
        blinded=(),
        withheld=(),
        refusals={
            "hide-gold": "its cells differ in who wrote the relevant passages and what is said of "
            "that, so that every label can be read from two cells",
            **{k: v for k, v in TwinsKind.facts.refusals.items() if not k.startswith("run")},
        },
    )

    def build(self, recipe: Recipe, run: RunOptions) -> Manifest:
        """Build a package with one context set per experimental condition (cell)."""
        from citeforge.builders.authorship.build import build_authorship

        assert isinstance(recipe, AuthorshipRecipe)
        return build_authorship(recipe, run)

    def read_answers(
        self, reads: str, submission: Submission, measures: Sequence[Measure], tools: ScoringTools
    ) -> ScoredSubmission:
        """Compute measures over a submission's answers to all experimental conditions together."""
        from citeforge.evaluator.measures.authorship_answers import read_design

        return read_design(submission, measures, tools)

    def check_consistency(self, package: Package) -> Iterator[tuple[str, str]]:
        """Yield (table, problem) for wrong rewrites, contexts and experimental conditions."""
        from citeforge.builders.verify import wrong_cells

        yield from super().check_consistency(package)
        yield from wrong_cells(package)

    def labelling(self, package: Package, context: str) -> Labelling:
        """Read the author labels that an experimental condition's prompts put on passages."""
        from citeforge.builders.authorship.labels import read_labelling

        return read_labelling(package, context)


AUTHORSHIP = AuthorshipKind()
