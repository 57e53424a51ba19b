"""Entries of score files."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.measures.declared import Measure, Row
from citeforge.evaluator.statistics.estimates import (
    Estimate,
    Sample,
    estimate_all,
    influences,
    mean_of_runs,
)
from citeforge.evaluator.statistics.intervals import NONE
from citeforge.evaluator.statistics.significance import holm
from citeforge.evaluator.statistics.variance import shares_of
from citeforge.schemas.scores import MeasureScore, Variance
from citeforge.schemas.signature import Signature


def make_entry(
    measure: Measure, sample: Sample, estimate: Estimate, signature: Signature | str,
    name: str | None = None,
) -> MeasureScore:  # fmt: skip
    """The entry of one measure in a score file.

    Args:
        measure: its declaration.
        sample: its values.
        estimate: its mean with uncertainty.
        signature: its recipe.
        name: name of the entry; None for the measure's.
    """
    means = mean_of_runs(sample.per_query)
    n_defined = int((~np.isnan(means)).sum())
    scale, moves = measure.scale, influences(sample)
    low, high = estimate.low, estimate.high
    most = math.inf if measure.high is None else measure.high
    # A symmetric interval may leave the possible values; the papers' own code may, too.
    if estimate.interval != NONE and measure.low <= estimate.value <= most:
        low, high = max(low, measure.low), min(high, most)
    return MeasureScore(
        name=name or measure.name,
        signature=str(signature),
        scale=scale,
        value=displayed_value(estimate.value, scale),
        low=displayed_value(low, scale),
        high=displayed_value(high, scale),
        stderr=displayed_value(estimate.stderr, scale),
        sd_runs=displayed_value(estimate.sd_runs, scale),
        interval=estimate.interval,
        n=n_defined,
        n_undefined=len(means) - n_defined,
        per_query=[None if math.isnan(v) else v for v in means.tolist()],
        influence=None if moves is None else [None if math.isnan(v) else v for v in moves.tolist()],
        variance=_variance(estimate, measure),
    )


def _variance(estimate: Estimate, measure: Measure) -> Variance | None:
    """Describe where the uncertainty of an estimate comes from."""
    spread, values = estimate.spread, estimate.values
    if spread is None or values is None:
        return None
    components = {k: round(v * measure.scale**2, 10) for k, v in spread.components.items()}
    shares = shares_of(components, spread.levels)
    return Variance(
        levels=spread.levels,
        components=components,
        shares={k: round(v, 10) for k, v in shares.items()},
        values=values.tolist() if "judge" in measure.uses else [],
    )


def make_entries(
    rows: Sequence[Row],
    signatures: Sequence[Signature],
    clusters: npt.NDArray[np.int64] | None = None,
) -> list[MeasureScore]:
    """Entries of all measures, with bounds where the judge failed.

    Args:
        rows: measures with their values.
        signatures: recipes of the rows.
        clusters: cluster of each query, where questions repeat.
    """
    samples = [replace(r.measured.sample, within=r.measure.range) for r in rows]
    estimates = estimate_all(samples, clusters=clusters)
    bounds = [r.measured.upper for r in rows if r.measured.upper is not None]
    uppers = iter(estimate_all(bounds))
    entries = []
    for row, estimate, signature in zip(rows, estimates, signatures, strict=True):
        name = row.measure.name if row.place is None else f"{row.measure.name}[{row.place}]"
        entry = make_entry(row.measure, row.measured.sample, estimate, signature, name)
        if row.measured.upper is not None:
            entry.lower_bound = entry.value
            entry.upper_bound = displayed_value(next(uppers).value, row.measure.scale)
        entry.p_t = None if row.p_t is None or math.isnan(row.p_t) else row.p_t
        entries.append(entry)
    for table in dict.fromkeys(r.table for r in rows if r.table is not None):
        own = [e for e, r in zip(entries, rows, strict=True) if r.table == table]
        for entry, p in zip(own, holm([math.nan if e.p_t is None else e.p_t for e in own]),
                            strict=True):  # fmt: skip
            entry.p_holm = None if math.isnan(p) else p
    return entries


def displayed_value(value: float, scale: int) -> float | None:
    """Displayed value, to 10 decimals; None where there is none."""
    return None if math.isnan(value) else round(value * scale, 10)
