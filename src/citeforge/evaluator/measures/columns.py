"""Values by (run, query row) as samples with bounds."""

from __future__ import annotations

from citeforge.evaluator.measures.bounds import Value
from citeforge.evaluator.statements.inputs import Inputs
from citeforge.evaluator.statistics.estimates import Measured, mean_sample

Key = tuple[int, int]
"""(run, row of the query)."""
Rows = dict[Key, float]


def mean_of_defined(inputs: Inputs, name: str, rows: Rows) -> tuple[str, Measured]:
    """The mean of values over the queries that have one."""
    return name, Measured(mean_sample(name, inputs.column(rows)))


def bounded(inputs: Inputs, name: str, values: dict[Key, Value]) -> tuple[str, Measured]:
    """The mean of values between bounds; with an upper sample where the bounds differ."""
    low = {k: v.low for k, v in values.items()}
    high = {k: v.high for k, v in values.items()}
    upper = None if low == high else mean_sample(name, inputs.column(high))
    return name, Measured(mean_sample(name, inputs.column(low)), upper)
