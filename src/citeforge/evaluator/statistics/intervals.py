"""Standard error of a mean by source of variance, and 95 % intervals by the measure's range.

The sources are queries, runs, judges and their repeats: a crossed design with one value per cell
and random effects, components by the closed formulas of the analysis of variance. Mean squares of
all other sources are pooled (Satterthwaite 1946); two numbers that make coverage .95 in normal
theory join them with those of queries (docs/definitions.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import get_args

import numpy as np
import numpy.typing as npt

from citeforge.schemas.scores import Source, Variance

WILSON, SKEW, STUDENT, WIDEST, NONE = "wilson", "skew-t", "t", "widest", "none"
"""Kinds of intervals, as score files name them."""
ALPHA = 0.05
"""Level below which a difference is called significant."""
COVERAGE = 0.95
Z_95 = 1.959963984540054
"""Quantile of the normal distribution for 95 % on both sides."""

SOURCES: tuple[Source, ...] = get_args(Source)
"""Sources of uncertainty, in the order of axes."""
_NESTED = ("queries", "runs", "judges", "repeats")
"""An interaction is the share of its last source in this order."""
_LEAST_SHARE = 0.5
"""Least share of the squared half-width over queries alone, where runs, judges and repeats differ
by less than chance."""
_ADDED_VARIANCES = (0.0, 0.5, 2.0)
"""Variances that all other sources may add to that over queries, where coverage is made .95."""
_NODES = 400
"""Places at which the distribution of a mean square is looked at."""
Effect = tuple[int, ...]
Components = dict[str, float]
"""Variance of single values by effect: a source, or several joined by ``:`` (their interaction)."""


@dataclass(frozen=True)
class Range:
    """Range of the values that a measure can have.

    Attributes:
        low: smallest.
        high: largest.
    """

    low: float = -math.inf
    high: float = math.inf

    @property
    def interval(self) -> str:
        """Kind of confidence interval for this range: Wilson's, Student's t, or a skewed t.

        Shares (and what else has two ends, neither below 0) get Wilson's, counts the one that
        allows for skewness; what may be negative is a difference, and gets Student's t, so that
        interval and t-test say the same.
        """
        if self.low < 0:
            return STUDENT
        return SKEW if math.isinf(self.high) else WILSON


ANYTHING = Range()
Interval = tuple[float, float]


def student_interval(value: float, stderr: float, df: float, level: float = COVERAGE) -> Interval:
    """Compute Student's t interval; NaN below one degree of freedom."""
    half = quantile(df, level) * stderr
    return value - half, value + half


def widest_interval(
    share: float, inverse_n: float, noise: float = 0.0, z: float = Z_95
) -> Interval:
    """Compute a share's interval at the largest variance a share can have, plus added noise's.

    Values between 0 and 1 with a mean p vary by p (1 − p) at most. The ends are the shares that are
    ``z`` standard errors away, which without noise is Wilson's interval.

    Args:
        share: between 0 and 1, noise included.
        inverse_n: 1 ÷ the number of independent values.
        noise: standard deviation of the noise in ``share``.
        z: standard errors to either side.
    """
    wide = z * z * inverse_n
    middle, scale = 2 * share + wide, 2 * (1 + wide)
    half = math.sqrt(middle**2 - 2 * scale * (share**2 - (z * noise) ** 2))
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def wilson_interval(share: float, n: float, z: float = Z_95) -> Interval:
    """Compute the score interval of a share (Wilson 1927, JASA 22).

    Args:
        share: between 0 and 1.
        n: observations; of weighted ones, and of values between 0 and 1, as many zeros and ones as
            vary as little.
        z: standard errors to either side.
    """
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # An end of the range that is the share itself is one of the interval, whatever the digits.
    return (0.0 if share == 0 else max(0.0, middle - half),
            1.0 if share == 1 else min(1.0, middle + half))  # fmt: skip


def equal_values_interval(
    value: float, n: int, value_range: Range, level: float = COVERAGE
) -> Interval:
    """Compute Gaffke's interval of a mean where all values are equal.

    Each end is the mean if a share of values, as large as Clopper & Pearson's interval of 0 of n
    allows, had the lowest or the highest possible value.

    Args:
        value: the value of all.
        n: how many there are.
        value_range: the lowest and the highest possible value.
        level: how often it is to cover.
    """
    unseen = 1 - ((1 - level) / 2) ** (1 / n)
    low, high = value_range.low, value_range.high
    return value - unseen * (value - low), value + unseen * (high - value)


def effective_wilson(
    value: float, stderr: float, n: int, df: float, value_range: Range, level: float = COVERAGE
) -> Interval:
    """Compute Wilson's interval with the effective number of answers.

    Wilson (1927) for shares of zeros and ones; for other values between two ends, n is what a
    share of zeros and ones with the same standard error would have been made of (Franco, Little,
    Louis & Slud 2019, Journal of Survey Statistics and Methodology 7), and
    the quantile is Student's.

    Args:
        value: a value within the range.
        stderr: its standard error; 0 where all values are equal: then the interval is Gaffke's, as
            that of differences, if the value is at neither end.
        n: answers that enter.
        df: degrees of freedom of the standard error; infinite for zeros and ones, whose error
            follows from the value.
        value_range: the measure's ends.
        level: how often it is to cover.
    """
    span = value_range.high - value_range.low
    share, error = (value - value_range.low) / span, stderr / span
    spread = share * (1 - share)
    if error == 0 and spread > 0:
        return equal_values_interval(value, n, value_range, level)
    if spread < 0:  # an estimate that left the range
        return student_interval(value, stderr, df, level)
    effective = n if error == 0 or spread == 0 else spread / error**2 * n / (n - 1)
    q = quantile(math.inf if error == 0 else df, level)
    low, high = wilson_interval(share, effective, q)
    return value_range.low + span * low, value_range.low + span * high


def skewed_interval(
    value: float, stderr: float, df: float, skewness: float, level: float = COVERAGE
) -> Interval:
    """Compute Student's t interval, corrected for skewness by Hall's transformation.

    Hall (1992), Journal of the Royal Statistical Society B 54: the cubic
    T + κ/3 T² + κ²/27 T³ + κ/6 of the t statistic has no skewness of first order; it is inverted.

    Args:
        value: estimate.
        stderr: standard error.
        df: degrees of freedom.
        skewness: of the estimate, κ: Σψ³ / (Σψ²)^(3/2) over the influences ψ of the answers.
        level: how often it is to cover.
    """
    q = quantile(df, level)

    def inverse(y: float) -> float:
        """Find the t statistic that Hall's transformation turns into ``y``."""
        if abs(skewness) < 1e-8:
            return y
        return 3 / skewness * (float(np.cbrt(1 + skewness * (y - skewness / 6))) - 1)

    return value - stderr * inverse(q), value - stderr * inverse(-q)


def estimate_skewness(influence: npt.NDArray[np.float64]) -> float:
    """Estimate the skewness κ of an estimate from the answers' influences; 0 if nothing varies."""
    squares = float(influence @ influence)
    return float((influence**3).sum()) / squares**1.5 if squares > 0 else 0.0


def sidak_level(level: float, n_intervals: int) -> float:
    """Compute each interval's confidence so that all cover at once (Šidák 1967, JASA 62).

    Args:
        level: of all together.
        n_intervals: how many there are.
    """
    return float(level ** (1 / max(1, n_intervals)))


def quantile(df: float, level: float = COVERAGE) -> float:
    """Compute how many standard errors an interval at a confidence level reaches to either side.

    By Student's t; by the normal distribution for infinite ``df``.
    """
    from scipy.special import (  # scipy.stats has the same, and takes half a second to import
        ndtri,
        stdtrit,
    )

    if math.isinf(df):
        return float(ndtri((1 + level) / 2))
    return float(stdtrit(df, (1 + level) / 2)) if df >= 1 else math.nan


@dataclass(frozen=True)
class Spread:
    """Standard error of a mean over a crossed design, and where it comes from.

    Attributes:
        stderr: standard error of the mean over new queries, runs, judges and repeats.
        df: degrees of freedom that give Student's t interval this width.
        components: unbiased estimates, which may be negative.
        levels: how many there are of every source.
    """

    stderr: float
    df: float
    components: Components
    levels: dict[str, int]


def estimate_spread(values: npt.NDArray[np.float64], sources: Sequence[str]) -> Spread:
    """Estimate the standard error of the mean of all values, by sources of variance.

    Args:
        values: one axis per source; axes of length 1 add no variance, and are ignored.
        sources: name of the source of each axis; queries last, with two or more.
    """
    levels = dict(zip(sources, values.shape, strict=True))
    several = [s for s in sources if levels[s] > 1]
    squares = _mean_squares(values.squeeze())
    components = {
        ":".join(several[i] for i in effect): _alternating_sum(squares, effect)
        / math.prod(levels[s] for i, s in enumerate(several) if i not in effect)
        for effect in squares
    }
    return _combine_squares(squares, components, levels)


def _expected_squares(components: Components, levels: Mapping[str, int]) -> dict[Effect, float]:
    """Compute the expected mean square of each effect (tuple of axes) from variance components."""
    several = [s for s in levels if levels[s] > 1]
    values = {tuple(e.split(":")): v for e, v in components.items()}
    return {
        effect: sum(
            value * math.prod(levels[s] for s in several if s not in sources)
            for sources, value in values.items()
            if {several[i] for i in effect} <= set(sources)
        )
        for effect in _effects(len(several))
    }


def half_of_difference(stderr: float, n: int, variances: Sequence[Variance]) -> float:
    """Compute the half-width of a paired difference's interval, with run and judge variance.

    Runs and verdicts of the two are taken as independent; where verdicts have something in common,
    the interval is wider than it need be.

    Args:
        stderr: of the difference over queries.
        n: queries, or clusters of them.
        variances: where the uncertainty of each of the two comes from, on the difference's scale;
            none of one run that was judged once.
    """
    others: list[tuple[float, int]] = []
    chance = 0.0
    for side in variances:
        levels = {str(s): side.levels[s] for s in SOURCES}
        sizes = [k for k in levels.values() if k > 1]
        if sizes and levels["queries"] > 1:
            squares, last = _expected_squares(side.components, levels), len(sizes) - 1
            others += [
                (max(0.0, squares[i,]) / math.prod(sizes), sizes[i] - 1) for i in range(last)
            ]
            chance += sum(max(0.0, squares[i, last]) for i in range(last)) / math.prod(sizes)
    return _half_width(stderr**2, n - 1, others, chance)


def _combine_squares(
    squares: Mapping[Effect, float], components: Components, levels: Mapping[str, int]
) -> Spread:
    """Combine mean squares into a standard error and its degrees of freedom.

    Args:
        squares: mean square of each effect (axes of the sources with several levels).
        components: variance by source or interaction.
        levels: number of levels by source; queries last.
    """
    n = [k for k in levels.values() if k > 1]
    total, df = -_alternating_sum(squares, ()), float(n[-1] - 1)  # of the sum of all values
    if len(n) > 1:
        from scipy.special import stdtridf

        last = len(n) - 1
        others = [(squares[i,], n[i] - 1) for i in range(last)]
        chance = sum(squares[i, last] for i in range(last))
        half, z = _half_width(squares[last,], n[last] - 1, others, chance), quantile(math.inf)
        if not 0 < z * z * total < half * half:  # others differ by less than chance
            total, df = (half / z) ** 2, math.inf
        else:
            df = float(stdtridf((1 + COVERAGE) / 2, half / math.sqrt(total)))
    return Spread(math.sqrt(total / math.prod(n)), df, dict(components), dict(levels))


def _half_width(
    query_square: float,
    df_queries: int,
    other_squares: Sequence[tuple[float, int]],
    expected_by_chance: float,
) -> float:
    """Compute the half-width of the interval of a sum of all values, from mean squares.

    Queries alone give the usual t interval; what other sources add widens it, with weights that
    make intervals cover (:func:`_interval_weights`).

    Args:
        query_square: mean square of queries.
        df_queries: its degrees of freedom.
        other_squares: (mean square, degrees of freedom) of every other source.
        expected_by_chance: expected sum of the others' mean squares if they add no variance.
    """
    least = quantile(df_queries) ** 2 * query_square
    moved = sum(square for square, _ in other_squares)
    if not other_squares:
        return math.sqrt(least)
    if moved == 0:
        return math.sqrt(_LEAST_SHARE * least)
    df = moved**2 / sum(square**2 / k for square, k in other_squares)
    if query_square == 0:
        return quantile(df) * math.sqrt(moved)
    share = min(max(round(expected_by_chance / query_square, 2), 0.01), 0.98)
    weight, bar = _interval_weights(round(4 * df) / 4, share)
    squared = weight * least + quantile(df) ** 2 * max(0.0, moved - bar * query_square)
    return math.sqrt(max(_LEAST_SHARE * least, squared))


@lru_cache(maxsize=4096)
def _interval_weights(df: float, chance: float) -> tuple[float, float]:
    """Find (weight of query variance, threshold of other variance) to cover 95 %.

    The first weighs the mean square of queries. The second is the part of it that mean squares of
    other sources must exceed before they count.

    Args:
        df: degrees of freedom of the other sources' mean square.
        chance: what it is expected to be, as a share of that of queries, where they add nothing.
    """
    from scipy.optimize import least_squares
    from scipy.special import chdtri, ndtr

    draws = chdtri(df, 1 - (np.arange(_NODES) + 0.5) / _NODES) / df
    added = np.array(_ADDED_VARIANCES)[:, None]
    moves, z, t = (added + chance) * draws, quantile(math.inf), quantile(df)

    def coverage_errors(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Compute intervals' coverage minus 95 %, for each assumed variance of other sources."""
        weight, bar = weights
        squared = weight * z * z + t * t * np.maximum(0.0, moves - bar)
        squared = np.maximum(_LEAST_SHARE * z * z, squared)
        covers = 2 * ndtr(np.sqrt(squared / (1 + added))) - 1
        rates: npt.NDArray[np.float64] = covers.mean(axis=1) - COVERAGE
        return rates

    start = [max(1 - chance, 0.6), (1 - chance) / 10]
    weight, bar = least_squares(coverage_errors, start, bounds=(0, 2), xtol=1e-6, ftol=1e-8).x
    return float(weight), float(bar)


def _effects(n: int) -> list[Effect]:
    """List all main effects and interactions of ``n`` axes."""
    return [e for k in range(1, n + 1) for e in combinations(range(n), k)]


def _mean_squares(values: npt.NDArray[np.float64]) -> dict[Effect, float]:
    """Compute the mean square of every main effect and interaction of an array, by its axes."""
    axes, effects = range(values.ndim), [(), *_effects(values.ndim)]
    means = {
        e: values.mean(axis=tuple(a for a in axes if a not in e), keepdims=True) for e in effects
    }
    mean_squares: dict[Effect, float] = {}
    for effect in effects[1:]:
        inside = [e for e in effects if set(e) <= set(effect)]
        moved = sum((-1) ** (len(effect) - len(e)) * means[e] for e in inside)
        squares = float(np.square(moved).sum()) * values.size / np.size(moved)
        mean_squares[effect] = squares / math.prod(values.shape[a] - 1 for a in effect)
    return mean_squares


def _alternating_sum(squares: Mapping[Effect, float], effect: Effect) -> float:
    """Add the mean squares of all effects that contain ``effect``, with alternating signs.

    Divided by the number of levels of the other sources, this is its variance component.
    """
    return math.fsum(
        (-1) ** (len(e) - len(effect)) * value
        for e, value in squares.items()
        if set(effect) <= set(e)
    )


def compute_shares(components: Components, levels: Mapping[str, int]) -> dict[str, float]:
    """Compute the share of each source in the squared standard error; empty if nothing varies.

    Args:
        components: variance by source or interaction.
        levels: number of levels by source.
    """
    shares = {s: 0.0 for s in _NESTED if levels.get(s, 1) > 1}
    for effect, value in components.items():
        sources = effect.split(":")
        shares[max(sources, key=_NESTED.index)] += max(0.0, value) / math.prod(
            levels[s] for s in sources
        )
    total = sum(shares.values())
    return {s: v / total for s, v in shares.items()} if total > 0 else {}
