"""Reward of one answer to a query of a benchmark, for training loops; takes microseconds."""

from pathlib import Path

from citeforge.evaluator.measures.rage_citations import score_strict
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.library.benchmarks import load
from citeforge.plugins.training.rewards import RewardMeasure, get_reward_function
from citeforge.schemas.errors import UnknownValueError, UsageError


class CitationReward:
    """Rewards single answers by their citations of a benchmark's contexts.

    ``reward(query_id, output)`` is in [0, 1]; nothing is read from disk after the first call. A
    query without a relevant passage in its context has no recall: it is rewarded with its
    precision.

    Attributes:
        benchmark: benchmark of the queries.
        context: its context set that answers cite.
        measure: measure of the reward.
    """

    def __init__(
        self,
        benchmark: Benchmark | str | Path,
        measure: RewardMeasure = "CiteF1",
        *,
        context: str | None = None,
    ) -> None:
        """Load a benchmark's contexts and relevance judgements; raise an error without these.

        Args:
            benchmark: opened, a folder, or ``hub:ORG/NAME``.
            measure: citation F1, precision or recall of an answer, or the mean of the last two.
            context: context set; None for the only one.

        Raises:
            UnknownValueError: no such measure or context set.
            UsageError: several context sets and none named, contexts of triples, or passages
                without relevance judgements.
        """
        self._reward = get_reward_function(measure)
        self.benchmark = load(benchmark)
        contexts = self.benchmark.contexts
        if context is None and len(contexts) > 1:
            raise UsageError(
                f"the benchmark has several context sets; give context= {contexts}",
                code="missing-option",
            )
        self.context = contexts[0] if context is None else context
        self.measure = measure
        self._table = self.benchmark.context(self.context)
        if not self._table.is_labelled:
            raise UsageError(
                f"context {self.context!r}: its passages have no relevance judgements, so that "
                "citations cannot be rewarded",
                code="no-relevant",
            )

    def __call__(self, query_id: str, output: str) -> float:
        """Compute the reward of an answer to a query, in [0, 1].

        Raises:
            UnknownValueError: the benchmark has no such query.
        """
        row, table = self.benchmark.row_of.get(query_id), self._table
        if row is None:
            raise UnknownValueError("query", query_id, self.benchmark.query_ids)
        grammar = self.benchmark.grammar
        return self._reward(
            score_strict(grammar, output, table.sizes[row], table.relevant[row], {})
        )
