"""Do two judges order systems alike? Rank correlations with intervals over queries."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

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
        name: what it is.
        value: from -1 to 1; NaN where one side ties everything.
        low: lower end of the 95 % percentile interval over resampled queries.
        high: upper end.
    """

    name: str
    value: float
    low: float
    high: float


def kendall_tau_b(judge: Floats, truth: Floats) -> float:
    """Kendall's tau-b, which allows for ties (Kendall 1945; scipy's)."""
    from scipy.stats import kendalltau

    return float(kendalltau(judge, truth).statistic)


def spearman(judge: Floats, truth: Floats) -> float:
    """Spearman's rho (scipy's)."""
    from scipy.stats import spearmanr

    if len(set(judge)) < 2 or len(set(truth)) < 2:
        return math.nan
    return float(spearmanr(judge, truth).statistic)


def tau_ap(judge: Floats, truth: Floats) -> float:
    """Yilmaz et al. 2008: mistakes at the top weigh more.

    For every system but the judge's first, the share of those above it that truth puts above it,
    too; the mean of these, from -1 to 1. Systems that the judge ties stand in the order given, and
    a pair that truth ties counts half.
    """
    order = sorted(range(len(judge)), key=lambda i: -judge[i])
    if len(order) < 2:
        return math.nan
    shares = []
    for place, system in enumerate(order[1:], 1):
        right = sum(
            1.0 if truth[above] > truth[system] else 0.5 if truth[above] == truth[system] else 0.0
            for above in order[:place]
        )
        shares.append(right / place)
    return 2 * sum(shares) / len(shares) - 1


def gap_weighted_tau(judge: Floats, truth: Floats) -> float:
    """Kendall's tau with every pair weighed by how far apart truth puts the two systems.

    To swap systems that truth hardly tells apart costs hardly anything; pairs that the judge ties
    count nothing, and truth's ties weigh nothing.
    """
    agreed = weight = 0.0
    for a, b in combinations(range(len(truth)), 2):
        gap = abs(truth[a] - truth[b])
        agreed += gap * float(np.sign(judge[a] - judge[b]) * np.sign(truth[a] - truth[b]))
        weight += gap
    return agreed / weight if weight else math.nan


CORRELATIONS: dict[str, Callable[[Floats, Floats], float]] = {
    "Kendall's tau-b": kendall_tau_b,
    "tau_AP": tau_ap,
    "Spearman": spearman,
    "gap-weighted tau": gap_weighted_tau,
}


def compare_orders(
    judged: Sequence[ScoreFile], truth: Sequence[ScoreFile], measure: str
) -> list[Correlation]:
    """Correlations of two orders of the same systems by one measure.

    Args:
        judged: score files by the judge that is looked at, one a system.
        truth: score files of the same systems by another judge, or by people.
        measure: name of a measure that is the mean of its values per query.

    Raises:
        InputError: the systems or queries differ, there are fewer than three, or a name comes
            twice.
        UnknownValueError: a file lacks the measure.
    """
    ours, theirs = _by_system(judged, measure), _by_system(truth, measure)
    if set(ours) != set(theirs):
        odd = sorted(set(ours) ^ set(theirs))
        raise InputError(
            f"the system {odd[0]!r} has scores on one side only", allowed="the same systems"
        )
    if len(ours) < 3:
        raise InputError(f"{len(ours)} systems have no order to speak of", allowed="3 or more")
    names = sorted(ours)
    if len({tuple(q) for q, _ in (*ours.values(), *theirs.values())}) > 1:
        raise InputError("the score files are about different queries")
    a, b = (np.array([side[n][1] for n in names]) for side in (ours, theirs))
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


def _by_system(files: Sequence[ScoreFile], measure: str) -> dict[str, tuple[list[str], Floats]]:
    by_system: dict[str, tuple[list[str], Floats]] = {}
    for file in files:
        by_name = {m.name: m for m in file.measures}
        if measure not in by_name:
            raise UnknownValueError("measure", measure, by_name)
        if file.system in by_system:
            raise InputError(f"the system {file.system!r} comes twice on one side")
        by_system[file.system] = (file.query_ids, column(by_name[measure].per_query))
    return by_system
