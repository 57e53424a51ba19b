"""Bounds of a mean of bounded values that hold however few of the values differ.

Gaffke (2005, Mathematical Methods of Statistics 14): a lower bound is a quantile of the mean of
the values and of the smallest possible value, weighted at random (Dirichlet, all ones). For values
of 0 and 1 it is that of Clopper & Pearson (1934); where values vary much it becomes Student's t.
Its quantile is computed from the saddlepoint (r* of Barndorff-Nielsen 1991, Biometrika 78): the
level of a 2.5 % bound is between 2.41 and 2.54 %, and nothing is drawn at random.
"""

import numpy as np

from citeforge.evaluator.statistics.estimates import Floats
from citeforge.evaluator.statistics.intervals import COVERAGE, Interval

_TILTS = -1 + 1e-12, -1e-9
"""Tilts between which a bound is looked for."""


def mean_interval(
    values: Floats, least: float, most: float, level: float = COVERAGE,
    weights: Floats | None = None,
) -> Interval:  # fmt: skip
    """Compute an interval of a mean from a sample of values between ``least`` and ``most``.

    Args:
        values: a sample.
        least: smallest possible value, or the smallest of the sample if that is below it.
        most: largest possible value, or the largest of the sample.
        level: how often it covers; each end misses in half of the rest.
        weights: how often each value is in the sample; once if None.
    """
    weights = np.ones(len(values)) if weights is None else weights
    alpha = (1 - level) / 2
    low = lower_bound(values, weights, least, alpha)
    return low, -lower_bound(-values, weights, -most, alpha)


def lower_bound(values: Floats, weights: Floats, least: float, alpha: float) -> float:
    """Compute Gaffke's lower bound of the mean of values that are at least ``least``.

    Args:
        values: a sample.
        weights: how often each value is in the sample.
        least: smallest possible value.
        alpha: how often the bound may be above the mean.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    points, point_of = np.unique(np.append(values, min(least, values.min())), return_inverse=True)
    span = float(points[-1] - points[0])
    if span == 0:
        return float(points[0])
    counts = np.bincount(point_of, np.append(weights, 1.0)).astype(np.float64)
    mean = _RandomMean((points - points[-1]) / span, counts)
    goal = float(ndtri(alpha))
    tilt = brentq(lambda tilt: mean.quantile(tilt) - goal, *_TILTS, xtol=1e-13)
    return float(points[-1] + span * mean.find_threshold(float(tilt))[0])


class _RandomMean:
    """Mean of fixed points with Dirichlet weights.

    It is below t as often as the sum of E (x − t) is below 0, with exponential E.
    """

    def __init__(self, points: Floats, counts: Floats) -> None:
        """Store the points, from −1 to 0, and the number of Dirichlet weights of each."""
        self._points, self._counts = points, counts

    def find_threshold(self, tilt: float) -> tuple[float, float]:
        """Compute (random mean's threshold, saddlepoint) for an exponential tilt in (−1, 0)."""
        pull = self._counts / (1 - tilt * self._points)
        at = float(pull @ self._points / pull.sum())
        return at, tilt / (1 - tilt * at)

    def quantile(self, tilt: float) -> float:
        """Approximate the normal quantile of P(random mean < threshold), for a tilt's threshold."""
        at, saddle = self.find_threshold(tilt)
        moves = self._points - at
        left = 1 - saddle * moves
        root = -float(np.sqrt(max(0.0, 2 * float(self._counts @ np.log(left)))))
        if root > -1e-4:
            return root
        deviation = float(np.sqrt(self._counts @ (moves / left) ** 2))
        return root + float(np.log(saddle * deviation / root)) / root
