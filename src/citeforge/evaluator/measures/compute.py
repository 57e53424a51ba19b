"""Measures to samples: those that are computed together, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.declared import Compute, Measure
from citeforge.evaluator.statistics.estimates import Measured


def compute(inputs: Any, measures: Sequence[Measure]) -> dict[str, Measured | str]:
    """Samples of measures; a text instead says why one could not be computed.

    Args:
        inputs: what their functions read.
        measures: all of them read the same.
    """
    together: dict[Compute, list[Measure]] = {}
    for measure in measures:
        together.setdefault(measure.compute, []).append(measure)
    found: dict[str, Measured | str] = {}
    for function, wanted in together.items():
        try:
            results = dict(function(inputs, wanted))
        except CannotError as error:
            found.update(dict.fromkeys((m.name for m in wanted), str(error)))
            continue
        for measure in wanted:
            result = results[measure.name]
            if isinstance(result, Measured) and not _is_defined(result):
                result = "no query defines it"
            found[measure.name] = result
    return found


def _is_defined(measured: Measured) -> bool:
    """Whether some query defines it; measures of whole sets need none."""
    sample = measured.sample
    if sample.always or not sample.has_interval:
        return True
    return not np.isnan(sample.per_query).all()
