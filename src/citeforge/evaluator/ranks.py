"""Ranks of systems with simultaneous intervals (Mogstad, Romano, Shaikh & Wilhelm 2024)."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from citeforge.engines.shown import DASH
from citeforge.evaluator.measures.registry import direction
from citeforge.evaluator.statistics.changes import jackknife_pseudovalues
from citeforge.evaluator.statistics.estimates import Floats
from citeforge.evaluator.statistics.intervals import ALPHA
from citeforge.evaluator.statistics.significance import holm
from citeforge.schemas.scores import MeasureScore, ScoreFile

RankInterval = tuple[int, int]


def rank_intervals(
    system_values: Sequence[Floats | None],
    clusters: npt.NDArray[np.int64] | None = None,
    level: float = ALPHA,
) -> list[RankInterval | None]:
    """Compute each system's range of possible ranks; all ranges hold together with 95 %.

    All pairs of systems are compared by paired t-tests over the queries that both define, adjusted
    by Holm over the pairs, so that the intervals hold at once for any number of systems. A system's
    best rank is one more than the number of systems that are certainly better; its worst rank is
    the number of systems less those that are certainly worse.

    Args:
        system_values: values of each system by query, higher is better, NaN where undefined; None
            for a system without any, which has no rank.
        clusters: cluster of each query, where questions repeat.
        level: probability, at most, that any of the intervals misses its rank.
    """
    rows = [i for i, c in enumerate(system_values) if c is not None and not np.isnan(c).all()]
    intervals: list[RankInterval | None] = [None] * len(system_values)
    if not rows:
        return intervals
    better = better_for_certain([system_values[i] for i in rows], clusters, level)  # type: ignore[misc]
    for i, ranks in zip(rows, ranks_from(better), strict=True):
        intervals[i] = ranks
    return intervals


def better_for_certain(
    system_values: Sequence[Floats],
    clusters: npt.NDArray[np.int64] | None = None,
    level: float = ALPHA,
) -> npt.NDArray[np.bool_]:
    """Test all pairs of systems; True where the row's system is significantly better.

    Paired t-tests, adjusted by Holm over all pairs.

    Args:
        system_values: values of each system by query, higher is better, NaN where undefined.
        clusters: cluster of each query, if questions repeat.
        level: most probability of any wrong decision.
    """
    values = np.stack([np.asarray(column, np.float64) for column in system_values], axis=1)
    from scipy.special import stdtr

    t, df = _paired_t(values, clusters)
    return better_by_tests(t, 2 * stdtr(df, -np.abs(t)), level)


def ranks_from(better: npt.NDArray[np.bool_]) -> list[RankInterval]:
    """Compute the rank intervals of systems from a matrix of which is better than which.

    Args:
        better: whether the row's system is certainly better than the column's.
    """
    size = len(better)
    above, below = better.sum(axis=0).tolist(), better.sum(axis=1).tolist()
    return [(1 + a, size - b) for a, b in zip(above, below, strict=True)]


def comparable_entries(
    files: Sequence[ScoreFile], entries: Sequence[MeasureScore | None]
) -> list[bool]:
    """Decide which values may be ranked: those with the signature and queries of most systems.

    Args:
        files: score files.
        entries: score of each file on one measure; None if it has none.

    Returns:
        Per file: whether it shares signature and queries with more than half of the files that have
        a value; False for controls.
    """
    recipes = [
        None if e is None or e.value is None or f.is_control else (e.signature, tuple(f.query_ids))
        for f, e in zip(files, entries, strict=True)
    ]
    present = [r for r in recipes if r is not None]
    if not present:
        return [False] * len(files)
    recipe, count = Counter(present).most_common(1)[0]
    return [2 * count > len(present) and r == recipe for r in recipes]


def rank_systems(
    files: Sequence[ScoreFile], entries: Sequence[MeasureScore | None]
) -> list[RankInterval | None]:
    """Compute the range of ranks that each system may have by one measure; None if unranked.

    Args:
        files: score files.
        entries: score of each file on the measure; None if it has none that may be compared.

    Returns:
        An interval per system; None without a value, if the measure has no better direction, if
        queries or signature differ from those of most systems, and for controls.
    """
    ranked = [
        comparable and e is not None and direction(e.name) is not None
        for comparable, e in zip(comparable_entries(files, entries), entries, strict=True)
    ]
    if not any(ranked):
        return [None] * len(files)
    columns = [
        towards_better(e) if here and e is not None else None
        for here, e in zip(ranked, entries, strict=True)
    ]  # fmt: skip
    clusters = files[ranked.index(True)].clusters
    return rank_intervals(columns, np.array(clusters) if clusters else None)


def towards_better(entry: MeasureScore) -> Floats:
    """Get a score's values by query, negated if lower values are better."""
    values = jackknife_pseudovalues(entry)
    return -values if direction(entry.name) is False else values


def ranks_by_measure(files: Sequence[ScoreFile]) -> dict[str, list[RankInterval | None]]:
    """Compute the rank intervals of all systems (:func:`rank_systems`), by measure."""
    by_file = [{m.name: m for m in f.measures} for f in files]
    names = dict.fromkeys(m.name for f in files for m in f.measures)
    return {name: rank_systems(files, [entries.get(name) for entries in by_file]) for name in names}


def _paired_t(values: Floats, clusters: npt.NDArray[np.int64] | None) -> tuple[Floats, Floats]:
    """Compute (t, degrees of freedom) of all pairs' paired t-tests, shapes (systems, systems).

    Args:
        values: values by query and system, NaN where undefined; t is of row minus column.
        clusters: cluster of each query, if questions repeat.
    """
    here = ~np.isnan(values)
    middle = np.nanmean(values, axis=0)
    # Centred on each system's mean, so that the sums of squares keep their precision.
    d = np.where(here, values - middle, 0.0)
    m = here.astype(np.float64)
    n = np.einsum("qi,qj->ij", m, m)
    total = np.einsum("qi,qj->ij", d, m)
    gap = total - total.T + n * (middle[:, None] - middle)
    if clusters is not None:
        return _clustered_t(values, clusters, gap)
    squares = np.einsum("qi,qj->ij", d * d, m)
    moved = total - total.T
    shift = np.divide(moved, n, out=np.zeros_like(n), where=n > 0)
    spread = squares + squares.T - 2 * np.einsum("qi,qj->ij", d, d) - n * shift**2
    return _t_statistics(gap, spread, n)


def _clustered_t(
    values: Floats, clusters: npt.NDArray[np.int64], difference_sums: Floats
) -> tuple[Floats, Floats]:
    """Compute (t, degrees of freedom) of paired t-tests on sums over each cluster of queries.

    Args:
        values: values by query and system, NaN where undefined.
        clusters: cluster of each query.
        difference_sums: summed differences of each pair of systems.
    """
    size = values.shape[1]
    spread, n = np.zeros((size, size)), np.zeros((size, size))
    for i in range(size):
        change = values[:, [i]] - values
        defined = ~np.isnan(change)
        for j in range(size):
            labels = clusters[defined[:, j]]
            sums = np.bincount(labels, change[defined[:, j], j])[np.unique(labels)]
            n[i, j] = len(sums)
            spread[i, j] = float(np.var(sums)) * len(sums) if len(sums) else 0.0
    return _t_statistics(difference_sums, spread, n)


def _t_statistics(
    difference_sums: Floats, squared_deviations: Floats, n_differences: Floats
) -> tuple[Floats, Floats]:
    """Compute (t, degrees of freedom) of each pair of systems; all shapes are (systems, systems).

    Args:
        difference_sums: summed differences.
        squared_deviations: summed squared deviations of the differences from their mean.
        n_differences: number of differences.
    """
    variance = (
        np.maximum(squared_deviations, 0.0) / np.maximum(n_differences - 1, 1) * n_differences
    )
    # Rounding errors are no variance, where systems differ by a constant.
    variance[variance < 1e-20] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(
            np.abs(difference_sums) < 1e-12 * np.maximum(n_differences, 1),
            0.0,
            difference_sums / np.sqrt(variance),
        )
    t[n_differences < 2] = 0.0
    return t, np.maximum(n_differences - 1, 1)


def better_by_tests(differences: Floats, p: Floats, level: float = ALPHA) -> npt.NDArray[np.bool_]:
    """Decide by Holm-adjusted p-values whether the row's system beats the column's, in a matrix.

    Args:
        differences: above 0 if the row's system is ahead, shape (systems, systems).
        p: two-sided p-values of no difference; only those above the diagonal are used.
        level: most probability of any wrong decision.
    """
    size = len(differences)
    rows, columns = np.triu_indices(size, 1)
    better = np.zeros((size, size), bool)
    passed = np.asarray(holm(p[rows, columns])) < level
    rows, columns = rows[passed], columns[passed]
    better[rows, columns] = differences[rows, columns] > 0
    better[columns, rows] = differences[rows, columns] < 0
    return better


def ranks_of_values(
    values: Sequence[float | None], is_higher_better: bool = True
) -> list[int | None]:
    """Rank values from 1; equal values share the best of their ranks, and None has no rank."""
    known = sorted((v for v in values if v is not None), reverse=is_higher_better)
    return [None if v is None else 1 + known.index(v) for v in values]


def rank_text(interval: RankInterval | None) -> str:
    """Format a range of ranks: ``2–4``, ``1``, or a dash for None."""
    if interval is None:
        return DASH
    low, high = interval
    return str(low) if low == high else f"{low}–{high}"
