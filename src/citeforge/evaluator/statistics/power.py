"""Power of the paired t-test, and the queries that it needs."""

import math
from bisect import bisect_left

from citeforge.evaluator.statistics.intervals import ALPHA

_MOST_QUERIES = 10_000_000


def power_of(effect: float, sd: float, n: int) -> float:
    """Compute the power of a two-sided paired t-test at level .05 (noncentral t).

    Args:
        effect: true mean difference.
        sd: standard deviation of the differences.
        n: queries.
    """
    from scipy.special import nctdtr, stdtrit

    if n < 2:
        return 0.0
    if sd == 0:
        return 1.0
    df, shift = n - 1, abs(effect) / sd * math.sqrt(n)
    bound = float(stdtrit(df, 1 - ALPHA / 2))
    power = float(1 - nctdtr(df, shift, bound) + nctdtr(df, shift, -bound))
    return 1.0 if math.isnan(power) else power


def queries_needed(effect: float, sd: float, power: float) -> int | None:
    """Find how few queries reach a given power; None above ten million, or if nothing varies."""
    if sd == 0:
        return None
    n = bisect_left(range(_MOST_QUERIES + 1), power, lo=2, key=lambda n: power_of(effect, sd, n))
    return n if n <= _MOST_QUERIES else None
