"""Queries that do not define a measure, where they count with its worst value."""

import numpy as np

from citeforge.evaluator.statistics.estimates import (
    estimate_value,
    harmonic_sample,
    mean_sample,
)


def test_undefined_queries_count_as_worst() -> None:
    """A mean of 1 and one undefined query of two: 1 / 2; lower is better: (1 + 1) / 2."""
    sample = mean_sample(np.array([[1.0, np.nan]]))
    for value, mean in ((0.0, 0.5), (1.0, 1.0)):
        filled = sample.count_undefined(value)
        assert filled.per_query.tolist() == [[1.0, value]]
        assert estimate_value(filled).value == mean
    both = harmonic_sample(np.array([[1.0, np.nan]]), np.array([[np.nan, 1.0]]))
    assert both.count_undefined(0.0).per_query.tolist() == [[0.0, 0.0]]
    assert estimate_value(both.count_undefined(0.0)).value == 0.5  # of 1/2 and 1/2
    assert mean_sample(np.array([[np.nan, np.nan]])).count_undefined(0.0).per_query.tolist() == [
        [0.0, 0.0]
    ]
