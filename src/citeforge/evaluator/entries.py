"""Make the entries of score files."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.statistics.estimates import (
    Estimate,
    Sample,
    estimate_value,
    influences,
    mean_of_runs,
)
from citeforge.evaluator.statistics.intervals import COVERAGE, NONE
from citeforge.evaluator.statistics.significance import holm
from citeforge.evaluator.statistics.variance import compute_shares
from citeforge.schemas.scores import MeasureScore, Variance
from citeforge.schemas.signature import Signature


def make_entry(
    measure: Measure, sample: Sample, signature: Signature | str,
    clusters: npt.NDArray[np.int64] | None = None, level: float = COVERAGE,
) -> MeasureScore:  # fmt: skip
    """Make a measure's entry in a score file, with bounds if the judge failed on some pairs.

    Args:
        measure: declaration of the measure.
        sample: values of the measure.
        signature: signature of the value.
        clusters: cluster of each query, if questions repeat.
        level: probability that the interval covers the value.
    """
    estimate = estimate_value(replace(sample, within=measure.range), clusters, level)
    means = mean_of_runs(sample.per_query)
    n_defined = int((~np.isnan(means)).sum())
    scale, moves = measure.scale, influences(sample)
    low, high = estimate.low, estimate.high
    # Intervals are cut to the range of the measure, unless the value itself is outside of it.
    if estimate.interval != NONE and measure.low <= estimate.value <= measure.range.high:
        low, high = max(low, measure.low), min(high, measure.range.high)
    value, upper_bound = displayed_value(estimate.value, scale), None
    if sample.upper is not None:
        upper_bound = displayed_value(estimate_value(sample.upper).value, scale)
    return MeasureScore(
        name=measure.name if sample.place is None else f"{measure.name}[{sample.place}]",
        signature=str(signature),
        scale=scale,
        value=value,
        low=displayed_value(low, scale),
        high=displayed_value(high, scale),
        stderr=displayed_value(estimate.stderr, scale),
        sd_runs=displayed_value(estimate.sd_runs, scale),
        interval=estimate.interval,
        n=n_defined,
        n_undefined=len(means) - n_defined,
        lower_bound=None if sample.upper is None else value,
        upper_bound=upper_bound,
        p_t=None if sample.p_t is None or math.isnan(sample.p_t) else sample.p_t,
        per_query=[None if math.isnan(v) else v for v in means.tolist()],
        influence=None if moves is None else [None if math.isnan(v) else v for v in moves.tolist()],
        variance=_list_variance(estimate, measure),
        weights=sample.weights,
    )


def _list_variance(estimate: Estimate, measure: Measure) -> Variance | None:
    """List an estimate's variance by source (queries, runs, …); None if it has one source only."""
    spread, values = estimate.spread, estimate.values
    if spread is None or values is None:
        return None
    components = {k: round(v * measure.scale**2, 10) for k, v in spread.components.items()}
    shares = compute_shares(components, spread.levels)
    return Variance(
        levels=spread.levels,
        components=components,
        shares={k: round(v, 10) for k, v in shares.items()},
        values=values.tolist() if measure.asks_judge else [],
    )


def make_entries(
    samples: Sequence[tuple[Measure, Sample]],
    signatures: Sequence[Signature],
    clusters: npt.NDArray[np.int64] | None = None,
) -> list[MeasureScore]:
    """Make score file entries of all measures; Holm adjusts p-values within each table.

    Args:
        samples: measures with their values.
        signatures: signatures of the values.
        clusters: cluster of each query, if questions repeat.
    """
    entries = [
        make_entry(measure, sample, signature, clusters)
        for (measure, sample), signature in zip(samples, signatures, strict=True)
    ]
    for table in dict.fromkeys(s.table for _, s in samples if s.table is not None):
        own = [e for e, (_, s) in zip(entries, samples, strict=True) if s.table == table]
        for entry, p in zip(own, holm([math.nan if e.p_t is None else e.p_t for e in own]),
                            strict=True):  # fmt: skip
            entry.p_holm = None if math.isnan(p) else p
    return entries


def displayed_value(value: float, scale: int) -> float | None:
    """Scale a value for display, rounded to 10 decimals, never −0; None for NaN."""
    return None if math.isnan(value) else round(value * scale, 10) + 0.0
