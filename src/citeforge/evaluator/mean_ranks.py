"""Mean ranks of systems over several benchmarks, with simultaneous intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.ranks import rank_intervals
from citeforge.evaluator.statistics.estimates import Floats
from citeforge.evaluator.statistics.intervals import ALPHA


@dataclass(frozen=True)
class Column:
    """The values of all systems on one benchmark; higher is better.

    Attributes:
        values: value of each system; None without one.
        per_query: each system's values by query, NaN where undefined; None without any.
        clusters: cluster of each query; None where no question repeats.
    """

    values: tuple[float | None, ...]
    per_query: tuple[Floats | None, ...]
    clusters: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True)
class MeanRank:
    """Mean of a system's ranks over all benchmarks, from 1.

    Attributes:
        mean: mean rank over all benchmarks.
        low: lower end of its 95 % interval.
        high: upper end of its 95 % interval.
        n_missing: benchmarks where the system has no value.
    """

    mean: float
    low: float
    high: float
    n_missing: int


def mean_ranks(benchmark_values: Sequence[Column]) -> list[MeanRank]:
    """Compute each system's mean rank over benchmarks, with simultaneous 95 % intervals.

    Equal values share the mean of their ranks (Demšar 2006, section 3.2.2). A system without a
    value on a benchmark is worse there than all that have one, and shares the last ranks with the
    others that have none: to leave out a hard benchmark gains nothing.

    On each of the B benchmarks the intervals of :func:`rank_intervals` hold together with
    probability 1 - 0.05/B at least, so that (Bonferroni) with 95 % confidence all of them hold on
    all benchmarks, and then each mean rank lies between the means of their ends. Queries are what
    is drawn: the benchmarks are those that there are. Where a measure is no mean of its values by
    query, an interval is widened to the rank by value.

    Args:
        benchmark_values: one per benchmark, the same systems in the same order in each.
    """
    from scipy.stats import rankdata

    if not benchmark_values:
        return []
    size = len(benchmark_values[0].values)
    ranks, lows, highs = (np.empty((len(benchmark_values), size)) for _ in range(3))
    for at, column in enumerate(benchmark_values):
        values = np.array(column.values, np.float64)  # NaN for None
        defined = ~np.isnan(values)
        n_known = int(defined.sum())
        # Systems without a value share the last ranks for certain.
        ranks[at] = lows[at] = highs[at] = (n_known + 1 + size) / 2
        ranks[at, defined] = rankdata(-values[defined])
        intervals = rank_intervals(column.per_query, column.clusters, ALPHA / len(benchmark_values))
        n_unknown = sum(bool(k) and f is None for k, f in zip(defined, intervals, strict=True))
        for i in np.flatnonzero(defined):
            # Systems without values by query may have any rank.
            low, high = intervals[i] or (1, n_known - n_unknown)
            lows[at, i] = min(low, ranks[at, i])
            highs[at, i] = max(high + n_unknown, ranks[at, i])
    missing = [sum(c.values[i] is None for c in benchmark_values) for i in range(size)]
    means = (m.mean(axis=0).tolist() for m in (ranks, lows, highs))
    return [MeanRank(*row) for row in zip(*means, missing, strict=True)]
