"""What each query does to a value: what differences, ranks and plans are made of.

The mean of a measure's values by query is its value, but not that of a harmonic mean of two means,
nor of a ratio of sums (micro scores). Of these, score files keep the influence of each query, and
``value + n · influence`` takes the place of the values by query: its mean is the value that is
displayed, and its standard error the jackknife's (Efron & Tibshirani 1993, chapter 11).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from citeforge.evaluator.statistics.estimates import Floats
from citeforge.schemas.scores import MeasureScore


def column(values: Sequence[float | None]) -> Floats:
    """Raw values as an array, NaN where there is none."""
    return np.array([math.nan if v is None else v for v in values], np.float64)


def jackknife_pseudovalues(entry: MeasureScore) -> Floats:
    """Raw values, shape (queries,), whose mean is the measure's value; NaN where not defined."""
    if entry.influence is None or entry.value is None:
        return column(entry.per_query)
    moves = np.nan_to_num(column(entry.influence))
    found: Floats = entry.value / entry.scale + len(moves) * moves
    return found


def change(a: MeasureScore, b: MeasureScore) -> Floats:
    """Second minus first of each query, as displayed; NaN where not defined.

    Of means, where both are defined. Else the mean is the difference of the two values that are
    displayed, over the queries that enter either.
    """
    plain: Floats = a.scale * (column(b.per_query) - column(a.per_query))
    if a.influence is None and b.influence is None:
        return plain
    first, second = _influence(a), _influence(b)
    if first is None or second is None or a.value is None or b.value is None:
        return plain
    enters = ~np.isnan(first) | ~np.isnan(second)
    moved = np.nan_to_num(second) - np.nan_to_num(first)
    return np.where(enters, b.value - a.value + a.scale * enters.sum() * moved, np.nan)


def is_displayed(a: MeasureScore, b: MeasureScore) -> bool:
    """Whether :func:`change` is of the values displayed."""
    if a.influence is None and b.influence is None:
        return _is_mean(a) and _is_mean(b)
    return _influence(a) is not None and _influence(b) is not None


def _is_mean(entry: MeasureScore) -> bool:
    """Whether a measure's value is the mean of its queries' values."""
    known = [v for v in entry.per_query if v is not None]
    if entry.value is None or not known:
        return True
    return math.isclose(entry.scale * float(np.mean(known)), entry.value, abs_tol=1e-6)


def _influence(entry: MeasureScore) -> Floats | None:
    """What each query does to the value, NaN where it does not enter; None where nobody knows."""
    if entry.influence is not None:
        return column(entry.influence)
    values = column(entry.per_query)
    n = int((~np.isnan(values)).sum())
    if entry.value is None or not n:
        return None
    return (values - np.nansum(values) / n) / n if _is_mean(entry) else None
