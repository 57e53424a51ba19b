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
    changes: Floats,
    shares: Floats,
    largest_change: float,
    margin: float,
    n_queries: int,
    run_half_width: float = 0.0,
) -> float:
    """Compute the power of a gate: P(interval of a mean change of 0 lies above −margin).

    The interval is that of queries that change exactly as expected; the mean change is normal.

    Args:
        changes: possible changes of a query; moved so that their mean is 0.
        shares: how often each change is seen.
        largest_change: largest possible change.
        margin: largest loss that is allowed.
        n_queries: queries.
        run_half_width: how far runs and verdicts alone can move the lower end.
    """
    from scipy.special import ndtr

    shares = shares / shares.sum()
    centred = changes - shares @ changes
    low = lower_bound(centred, n_queries * shares, -largest_change, ALPHA / 2)
    room = margin - math.hypot(low, run_half_width)
    sd = math.sqrt(float(shares @ centred**2))
    return float(ndtr(room * math.sqrt(n_queries) / sd)) if sd > 0 else float(room >= 0)


def queries_to_pass(
    changes: Floats, shares: Floats, largest_change: float, margin: float, power: float,
    run_half_width: float = 0.0,
) -> int | None:  # fmt: skip
    """Find the fewest queries with which a gate passes at a power; None if over ten million.

    Args: as :func:`pass_power`, and
        power: how often the interval is to lie above −margin.
    """
    if margin <= run_half_width:
        return None
    n = bisect_left(
        range(_MOST_QUERIES + 1), power, lo=_LEAST_QUERIES,
        key=lambda n: pass_power(changes, shares, largest_change, margin, n, run_half_width),
    )  # fmt: skip
    return n if n <= _MOST_QUERIES else None


def binary_changes(changed_share: float) -> tuple[Floats, Floats]:
    """Return (possible changes, their shares) of a 0/1 score: −1, 0, 1; gains equal losses.

    Args:
        changed_share: of queries whose value changes.
    """
    half = changed_share / 2
    return np.array([-1.0, 0.0, 1.0]), np.array([half, 1 - changed_share, half])
