"""Correlate the orders of systems by two judges, with intervals over resampled queries."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from citeforge.evaluator.statistics.estimates import Floats, column, mean_of_runs
from citeforge.schemas.errors import InputError, UnknownValueError
from citeforge.schemas.scores import ScoreFile

RESAMPLES = 1_000
_SEED = 20250421


@dataclass(frozen=True)
class Correlation:
    """One rank correlation of two orders of the same systems.

    Attributes:
        name: name of the correlation coefficient.
        value: from -1 to 1; NaN if one side has only ties.
        low: lower end of the 95 % percentile interval over resampled queries.
        high: upper end.
    """

    name: str
    value: float
    low: float
    high: float


def kendall_tau_b(judge: Floats, truth: Floats) -> float:
    """Compute Kendall's tau-b (1945) of two judges' values of the same systems; allows ties."""
    from scipy.stats import kendalltau

    return float(kendalltau(judge, truth).statistic)


def spearman(judge: Floats, truth: Floats) -> float:
    """Compute Spearman's rho of two judges' values of the same systems; NaN if one is constant."""
    from scipy.stats import spearmanr

    if len(set(judge)) < 2 or len(set(truth)) < 2:
        return math.nan
    return float(spearmanr(judge, truth).statistic)


def tau_ap(judge: Floats, truth: Floats) -> float:
    """Compute the AP rank correlation (Yilmaz et al. 2008) of two judges' values of systems.

    The mean over every system but the judge's first: of those above it, the share that truth puts
    above it less the share that truth puts below. Systems that the judge ties keep their order;
    pairs that truth ties count 0.

    Args:
        judge: the judge's value of each system.
        truth: true value of each system, in the same order.
    """
    ordered = truth[np.argsort(-judge, kind="stable")]
    signs = [np.sign(ordered[:i] - ordered[i]).mean() for i in range(1, len(ordered))]
    return float(np.mean(signs)) if signs else math.nan


def gap_weighted_tau(judge: Floats, truth: Floats) -> float:
    """Compute Kendall's tau with each pair of systems weighted by their true difference.

    Swapping systems that are nearly equal in truth costs little; pairs that the judge ties count 0.

    Args:
        judge: the judge's value of each system.
        truth: true value of each system, in the same order.
    """
    said, gaps = (np.subtract.outer(values, values) for values in (judge, truth))
    weight = float(np.abs(gaps).sum())
    return float((gaps * np.sign(said)).sum()) / weight if weight else math.nan


CORRELATIONS: dict[str, Callable[[Floats, Floats], float]] = {
    "Kendall's tau-b": kendall_tau_b,
    "tau_AP": tau_ap,
    "Spearman": spearman,
    "gap-weighted tau": gap_weighted_tau,
}


def compare_orders(
    judged: Sequence[ScoreFile], truth: Sequence[ScoreFile], measure: str
) -> list[Correlation]:
    """Correlate two judges' rankings of the same systems by a measure, with 95 % intervals.

    Args:
        judged: score files by the judge that is evaluated, one per system.
        truth: score files of the same systems by another judge, or by people.
        measure: name of a measure that is the mean of its values per query.

    Raises:
        InputError: the systems or queries differ, there are fewer than three systems, or one comes
            twice.
        UnknownValueError: a file lacks the measure.
    """
    ours, theirs = values_by_system(judged, measure), values_by_system(truth, measure)
    if set(ours) != set(theirs):
        odd = sorted(set(ours) ^ set(theirs))
        raise InputError(
            f"the system {odd[0]!r} has scores on one side only",
            allowed="the same systems",
            code="no-scores",
        )
    if len(ours) < 3:
        raise InputError(
            f"{len(ours)} systems are too few to compare orders",
            allowed="3 or more",
            code="too-few",
        )
    names = sorted(ours)
    if len({tuple(q) for q, _ in (*ours.values(), *theirs.values())}) > 1:
        raise InputError("the score files are about different queries", code="not-comparable")
    a, b = (np.array([column(side[n][1]) for n in names]) for side in (ours, theirs))
    rng = np.random.default_rng(_SEED)
    n = a.shape[1]
    draws = [rng.integers(0, n, n) for _ in range(RESAMPLES)]
    means = [(mean_of_runs(a[:, d].T), mean_of_runs(b[:, d].T)) for d in draws]
    correlations = []
    for name, correlation in CORRELATIONS.items():
        drawn = np.array([correlation(x, y) for x, y in means])
        defined = drawn[~np.isnan(drawn)]
        low, high = np.percentile(defined, [2.5, 97.5]) if len(defined) else (math.nan, math.nan)
        value = correlation(mean_of_runs(a.T), mean_of_runs(b.T))
        correlations.append(Correlation(name, value, float(low), float(high)))
    return correlations


def values_by_system(
    files: Sequence[ScoreFile], measure: str
) -> dict[str, tuple[list[str], list[float | None]]]:
    """Map each system's name to (query ids, their values of a measure), from score files.

    Raises:
        InputError: a system has two files.
        UnknownValueError: a file lacks the measure.
    """
    values: dict[str, tuple[list[str], list[float | None]]] = {}
    for file in files:
        entries = {m.name: m for m in file.measures}
        if measure not in entries:
            raise UnknownValueError("measure", measure, entries)
        if file.system in values:
            raise InputError(f"the system {file.system!r} has two score files", code="duplicate-id")
        values[file.system] = (file.query_ids, entries[measure].per_query)
    return values
