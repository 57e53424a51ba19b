"""Values by query of measures in score files, and their changes from one system to another."""

import math

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.statistics.estimates import Floats, column
from citeforge.schemas.scores import MeasureScore

Bools = npt.NDArray[np.bool_]
_ROUNDING = 1e-9
"""Change of a displayed value that stands for none."""


def jackknife_pseudovalues(entry: MeasureScore) -> Floats:
    """Compute jackknife pseudovalues per query, whose mean is a score's value; NaN if undefined."""
    if entry.influence is None or entry.value is None:
        return column(entry.per_query)
    moves = np.nan_to_num(column(entry.influence))
    values: Floats = entry.value / entry.scale + len(moves) * moves
    return values


def change(a: MeasureScore, b: MeasureScore) -> Floats:
    """Compute how each query's value changes from system ``a`` to ``b``, as displayed.

    For plain means this is the difference of both values, NaN where one is undefined. For other
    measures it comes from influences: its mean is the difference of the two displayed values, and
    it is NaN for queries that enter neither. A change that rounding alone makes is 0.
    """
    changes = _changes(a, b)
    return np.where(np.abs(changes) <= _ROUNDING, 0.0, changes)


def differs(a: MeasureScore, b: MeasureScore) -> Bools:
    """Whether each query's own value differs between two systems, by more than rounding does.

    Queries that are not compared differ in nothing.
    """
    first, second = a.scale * column(a.per_query), b.scale * column(b.per_query)
    is_in_one = np.isnan(first) != np.isnan(second)
    moves: Bools = is_in_one | (np.abs(second - first) > _ROUNDING)
    return moves & ~np.isnan(change(a, b))


def _changes(a: MeasureScore, b: MeasureScore) -> Floats:
    """Compute how each query's value changes, before rounding errors are set to 0."""
    plain: Floats = a.scale * (column(b.per_query) - column(a.per_query))
    if a.influence is None and b.influence is None:
        return plain
    first, second = _influence(a), _influence(b)
    if first is None or second is None or a.value is None or b.value is None:
        return plain
    enters = ~np.isnan(first) | ~np.isnan(second)
    moved = np.nan_to_num(second) - np.nan_to_num(first)
    return np.where(enters, b.value - a.value + a.scale * enters.sum() * moved, np.nan)


def matches_display(a: MeasureScore, b: MeasureScore) -> bool:
    """Whether the mean of the per-query changes is the difference of the displayed values."""
    if a.influence is None and b.influence is None:
        return _is_plain_mean(a) and _is_plain_mean(b)
    return _influence(a) is not None and _influence(b) is not None


def _is_plain_mean(entry: MeasureScore) -> bool:
    """Whether a measure's value is the mean of its queries' values."""
    values = [v for v in entry.per_query if v is not None]
    if entry.value is None or not values:
        return True
    return math.isclose(entry.scale * float(np.mean(values)), entry.value, abs_tol=1e-6)


def _influence(entry: MeasureScore) -> Floats | None:
    """Get each query's influence on a score (NaN without one); None if the score has none."""
    if entry.influence is not None:
        return column(entry.influence)
    values = column(entry.per_query)
    n = int((~np.isnan(values)).sum())
    if entry.value is None or not n:
        return None
    return (values - np.nansum(values) / n) / n if _is_plain_mean(entry) else None
