"""Mean paired difference of two systems, with its interval and what makes it wide.

The interval over queries is Gaffke's
(:mod:`~citeforge.evaluator.statistics.bounds`); runs and verdicts widen it.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.statistics.bounds import mean_interval
from citeforge.evaluator.statistics.changes import change, differs
from citeforge.evaluator.statistics.estimates import (
    Floats,
    clustered,
    column,
    estimate_value,
    mean_sample,
)
from citeforge.evaluator.statistics.intervals import (
    ANYTHING,
    Interval,
    Range,
    half_of_difference,
    quantile,
)
from citeforge.schemas.scores import MeasureScore

POWER_80 = 0.8416212335729143
"""Quantile of the normal distribution for 80 % power."""


@dataclass(frozen=True)
class PairedChange:
    """Changes of a measure from one system to another, as displayed.

    Attributes:
        tested: changes whose signs a permutation test flips, of queries or of clusters; NaN where
            undefined.
        values: values of queries or clusters whose mean is the difference.
        largest: largest possible change of one of ``values``.
        value: mean difference.
        stderr: its standard error over queries or clusters.
        by_queries: 95 % interval over queries.
        by_runs: how far runs and verdicts alone could move it.
        half: half of the Student's t interval, over queries, runs and verdicts.
        n: queries that define both.
        n_changed: queries whose value differs.
        n_moved: entries of ``tested`` with such a query.
    """

    tested: Floats
    values: Floats
    largest: float
    value: float
    stderr: float
    by_queries: Interval
    by_runs: float
    half: float
    n: int
    n_changed: int
    n_moved: int

    @property
    def interval(self) -> Interval:
        """95 % interval over queries, and over runs and verdicts where there are several."""
        low, high = (math.hypot(end - self.value, self.by_runs) for end in self.by_queries)
        return self.value - low, self.value + high

    @property
    def detectable(self) -> float:
        """Smallest true difference whose interval excludes 0 with 80 % power."""
        low, high = self.by_queries
        return max(self.value - low, high - self.value) + POWER_80 * self.stderr


def paired_change(
    a: MeasureScore, b: MeasureScore, value_range: Range = ANYTHING,
    clusters: npt.NDArray[np.int64] | None = None,
) -> PairedChange:  # fmt: skip
    """Compute the mean difference of two systems on one measure, and its interval.

    Args:
        a: score of the first system.
        b: score of the second system.
        value_range: raw values that the measure can have.
        clusters: cluster of each query, if questions repeat.
    """
    d = change(a, b)
    moves = differs(a, b)
    n, n_changed = int((~np.isnan(d)).sum()), int(moves.sum())
    estimate = estimate_value(mean_sample(d[None]), clusters)
    value, stderr, nan = estimate.value, estimate.stderr, math.nan
    largest = _largest_change(a, b, value_range)
    if clusters is None:
        tested, values, n_moved = d, d[~np.isnan(d)], n_changed
    else:
        sums, sizes = clustered(mean_sample(d[None]), clusters).sums[0].T
        tested, n_moved = np.where(sizes > 0, sums, np.nan), len(np.unique(clusters[moves]))
        weight, sums = sizes[sizes > 0] / np.mean(sizes[sizes > 0]), sums[sizes > 0]
        values = value + sums / np.mean(sizes[sizes > 0]) - value * weight
        largest *= float(weight.max(initial=1.0))
    if math.isnan(stderr):
        return PairedChange(
            tested, values, largest, value, nan, (nan, nan), nan, nan, n, n_changed, n_moved
        )
    by_queries = mean_interval(values, -largest, largest)
    half = quantile(len(values) - 1) * stderr
    by_runs, sides = 0.0, [m.variance for m in (a, b) if m.variance is not None]
    if sides:
        half, alone = half_of_difference(stderr, len(values), sides), half
        by_runs = math.sqrt(max(0.0, half**2 - alone**2))
    return PairedChange(
        tested, values, largest, value, stderr, by_queries, by_runs, half, n, n_changed, n_moved
    )


def _largest_change(a: MeasureScore, b: MeasureScore, value_range: Range) -> float:
    """Compute the largest possible change of a query's value, as displayed.

    Where a measure has no largest value, the largest that either system has counts as one.
    """
    seen = np.concatenate([column(m.per_query) for m in (a, b)])
    seen = seen[~np.isnan(seen)]
    if not len(seen):
        return 0.0
    low = value_range.low if math.isfinite(value_range.low) else float(seen.min())
    high = value_range.high if math.isfinite(value_range.high) else float(seen.max())
    return a.scale * (max(high, float(seen.max())) - min(low, float(seen.min())))
