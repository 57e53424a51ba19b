"""Values by run and query, with bounds where a judgement failed, and samples made of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.statistics.estimates import Sample, mean_sample, sample_between
from citeforge.evaluator.submissions.inputs import AnswerItem, AnswerKey, Inputs
from citeforge.evaluator.submissions.tools import CannotError

Rows = dict[AnswerKey, float]
T = TypeVar("T")
Compute = Callable[[Inputs], Sample]
"""Computes a measure of answers that cite passages."""


@dataclass(frozen=True)
class Value:
    """A score, or a decision (0 or 1), between the bounds that failed judgements leave open."""

    low: float
    high: float

    @staticmethod
    def exact(value: float) -> "Value":
        """Make a value whose bounds are equal: every judgement that it needs succeeded."""
        return Value(value, value)

    @staticmethod
    def mean(values: "Sequence[Value]") -> "Value":
        """Average values, bound by bound (decisions: the share that hold); 0 if there are none."""
        n = len(values) or 1
        return Value(sum(v.low for v in values) / n, sum(v.high for v in values) / n)

    @staticmethod
    def best(values: "Iterable[Value]") -> "Value":
        """Take the maximum of the lower bounds and that of the upper bounds; 0 for no values."""
        pairs = [(v.low, v.high) for v in values] or [(0.0, 0.0)]
        return Value(*map(max, zip(*pairs, strict=True)))

    def __add__(self, other: "Value") -> "Value":
        """Add two values, bound by bound."""
        return Value(self.low + other.low, self.high + other.high)

    def __truediv__(self, divisor: float) -> "Value":
        """Divide both bounds by a number."""
        return Value(self.low / divisor, self.high / divisor)


NOTHING = Value(0.0, 0.0)


def judge_pair(judge: JudgeSession, pair: Pair) -> Value:
    """Ask a judge about one pair: 1 if entailed, else 0; bounds 0 and 1 where it failed."""
    decision = judge.ask([pair])[pair]
    if isinstance(decision, JudgeFailure):
        return Value(0.0, 1.0)
    return Value.exact(float(decision.entailed))


def extreme_mean(sure: Sequence[float], maybe: Sequence[float], highest: bool) -> float:
    """Compute the highest or lowest mean of ``sure`` with any subset of ``maybe``."""
    values = [*sure, *sorted(maybe, reverse=highest)]
    means = np.cumsum(values) / np.arange(1, len(values) + 1)
    possible = means[max(len(sure) - 1, 0) :]
    if not len(possible):
        return float("nan")
    return float(possible.max() if highest else possible.min())


def mean_of_defined(inputs: Inputs, rows: Rows) -> Sample:
    """Average values, given by (run, query row), over the queries that have one."""
    return mean_sample(inputs.column(rows))


def bounded_mean(inputs: Inputs, values: Mapping[AnswerKey, Value]) -> Sample:
    """Average values that have bounds over the queries that have one; give the mean's bounds."""
    low = inputs.column({k: v.low for k, v in values.items()})
    high = inputs.column({k: v.high for k, v in values.items()})
    return sample_between(mean_sample, low, high)


def values_by_answer(
    value: Callable[[AnswerItem, Inputs], T | None], needs: str = ""
) -> Callable[[Inputs], dict[AnswerKey, T]]:
    """Return a function that computes ``value`` for every answer for which it is defined.

    Args:
        value: an answer to its value, or several; None where they are not defined.
        needs: what the error says is missing when no answer has a value; empty where all have.
    """

    def compute(inputs: Inputs) -> dict[AnswerKey, T]:
        """Map (run, query row) to the value of each answer that has one."""
        values = {
            (run, item.row): one
            for run, item in inputs.items()
            if (one := value(item, inputs)) is not None
        }
        if needs and not values:
            raise CannotError(f"needs {needs}", code="no-gold")
        return values

    return compute


def mean_of(
    values: Callable[[Inputs], Mapping[AnswerKey, T]],
    number: Callable[[T], float],
    choices: Callable[[Inputs], tuple[str, ...]] = lambda inputs: (),
) -> Compute:
    """Return a measure's function, which averages one number of each answer's shared result.

    Args:
        values: answers to what the measures share, by run and row of the query.
        number: takes this measure's number from that of one answer.
        choices: answers to what the benchmark's texts decided, for signatures.
    """

    def compute(inputs: Inputs) -> Sample:
        """Take one number from each answer's shared result, and average over queries."""
        rows = {key: float(number(one)) for key, one in inputs.once(values).items()}
        return replace(mean_of_defined(inputs, rows), choices=choices(inputs))

    return compute


def bounded_mean_of(
    values: Callable[[Inputs], Mapping[AnswerKey, T]], value: Callable[[T], Value]
) -> Compute:
    """Return a measure's function as :func:`mean_of` does, for values between bounds.

    Args:
        values: answers to what the measures share, by run and row of the query.
        value: takes this measure's value from that of one answer.
    """

    def compute(inputs: Inputs) -> Sample:
        """Take one bounded value from each answer's shared result, and average over queries."""
        return bounded_mean(inputs, {key: value(v) for key, v in inputs.once(values).items()})

    return compute


def per_answer(value: Callable[[AnswerItem], float | None], missing: float | None) -> Compute:
    """Return a measure's function, which averages a number computed from each answer.

    Args:
        value: an answer with its query, passages and gold to its raw value; None where the measure
            is not defined. A missing answer comes with an empty output and ``is_missing``.
        missing: value of a missing answer where one is defined: the worst of the measure's range;
            None for what ``value`` makes of it, where no answer is needed.
    """

    def or_missing(item: AnswerItem, inputs: Inputs) -> float | None:
        """Compute the value of an answer; return ``missing`` instead if the answer is missing."""
        number = value(item)
        is_replaced = item.is_missing and missing is not None and number is not None
        return missing if is_replaced else number

    return mean_of(values_by_answer(or_missing), lambda number: number)
