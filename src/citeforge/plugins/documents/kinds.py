"""The kind ``documents``: RAGE's tables, and a table of all questions that were written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from citeforge.kinds.rage import RageKind
from citeforge.package.kind_facts import RowMark
from citeforge.plugins.documents.design import ABSENT
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.plugins.documents.tables import TABLES, question_column
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.base import Recipe, RunOptions

if TYPE_CHECKING:
    from citeforge.engines.llm.budget import RunPlan
    from citeforge.package.package import Package


class DocumentsKind(RageKind):
    """Kind of benchmarks whose questions an LLM wrote about documents."""

    facts = replace(
        RageKind.facts,
        name="documents",
        recipe=DocumentsRecipe,
        about="questions that an LLM wrote about documents, checked, with the passages that answer",
        tables={**RageKind.facts.tables, **TABLES},
        annotation=(*RageKind.facts.annotation, "questions"),
        default_measures=("rage", "alce", "abstention"),
        unanswerable=RowMark("questions", "questions", "base", ABSENT),
    )

    def build(self, recipe: Recipe, run: RunOptions) -> Manifest:
        """Build a package of questions that an LLM writes about documents."""
        from citeforge.plugins.documents.build import build_documents

        assert isinstance(recipe, DocumentsRecipe)
        return build_documents(recipe, run)

    def plan(self, recipe: Recipe, run: RunOptions) -> RunPlan:
        """Count the model calls of a build, and their cost, without sending any."""
        from citeforge.plugins.documents.plan import plan_documents

        assert isinstance(recipe, DocumentsRecipe)
        return plan_documents(recipe, run)

    def propose(self, recipe: Recipe, run: RunOptions) -> str:
        """Have an LLM write a file of question settings, to be edited; return a message on it."""
        from citeforge.plugins.documents.proposals import plan_proposal, propose_design

        assert isinstance(recipe, DocumentsRecipe)
        if run.dry_run:
            return "\n".join(plan_proposal(recipe, run).to_text_lines())
        return propose_design(recipe, run).summary()

    def check_consistency(self, package: Package) -> Iterator[tuple[str, str]]:
        """Yield (table, problem) for faults in a package, including its table of questions."""
        yield from super().check_consistency(package)
        accepted = question_column(package, "accepted")
        if [name for name, is_accepted in accepted.items() if is_accepted] != package.query_ids:
            yield "questions", "the accepted ones are not the queries"


DOCUMENTS = DocumentsKind()
