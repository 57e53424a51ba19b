"""Values by (run, query row) as samples with bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from citeforge.evaluator.measures.bounds import Value
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.declared import Compute, Found, Measure
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.evaluator.statistics.estimates import Measured, mean_sample, measured_between

Key = tuple[int, int]
"""(run, row of the query)."""
Rows = dict[Key, float]


def mean_of_defined(inputs: Inputs, name: str, rows: Rows) -> tuple[str, Measured]:
    """The mean of values over the queries that have one."""
    return name, Measured(mean_sample(inputs.column(rows)))


def bounded(inputs: Inputs, name: str, values: dict[Key, Value]) -> tuple[str, Measured]:
    """The mean of values between bounds; with an upper sample where the bounds differ."""
    low = inputs.column({k: v.low for k, v in values.items()})
    high = inputs.column({k: v.high for k, v in values.items()})
    return name, measured_between(mean_sample, low, high)


def means_by_answer(
    names: Sequence[str],
    values: Callable[[AnswerItem, Inputs], Sequence[float] | None],
    needs: str = "",
) -> Compute:
    """Means over queries of several numbers of each answer.

    Args:
        names: measures, in the order of the numbers.
        values: an answer to its numbers; None where they are not defined.
        needs: what is missing when no answer has any; empty where all have.
    """

    def compute(inputs: Inputs, measures: Sequence[Measure]) -> Found:
        rows = {
            (run, item.row): numbers
            for run, item in inputs.items()
            if (numbers := values(item, inputs)) is not None
        }
        if needs and not rows:
            raise CannotError(f"needs {needs}")
        yield from means_of_columns(inputs, names, rows)

    return compute


def per_answer(value: Callable[[AnswerItem], float | None]) -> Compute:
    """The mean over queries of a plain function of one answer.

    Args:
        value: an answer with its query, passages and gold to its raw value; None where the measure
            is not defined. A missing answer comes with an empty output and ``is_missing``.
    """

    def number(item: AnswerItem, inputs: Inputs) -> tuple[float] | None:
        return None if (defined := value(item)) is None else (defined,)

    return lambda inputs, measures: means_by_answer([measures[0].name], number)(inputs, measures)


def means_of_columns(
    inputs: Inputs, names: Iterable[str], rows: Mapping[Key, Sequence[float]]
) -> Found:
    """The mean of each number of the answers, by name."""
    for at, name in enumerate(names):
        yield mean_of_defined(inputs, name, {k: float(v[at]) for k, v in rows.items()})
