"""Queries that the interval of a difference needs (Gaffke's, as ``compare`` and ``gate`` show)."""

import math
from bisect import bisect_left

import numpy as np

from citeforge.evaluator.statistics.bounds import lower_bound
from citeforge.evaluator.statistics.estimates import Floats
from citeforge.evaluator.statistics.intervals import ALPHA

_MOST_QUERIES = 10_000_000
_LEAST_QUERIES = 2


def pass_power(
    changes: Floats, shares: Floats, largest: float, margin: float, n: int, by_runs: float = 0.0
) -> float:
    """Compute how often the interval of a mean change of 0 lies above −margin.

    The interval is that of queries that change exactly as expected; the mean change is normal.

    Args:
        changes: possible changes of a query; moved so that their mean is 0.
        shares: how often each change is seen.
        largest: largest possible change.
        margin: largest loss that is allowed.
        n: queries.
        by_runs: how far runs and verdicts alone can move the lower end.
    """
    from scipy.special import ndtr

    shares = shares / shares.sum()
    centred = changes - shares @ changes
    low = lower_bound(centred, n * shares, -largest, ALPHA / 2)
    room = margin - math.hypot(low, by_runs)
    sd = math.sqrt(float(shares @ centred**2))
    return float(ndtr(room * math.sqrt(n) / sd)) if sd > 0 else float(room >= 0)


def queries_to_pass(
    changes: Floats, shares: Floats, largest: float, margin: float, power: float,
    by_runs: float = 0.0,
) -> int | None:  # fmt: skip
    """Find how few queries reach a power; None where no number up to ten million does.

    Args: as :func:`pass_power`, and
        power: how often the interval is to lie above −margin.
    """
    if margin <= by_runs:
        return None
    n = bisect_left(
        range(_MOST_QUERIES + 1), power, lo=_LEAST_QUERIES,
        key=lambda n: pass_power(changes, shares, largest, margin, n, by_runs),
    )  # fmt: skip
    return n if n <= _MOST_QUERIES else None


def full_changes(share: float) -> tuple[Floats, Floats]:
    """Return changes of whole answers (−1, 0, 1) and their shares, as many gains as losses.

    Args:
        share: of queries whose value changes.
    """
    return np.array([-1.0, 0.0, 1.0]), np.array([share / 2, 1 - share, share / 2])
