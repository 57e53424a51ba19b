"""Entries of score files."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.statistics import Estimate, Measured, Sample, estimate_all
from citeforge.schemas.scores import MeasureScore
from citeforge.schemas.signature import Signature


def make_entry(
    measure: Measure,
    sample: Sample,
    estimate: Estimate,
    signature: Signature,
    name: str | None = None,
) -> MeasureScore:
    """The entry of one measure in a score file.

    Args:
        measure: its declaration.
        sample: its values.
        estimate: its mean with uncertainty.
        signature: its recipe.
        name: name of the entry; None for the measure's.
    """
    defined = ~np.isnan(sample.per_query)
    n_defined = defined.any(axis=0)
    totals = np.where(defined, sample.per_query, 0.0).sum(axis=0)
    means = np.divide(
        totals, defined.sum(axis=0), out=np.full(totals.shape, np.nan), where=n_defined
    )
    scale = measure.scale
    low, high = estimate.low, estimate.high
    if estimate.interval in ("t", "normal"):  # symmetric, and so may leave the possible values
        low = max(low, measure.low)
        high = high if measure.high is None else min(high, measure.high)
    return MeasureScore(
        name=name or measure.name,
        signature=str(signature),
        scale=scale,
        value=shown(estimate.value, scale),
        low=shown(low, scale),
        high=shown(high, scale),
        stderr=shown(estimate.stderr, scale),
        sd_runs=shown(estimate.sd_runs, scale),
        interval=estimate.interval,
        n=int(n_defined.sum()),
        n_undefined=int((~n_defined).sum()),
        per_query=[None if math.isnan(v) else v for v in means.tolist()],
    )


def bounded_entries(
    rows: Sequence[tuple[Measure, Measured]], sign: Callable[[Measure], Signature]
) -> list[MeasureScore]:
    """Entries of measures, with bounds where the judge failed.

    Args:
        rows: each measure with its samples.
        sign: recipe of a measure.
    """
    estimates = estimate_all([m.sample for _, m in rows])
    bounds = [m.upper for _, m in rows if m.upper is not None]
    uppers = iter(estimate_all(bounds, resamples=2))
    entries = []
    for (measure, measured), estimate in zip(rows, estimates, strict=True):
        entry = make_entry(measure, measured.sample, estimate, sign(measure))
        if measured.upper is not None:
            entry.lower_bound = entry.value
            entry.upper_bound = shown(next(uppers).value, measure.scale)
        entries.append(entry)
    return entries


def shown(value: float, scale: int) -> float | None:
    """Displayed value, to 10 decimals; None where there is none."""
    return None if math.isnan(value) else round(value * scale, 10)
