"""KaLMA: questions whose answers must cite triples of a knowledge graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from citeforge.engines.llm.budget import RunPlan
from citeforge.engines.tables import rows_of
from citeforge.kinds.rage import NO_CELLS, OTHER_TASKS
from citeforge.package.items import Item, by_query
from citeforge.package.kind_facts import KindFacts
from citeforge.package.kinds import Kind
from citeforge.schemas.kg import GENERAL, from_row, group_into_graphs
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.base import Recipe, RunOptions
from citeforge.schemas.recipes.kalma import KalmaRecipe
from citeforge.schemas.tables import KG_BY_CONFIG

if TYPE_CHECKING:
    from citeforge.evaluator.measures.declared import Measure
    from citeforge.evaluator.measures.results import ScoredSubmission
    from citeforge.evaluator.submissions.submission import Submission
    from citeforge.evaluator.submissions.tools import ScoringTools
    from citeforge.package.package import Package

_NO_PASSAGES = "its contexts have no passages"
_NO_ANSWERS = "its gold is facts, not answers; echo-relevant writes them"


class KalmaKind(Kind):
    """KaLMA benchmarks: questions whose answers must cite triples of a knowledge graph."""

    facts = KindFacts(
        name="kalma",
        recipe=KalmaRecipe,
        about="questions whose answers must cite triples of a knowledge graph (KaLMA)",
        paper="kalma",
        task_categories=("question-answering", "text-generation"),
        tables=KG_BY_CONFIG,
        shows="triples",
        readings=("triples",),
        questions="specific",
        other_questions={GENERAL: "general"},
        template="kalma",
        default_measures=("kalma",),
        headline=("KaLMA.F1@micro", "KaLMA.P@micro", "KaLMA.R@micro", "KaLMA.Align@micro"),
        annotation=(
            "kalma-authenticity",
            "kalma-naturalness",
            "kalma-significance",
            "kalma-relevance",
        ),
        refusals={
            "hide-gold": "its questions and their gold grow from a graph by fixed rules, so that "
            "anyone with the graph can build them again",
            "export": _NO_PASSAGES,
            "annotate": OTHER_TASKS,
            "run gold": _NO_ANSWERS,
            "run all-gold": _NO_ANSWERS,
            "run top-1": _NO_PASSAGES,
            "run top-1-two-sentences": _NO_PASSAGES,
            "run label-blind": NO_CELLS,
            "run label-follower": NO_CELLS,
        },
    )

    def build(self, recipe: Recipe, run: RunOptions) -> Manifest:
        """Build a package of questions composed from triples of a knowledge graph."""
        from citeforge.builders.kalma.build import build_kalma

        assert isinstance(recipe, KalmaRecipe)
        return build_kalma(recipe, run)

    def plan(self, recipe: Recipe, run: RunOptions) -> RunPlan:
        """Count the calls of a build to its LLM, without asking it."""
        from citeforge.builders.kalma.plan import plan_kalma

        assert isinstance(recipe, KalmaRecipe)
        return plan_kalma(recipe, run)

    def items(self, package: Package, context: str, query_id: str | None) -> Iterator[Item]:
        """Yield queries with sub-graphs, gold facts and facts equivalent to them."""
        table, questions = package.context_table(context), package.questions(context)
        gold = by_query(package.gold.to_pylist())
        absent = by_query(package.absent(context).to_pylist())
        for row, (query, triples) in enumerate(rows_of(table, "query_id", "triples")):
            if query_id not in (None, query):
                continue
            facts = gold.get(query, [])
            graphs = tuple(group_into_graphs([from_row(t) for t in triples]))
            # A triple that counts in several rounds is one piece of knowledge.
            knowledge = tuple(dict.fromkeys(map(from_row, facts)))
            same = {from_row(t): from_row(g) for g in facts for t in g["equivalents"]}
            yield Item(
                query, questions[row], context, graphs=graphs, knowledge=knowledge,
                equivalents=same,
                removed=tuple((from_row(t), t["why"]) for t in absent.get(query, ())),
            )  # fmt: skip

    def read_answers(
        self, reads: str, submission: Submission, measures: Sequence[Measure], tools: ScoringTools
    ) -> ScoredSubmission:
        """Compute measures of a submission's answers, which cite triples."""
        from citeforge.evaluator.measures.kalma_graphs import read_triples

        return read_triples(submission, measures, tools)

    def check_consistency(self, package: Package) -> Iterator[tuple[str, str]]:
        """Yield (table, problem) for queries, contexts and facts that do not fit together."""
        from citeforge.builders.kalma.package import wrong_kalma

        return wrong_kalma(package)

    def trace(self, package: Package, query: str) -> str:
        """Describe how a question was composed from triples, round by round."""
        from citeforge.builders.kalma.package import trace_text

        return trace_text(package, query)


KALMA = KalmaKind()
