"""RAGE: passages that are relevant, irrelevant, or only seem relevant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from citeforge.package.items import Item, Passage
from citeforge.package.kind_facts import KindFacts
from citeforge.package.kinds import Kind
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.base import Recipe, RunOptions
from citeforge.schemas.recipes.rage import RageRecipe
from citeforge.schemas.tables import BY_CONFIG, CONDENSED_FORMS

if TYPE_CHECKING:
    from citeforge.package.package import Package

NO_CELLS = "it follows the labels of an authorship benchmark's cells"
NO_TRIPLES = "the format is for sub-graphs, its contexts have passages"
OTHER_TASKS = "the task looks at tables that it does not have"

_HEADLINE = (
    "CiteF1@query", "CiteP", "CiteR", "CiteF1", "ALCE.CitF1", "ALCE.CitRec", "NLI.F1", "NLI.rec",
    "AutoAIS.cit", "ROUGE-Lsum.F", "BLEU",
)  # fmt: skip
"""Measures that sum up scores, the best first; later ones where others were asked for."""


class RageKind(Kind):
    """RAGE benchmarks: passages labelled for relevance; base class of the other passage kinds."""

    facts = KindFacts(
        name="rage",
        recipe=RageRecipe,
        about="passages that are relevant, irrelevant, or only seem relevant (RAGE)",
        paper="rage",
        tables=BY_CONFIG,
        readings=("passages",),
        default_measures=("rage",),
        headline=_HEADLINE,
        annotation=("audit-negative", "unsure-relevance"),
        public=("corpus", "queries"),
        blinded=("contexts",),
        withheld=("oracle", *CONDENSED_FORMS),
        whole_corpus=("corpus", "all"),
        refusals={
            "run label-blind": NO_CELLS,
            "run label-follower": NO_CELLS,
            "export": NO_TRIPLES,
            "annotate": OTHER_TASKS,
        },
    )

    def build(self, recipe: Recipe, run: RunOptions) -> Manifest:
        """Build a package of queries with relevant, irrelevant and seemingly relevant passages."""
        from citeforge.builders.rage.build import build_rage

        assert isinstance(recipe, RageRecipe)
        return build_rage(recipe, run)

    def items(self, package: Package, context: str, query_id: str | None) -> Iterator[Item]:
        """Yield queries with passages of the corpus and gold answers, for all or one query."""
        table, questions = package.context_table(context), package.questions(context)
        gold = package.gold_rows
        if query_id is not None:
            row = package.row_of[query_id]
            table, questions, gold = table.slice(row, 1), questions[row:][:1], gold[row:][:1]
        ids = pa.concat_arrays([c.flatten() for c in table["docs"].chunks]).field("corpus-id")
        texts = package.shown_texts(ids.unique().to_pylist(), context)
        for query, docs, question, right in zip(
            table["query_id"].to_pylist(), table["docs"].to_pylist(), questions, gold, strict=True
        ):
            passages = (Passage(d["corpus-id"], *texts[d["corpus-id"]], d["label"]) for d in docs)
            yield Item(query, question, context, tuple(passages), gold=right)

    def check_consistency(self, package: Package) -> Iterator[tuple[str, str]]:
        """Yield (table, problem) for wrong ids and contexts in a package."""
        from citeforge.builders.verify import wrong_contexts, wrong_ids

        yield from wrong_ids(package)
        yield from wrong_contexts(package)

    def blind(self, config: str, table: pa.Table) -> pa.Table:
        """Remove the relevance labels from a table of contexts, for publication without gold."""
        from citeforge.publishing.hidden import remove_labels

        return remove_labels(table)


RAGE = RageKind()
