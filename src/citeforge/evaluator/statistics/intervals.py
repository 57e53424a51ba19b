"""95 % intervals of a value with a standard error, chosen by the range of the measure."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

WILSON, SKEW, STUDENT, WIDEST, NONE = "wilson", "skew-t", "t", "widest", "none"
"""Kinds of intervals, as score files name them."""
ALPHA = 0.05
"""Level below which a difference is called significant."""
COVERAGE = 0.95
Z_95 = 1.959963984540054
"""Quantile of the normal distribution for 95 % on both sides."""


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
        """Kind of confidence interval for a measure with this range.

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
    share: float, inverse_n: float, noise: float = 0.0, q: float = Z_95
) -> Interval:
    """Compute the interval of a share whose spread is not known, with noise of a known size.

    Values between 0 and 1 with a mean p vary by p (1 − p) at most. The ends are the shares that are
    ``q`` standard errors away, which without noise is Wilson's interval.

    Args:
        share: between 0 and 1, noise included.
        inverse_n: 1 ÷ the number of independent values.
        noise: standard deviation of the noise in ``share``.
        q: standard errors to either side.
    """
    wide = q * q * inverse_n
    middle, scale = 2 * share + wide, 2 * (1 + wide)
    half = math.sqrt(middle**2 - 2 * scale * (share**2 - (q * noise) ** 2))
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def wilson_interval(share: float, n: float, q: float = Z_95) -> Interval:
    """Compute the score interval of a share (Wilson 1927, JASA 22).

    Args:
        share: between 0 and 1.
        n: observations; of weighted ones, and of values between 0 and 1, as many zeros and ones as
            vary as little.
        q: standard errors to either side.
    """
    middle = (share + q * q / (2 * n)) / (1 + q * q / n)
    half = q / (1 + q * q / n) * math.sqrt(share * (1 - share) / n + q * q / (4 * n * n))
    # An end of the range that is the share itself is one of the interval, whatever the digits.
    return (0.0 if share == 0 else max(0.0, middle - half),
            1.0 if share == 1 else min(1.0, middle + half))  # fmt: skip


def effective_wilson(
    value: float, stderr: float, n: int, df: float, within: Range, level: float = COVERAGE
) -> Interval:
    """Compute Wilson's interval with the effective number of answers.

    Wilson (1927) for shares of zeros and ones; for other values between two ends, n is what a
    share of zeros and ones with the same standard error would have been made of (Franco, Little,
    Louis & Slud 2019, Journal of Survey Statistics and Methodology 7), and
    the quantile is Student's.

    Args:
        value: a value within the range.
        stderr: its standard error; 0 where all values are equal.
        n: answers that enter.
        df: degrees of freedom of the standard error; infinite for zeros and ones, whose error
            follows from the value.
        within: the measure's ends.
        level: how often it is to cover.
    """
    span = within.high - within.low
    share, error = (value - within.low) / span, stderr / span
    spread = share * (1 - share)
    if error == 0 and spread > 0:
        return value, value
    if spread < 0:  # an estimate that left the range
        return student_interval(value, stderr, df, level)
    effective = n if error == 0 or spread == 0 else spread / error**2 * n / (n - 1)
    q = quantile(math.inf if error == 0 else df, level)
    low, high = wilson_interval(share, effective, q)
    return within.low + span * low, within.low + span * high


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


def sidak_level(level: float, intervals: int) -> float:
    """Compute the level of one interval so that several cover at once (Šidák 1967, JASA 62).

    Args:
        level: of all together.
        intervals: how many there are.
    """
    return float(level ** (1 / max(1, intervals)))


def quantile(df: float, level: float = COVERAGE) -> float:
    """Compute the number of standard errors from a value to the ends of its interval.

    By Student's t; by the normal distribution for infinite ``df``.
    """
    from scipy.special import (  # scipy.stats has the same, and takes half a second to import
        ndtri,
        stdtrit,
    )

    if math.isinf(df):
        return float(ndtri((1 + level) / 2))
    return float(stdtrit(df, (1 + level) / 2)) if df >= 1 else math.nan
