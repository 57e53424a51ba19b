"""Mean ranks of systems over several benchmarks, with simultaneous intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.statistics.estimates import Floats
from citeforge.evaluator.statistics.ranks import LEVEL, rank_intervals


@dataclass(frozen=True)
class Column:
    """The values of all systems on one benchmark, higher is better.

    Attributes:
        values: mean of each system; None where it has none.
        per_query: values of each system by query, NaN where undefined; None where it has none.
        clusters: cluster of each query, where questions repeat.
    """

    values: tuple[float | None, ...]
    per_query: tuple[Floats | None, ...]
    clusters: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True)
class MeanRank:
    """Mean of a system's ranks over all benchmarks, from 1.

    Attributes:
        mean: over all benchmarks.
        low: lower end of the 95 % interval.
        high: upper end.
        n_missing: benchmarks where the system has no value.
    """

    mean: float
    low: float
    high: float
    n_missing: int


def mean_ranks(columns: Sequence[Column]) -> list[MeanRank]:
    """Mean rank of each system, and what it may be; all at once with 95 % confidence.

    Equal values share the mean of their places (Demšar 2006, section 3.2.2). A system without a
    value on a benchmark is worse there than all that have one, and shares the last places with the
    others that have none: to leave out a hard benchmark gains nothing.

    On each of the B benchmarks the rank intervals of :func:`~citeforge.evaluator.statistics.ranks.
    rank_intervals` hold together with probability 1 - 0.05/B at least, so that (Bonferroni) with
    95 % confidence all of them hold on all benchmarks, and then each mean rank lies between the
    means of their ends. Queries are what is drawn: the benchmarks are those that there are. Where a
    measure is no mean of its values by query, an interval is widened to the rank by value.

    Args:
        columns: one a benchmark, the same systems in the same order in each.
    """
    from scipy.stats import rankdata

    if not columns:
        return []
    size = len(columns[0].values)
    places, lows, highs = (np.empty((len(columns), size)) for _ in range(3))
    for at, column in enumerate(columns):
        known = np.array([v is not None for v in column.values], bool)
        n_known = int(known.sum())
        # Who is missing shares the places behind all others, which is known for certain.
        places[at] = lows[at] = highs[at] = (n_known + 1 + size) / 2
        values = [v for v in column.values if v is not None]
        places[at, known] = rankdata([-v for v in values]) if values else 0.0
        found = rank_intervals(column.per_query, column.clusters, LEVEL / len(columns))
        untold = sum(bool(k) and f is None for k, f in zip(known, found, strict=True))
        for i in np.flatnonzero(known):
            # Nothing by query tells the untold from others: they may have any place.
            low, high = found[i] or (1, n_known - untold)
            lows[at, i] = min(low, places[at, i])
            highs[at, i] = max(high + untold, places[at, i])
    missing = [sum(c.values[i] is None for c in columns) for i in range(size)]
    means = (m.mean(axis=0).tolist() for m in (places, lows, highs))
    return [MeanRank(*row) for row in zip(*means, missing, strict=True)]
