"""Check that a measure's value in a score file agrees with its values per query."""

import math

from citeforge.engines.shown import show_number
from citeforge.schemas.scores import MeasureScore, ScoreFile


def value_fault(entry: MeasureScore, file: ScoreFile) -> str | None:
    """Describe how a measure's value contradicts its values by query; None if it fits.

    Args:
        entry: the measure.
        file: its score file; where gold is hidden there are no values by query.
    """
    if file.gold == "withheld":
        return None
    values = [entry.scale * v for v in entry.per_query if v is not None]
    if entry.influence is not None:
        total = math.fsum(v for v in entry.influence if v is not None)
        return None if abs(total) < 1e-6 else f"{entry.name}: its influences do not sum to 0"
    if not values:  # a measure of the whole set, or no value at all
        fits = entry.value is None or entry.interval == "none"
        return None if fits else f"{entry.name}: {entry.value} is of no query"
    mean = math.fsum(values) / len(values)
    if entry.value is None:
        fits = False
    elif file.counts.n_runs > 1:  # a mean of means: runs may define other queries
        fits = min(values) - 1e-6 <= entry.value <= max(values) + 1e-6
    else:
        fits = math.isclose(entry.value, mean, rel_tol=1e-6, abs_tol=1e-6)
    return (
        None
        if fits
        else f"{entry.name}: {entry.value} is not the mean of its values, {show_number(mean)}"
    )
