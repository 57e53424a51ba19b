"""Measures to samples: those that are computed together, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from citeforge.engines.io.progress import INTERVAL, Lines
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.declared import Compute, Measure
from citeforge.evaluator.reports.entries import Row
from citeforge.evaluator.statistics.estimates import Measured
from citeforge.schemas.scores import NotComputed

Results = tuple[list[Row], list[NotComputed]]
"""Measures that could be computed, and why others could not."""


def compute(inputs: Any, measures: Sequence[Measure]) -> Results:
    """Samples of measures, in their order.

    Args:
        inputs: what their functions read.
        measures: all of them read the same.
    """
    samples: dict[str, Measured | str] = {}
    with Lines("measuring", len(measures), "measures", INTERVAL) as lines:
        for function, together in _by_function(measures).items():
            lines.advance(0, together[0].name)
            samples |= _samples(inputs, function, together)
            lines.advance(len(together))
    rows = [Row(m, s) for m in measures if not isinstance(s := samples[m.name], str)]
    return rows, not_computed(
        {m.name: s for m in measures if isinstance(s := samples[m.name], str)}
    )


def _samples(
    inputs: Any, function: Compute, measures: Sequence[Measure]
) -> dict[str, Measured | str]:
    try:
        results = dict(function(inputs, measures))
    except CannotError as error:
        return dict.fromkeys((m.name for m in measures), str(error))
    return {m.name: _defined(results[m.name]) for m in measures}


def compute_cells(cells: Any, measures: Sequence[Measure]) -> Results:
    """Rows of measures that look at all cells of an experiment, one or more a measure."""
    results: list[Row | NotComputed] = []
    for function, together in _by_function(measures).items():
        try:
            results += function(cells, together)
        except CannotError as error:
            results += not_computed(dict.fromkeys((m.name for m in together), str(error)))
    rows = [r for r in results if isinstance(r, Row)]
    return rows, [r for r in results if isinstance(r, NotComputed)]


def not_computed(reasons: Mapping[str, str]) -> list[NotComputed]:
    """Measures to why they could not be computed."""
    return [NotComputed(name=name, reason=reason) for name, reason in reasons.items()]


def _by_function(measures: Sequence[Measure]) -> dict[Compute, list[Measure]]:
    """Measures that one function computes together, in the order of the first of them."""
    together: dict[Compute, list[Measure]] = {}
    for measure in measures:
        together.setdefault(measure.compute, []).append(measure)
    return together


def _defined(result: Measured | str) -> Measured | str:
    """The same, or that no query defines it; measures of whole sets need none."""
    if isinstance(result, str) or result.sample.always or not result.sample.has_interval:
        return result
    return "no query defines it" if np.isnan(result.sample.per_query).all() else result
