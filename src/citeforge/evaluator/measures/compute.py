"""Measures to samples: those that are computed together, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from citeforge.engines.io.progress import Lines
from citeforge.evaluator.measures.declared import CannotError, Measure
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
    with Lines("measuring", len(measures), "measures") as lines:
        for function in dict.fromkeys(m.compute for m in measures):
            together = [m for m in measures if m.compute == function]
            lines.advance(0, together[0].name)
            try:
                results = dict(function(inputs, together))
                samples |= {m.name: _defined(results[m.name]) for m in together}
            except CannotError as error:
                samples |= dict.fromkeys((m.name for m in together), str(error))
            lines.advance(len(together))
    rows = [Row(m, s) for m in measures if not isinstance(s := samples[m.name], str)]
    return rows, not_computed(
        {m.name: s for m in measures if isinstance(s := samples[m.name], str)}
    )


def compute_cells(cells: Any, measures: Sequence[Measure]) -> Results:
    """Rows of measures that look at all cells of an experiment, one or more a measure."""
    results: list[Row | NotComputed] = []
    for function in dict.fromkeys(m.compute for m in measures):
        together = [m for m in measures if m.compute == function]
        try:
            results += function(cells, together)
        except CannotError as error:
            results += not_computed(dict.fromkeys((m.name for m in together), str(error)))
    rows = [r for r in results if isinstance(r, Row)]
    return rows, [r for r in results if isinstance(r, NotComputed)]


def not_computed(reasons: Mapping[str, str]) -> list[NotComputed]:
    """Measures to why they could not be computed."""
    return [NotComputed(name=name, reason=reason) for name, reason in reasons.items()]


def _defined(result: Measured | str) -> Measured | str:
    """The same, or that no query defines it; measures of whole sets need none."""
    if isinstance(result, str) or result.sample.always or not result.sample.has_interval:
        return result
    return "no query defines it" if np.isnan(result.sample.per_query).all() else result
