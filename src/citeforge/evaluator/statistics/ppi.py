"""Prediction-powered inference: a judge's verdicts on all answers, corrected by labels of a few.

PPI++ (Angelopoulos, Duchi & Zrnic 2023, arXiv 2311.01453) for functions of sums over answers:
means, harmonic means of means, ratios of sums (delta method over the sums).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.statistics.bounds import mean_interval
from citeforge.evaluator.statistics.estimates import Floats
from citeforge.evaluator.statistics.intervals import (
    ANYTHING,
    COVERAGE,
    WILSON,
    Interval,
    Range,
    effective_wilson,
    quantile,
    student_interval,
)

LEAST_LABELS = 10
"""Fewest labelled answers for a correction: intervals from fewer are not reliable."""


@dataclass(frozen=True)
class PpiEstimate:
    """A value corrected by labels, with its uncertainty, on the raw scale; NaN if undefined.

    Attributes:
        value: estimate of the value if people had labelled all answers.
        low: lower end of the 95 % interval, with Welch's degrees of freedom.
        high: upper end.
        stderr: standard error.
        tuning: weight of the judge, λ in [0, 1]; 0 uses the labels alone.
        n_labels: number of labelled answers.
        df: degrees of freedom.
    """

    value: float
    low: float
    high: float
    stderr: float
    tuning: float
    n_labels: int
    df: float


@dataclass(frozen=True)
class Units:
    """Sums of each answer that a measure is computed from, by the judge and by people.

    Attributes:
        judged: sums by the judge, shape (queries, k).
        human: sums by people, shape (queries, k); rows of unlabelled answers are ignored.
        labelled: mask of labelled answers, a random sample of those that need a verdict.
        verdict_free: mask of answers whose value depends on no verdict (nothing is cited, say).
        clusters: cluster of each query, from 0; None if each query is its own.
    """

    judged: Floats
    human: Floats
    labelled: npt.NDArray[np.bool_]
    verdict_free: npt.NDArray[np.bool_]
    clusters: npt.NDArray[np.int64] | None = None


def power_tuning(human: Floats, judged: Floats, unlabelled: Floats) -> float:
    """Compute the judge's weight λ with the least variance, clipped to [0, 1].

    As in ``ppi-python`` (PPI++, section 6, example 6.1): covariance over labelled answers, variance
    over all.

    Args:
        human: influences of labelled answers by people, shape (n,).
        judged: influences of the same answers by the judge.
        unlabelled: influences of the unlabelled answers by the judge, shape (N,).
    """
    n, n_rest = len(human), len(unlabelled)
    if n < 2 or n_rest == 0:
        return 0.0
    spread = float(np.var(np.concatenate([judged, unlabelled]), ddof=1))
    if spread <= 0:
        return 0.0
    shared = float(np.mean((human - human.mean()) * (judged - judged.mean())))
    return min(1.0, max(0.0, shared / ((1 + n / n_rest) * spread)))


def estimate_ppi(
    units: Units,
    combine: Callable[[Floats], Floats],
    tuning: float | None = None,
    value_range: Range = ANYTHING,
) -> PpiEstimate:
    """Estimate a value (``combine`` of sums) from a judge's verdicts and some labels (PPI++).

    Answers that need no verdict are known exactly; the others are a stratum of their own, in which
    the judge's mean is corrected by its mean error on labelled answers.

    Args:
        units: sums of each answer.
        combine: function of sums or means over answers, shape (…, k), to values; depends on their
            ratios only.
        tuning: weight of the judge; None for the one with the least variance.
        value_range: range of the measure: shares have Wilson's interval with the effective number
            of answers, other measures Student's t.
    """
    rest = ~units.labelled & ~units.verdict_free
    parts = _Parts(units, rest)
    n = int(units.labelled.sum())
    if n == 0 and not units.verdict_free.all():
        return undefined_estimate(n)
    weight = parts.best_weight(combine) if tuning is None else tuning
    mean = parts.mean(weight)
    value = float(combine(mean))
    if math.isnan(value):
        return undefined_estimate(n)
    moves = None if tuning is not None else _jackknife_influences(parts, combine)
    stderr, df = parts.spread(gradient(combine, mean), weight, moves)
    low, high = compute_interval(value, stderr, df, n, value_range)
    if tuning is None:
        # The best weight for these labels is at least as good as weight 0.
        at = parts.mean(0.0)
        alone, alone_df = parts.spread(gradient(combine, at), 0.0)
        ends = compute_interval(float(combine(at)), alone, alone_df, n, value_range)
        width = ends[1] - ends[0]
        if high - low > width:
            shorter = width / (high - low)
            low, high = value - (value - low) * shorter, value + (high - value) * shorter
            stderr, df = min((stderr, df), (alone, alone_df))
    return PpiEstimate(value, low, high, stderr, weight, n, df)


def bound_by_labels(units: Units, estimate: PpiEstimate, largest_value: float) -> Interval:
    """Widen a corrected mean's interval so that it covers even if few labels oppose the judge.

    The judge's error on the labelled answers has a bound that holds for few of them
    (:mod:`~citeforge.evaluator.statistics.bounds`); it takes the place of its part in the t
    interval, which never becomes narrower.

    Args:
        units: values of each answer, with 1 for each that is defined.
        estimate: the corrected mean.
        largest_value: largest possible value, and −1 times the smallest.
    """
    at = units.labelled
    errors = units.human[at, 0] - estimate.tuning * units.judged[at, 0]
    if len(errors) < 2 or math.isnan(estimate.low):
        return estimate.low, estimate.high
    n_open = int((~units.verdict_free & (units.judged[:, 1] > 0)).sum())
    share = n_open / float(units.judged[:, 1].sum())
    most = (1 + estimate.tuning) * largest_value
    middle, half = float(errors.mean()), (estimate.high - estimate.low) / 2
    alone = quantile(len(errors) - 1) * float(errors.std(ddof=1)) / math.sqrt(len(errors))
    rest = math.sqrt(max(0.0, half**2 - (share * alone) ** 2))
    low, high = (
        max(half, math.hypot(share * (end - middle), rest))
        for end in mean_interval(errors, -most, most)
    )
    return estimate.value - low, estimate.value + high


def linearise(
    units: Units, combine: Callable[[Floats], Floats], weight: float
) -> tuple[Floats, Floats]:
    """Compute linear values per answer (judge's, people's) whose mean nears the corrected value.

    They use the slope at the corrected sums; differences of two systems need them if ``combine``
    is not a mean.

    Args:
        units: sums of each answer.
        combine: see :func:`estimate_ppi`.
        weight: weight of the judge.

    Returns:
        (by the judge, by people), both of shape (queries,); people's values of unlabelled answers
        mean nothing.
    """
    mean = _Parts(units, ~units.labelled & ~units.verdict_free).mean(weight)
    value, slope = float(combine(mean)), gradient(combine, mean)
    return value + units.judged @ slope, value + units.human @ slope


def compute_interval(
    value: float, stderr: float, df: float, n: int, value_range: Range, level: float = COVERAGE
) -> Interval:
    """Compute a corrected value's interval: Wilson's for shares, Student's t for the others.

    Args:
        value: estimate.
        stderr: standard error of the estimate.
        df: degrees of freedom of the standard error.
        n: number of labelled answers.
        value_range: range of the measure.
        level: probability that the interval covers the value.
    """
    if value_range.interval == WILSON and n > 1:
        return effective_wilson(value, stderr, n, df, value_range, level)
    return student_interval(value, stderr, df, level)


class _Parts:
    """Labelled, unlabelled and verdict-free answers, and estimates from these parts."""

    def __init__(self, units: Units, unlabelled: npt.NDArray[np.bool_]) -> None:
        """Store the answers, and a mask of unlabelled ones whose values depend on verdicts."""
        self.units, self.unlabelled = units, unlabelled
        self._total = len(unlabelled)
        self._open = int((~units.verdict_free).sum()) / self._total if self._total else 0.0

    def best_weight(self, combine: Callable[[Floats], Floats]) -> float:
        """Compute the judge's weight that minimises the variance of the corrected value."""
        u, slope = self.units, gradient(combine, self.mean(0.0))
        human, judged = u.human[u.labelled] @ slope, u.judged[u.labelled] @ slope
        return power_tuning(human, judged, u.judged[self.unlabelled] @ slope)

    def mean(self, weight: float) -> Floats:
        """Estimate the mean over answers of each sufficient statistic, corrected by labels.

        Args:
            weight: weight of the judge, from 0 to 1.
        """
        u = self.units
        total = np.zeros(u.judged.shape[1])
        if u.verdict_free.any():
            total += (1 - self._open) * u.judged[u.verdict_free].mean(axis=0)
        if u.labelled.any():
            error = (u.human[u.labelled] - weight * u.judged[u.labelled]).mean(axis=0)
            total += self._open * error
        if weight and self.unlabelled.any():
            total += self._open * weight * u.judged[self.unlabelled].mean(axis=0)
        return total

    def spread(
        self, slope: Floats, weight: float, label_influences: Floats | None = None
    ) -> tuple[float, float]:
        """Compute (standard error, degrees of freedom) of a corrected value from its slope.

        Labelled answers, unlabelled ones, and those whose value needs no verdict each have a
        variance of their own; how many answers need no verdict varies, too.

        Args:
            slope: derivative of the value by each sum.
            weight: weight of the judge.
            label_influences: of the labelled answers, if known better than from the slope.
        """
        u = self.units
        judged, human = u.judged @ slope, u.human @ slope
        groups = [
            (u.labelled, human - weight * judged, self._open),
            (self.unlabelled, weight * judged, self._open),
            (u.verdict_free, judged, 1 - self._open),
        ]
        influence = np.zeros(self._total)
        shares: list[tuple[float, int]] = []
        for mask, values, share in groups:
            n = int(mask.sum())
            if n < 2:
                continue
            # The last factor gives the sum of squares below the divisor n − 1 of a variance.
            step = share * (values[mask] - values[mask].mean()) / n * math.sqrt(n / (n - 1))
            if label_influences is not None and mask is u.labelled:
                step = label_influences
            influence[mask] += step
            shares.append(self._group_variance(step, mask))
        if 0 < self._open < 1:
            influence += self._verdict_free_influence(judged, human, weight)
        n_groups = self._total
        if u.clusters is not None:
            n_groups = int(u.clusters.max()) + 1
            influence = np.bincount(u.clusters, influence, n_groups).astype(np.float64)
            influence *= math.sqrt(n_groups / max(1, n_groups - 1))
        variance = float(influence @ influence)
        within = sum(v for v, _ in shares)
        below = sum(v**2 / max(1, n - 1) for v, n in shares)
        below += max(0.0, variance - within) ** 2 / max(1, n_groups - 1)
        df = variance**2 / below if below > 0 else math.nan
        return math.sqrt(variance), df

    def _group_variance(self, influence: Floats, mask: npt.NDArray[np.bool_]) -> tuple[float, int]:
        """Compute (variance added by a group of answers, number of its answers or clusters).

        Args:
            influence: of each answer of the group.
            mask: which answers are in the group.
        """
        clusters = self.units.clusters
        if clusters is None:
            return float(influence @ influence), len(influence)
        of_cluster = np.bincount(clusters[mask], influence)
        n = len(np.unique(clusters[mask]))
        return float(of_cluster @ of_cluster) * n / max(1, n - 1), n

    def _verdict_free_influence(self, judged: Floats, human: Floats, weight: float) -> Floats:
        """Compute each answer's influence through the share of answers that need no verdict.

        Args:
            judged: value of each answer by the judge.
            human: value of each answer by people's labels.
            weight: weight of the judge.
        """
        u = self.units
        verdict_free = float(judged[u.verdict_free].mean())
        error = float((human - weight * judged)[u.labelled].mean()) if u.labelled.any() else 0.0
        rest = float(judged[self.unlabelled].mean()) * weight if self.unlabelled.any() else 0.0
        gap = error + rest - verdict_free
        share: Floats = np.where(u.verdict_free, -self._open, 1 - self._open)
        return share * gap / self._total


def _jackknife_influences(parts: _Parts, combine: Callable[[Floats], Floats]) -> Floats | None:
    """Compute each labelled answer's influence by leaving it out and refitting the judge's weight.

    The weight is fitted to the labelled answers, and ratios are not linear: with few labels,
    influences at the fitted weight are too small (intervals from 15 labels covered the value in 88
    to 93 of 100 simulations).

    Returns:
        Shape (labelled,); the sum of squares is the jackknife's variance. None if an estimate
        without one of the answers is not defined.
    """
    rows = np.flatnonzero(parts.units.labelled)
    n = len(rows)
    if n < 3:
        return None
    values = np.empty(n)
    for at, row in enumerate(rows):
        labelled = parts.units.labelled.copy()
        labelled[row] = False
        others = _Parts(replace(parts.units, labelled=labelled), parts.unlabelled)
        values[at] = combine(others.mean(others.best_weight(combine)))
    if np.isnan(values).any():
        return None
    moves: Floats = math.sqrt((n - 1) / n) * (values.mean() - values)
    return moves


def gradient(combine: Callable[[Floats], Floats], sums: Floats) -> Floats:
    """Compute the gradient of a function of sums by central differences; 0 where undefined.

    Args:
        combine: see :class:`~citeforge.evaluator.statistics.estimates.Sample`.
        sums: sums, shape (…, k), which is the shape of the gradient, too.
    """
    step = 1e-6 * np.maximum(1.0, np.abs(sums))
    moves = step[..., None] * np.eye(sums.shape[-1])
    here = sums[..., None, :]
    slope: Floats = (combine(here + moves) - combine(here - moves)) / (2 * step)
    return np.nan_to_num(slope)


def undefined_estimate(n: int) -> PpiEstimate:
    """Return an estimate without a value (all NaN) from ``n`` labelled answers."""
    nan = math.nan
    return PpiEstimate(nan, nan, nan, nan, 0.0, n, nan)


def t_test(estimate: PpiEstimate) -> float:
    """Compute the two-sided p-value of a corrected difference; NaN without a standard error."""
    from scipy.special import stdtr

    if not estimate.df >= 1:
        return math.nan
    if estimate.stderr == 0:
        return 1.0 if estimate.value == 0 else 0.0
    return float(2 * stdtr(estimate.df, -abs(estimate.value) / estimate.stderr))
