"""Values with bounds where a judgement failed, and results of answers, by answer or in columns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from citeforge.engines.judge.records import Decision, JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.statistics.estimates import (
    Floats,
    Sample,
    mean_sample,
    ratio_sample,
    sample_between,
)
from citeforge.evaluator.submissions.inputs import AnswerKey

R = TypeVar("R")


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

    @staticmethod
    def harmonic(a: "Value", b: "Value") -> "Value":
        """Compute the harmonic mean (F1) of two values, bound by bound; 0 where both are 0."""
        return Value(
            *(2 * x * y / (x + y) if x + y else 0.0 for x, y in ((a.low, b.low), (a.high, b.high)))
        )

    @property
    def complement(self) -> "Value":
        """1 minus the value."""
        return Value(1 - self.high, 1 - self.low)

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


def level_value(decision: Decision) -> Value:
    """Get a decision's degree of support, from 0 to 1; bounds 0 and 1 where the judge failed."""
    if isinstance(decision, JudgeFailure):
        return Value(0.0, 1.0)
    return Value.exact(decision.level)


def extreme_mean(sure: Sequence[float], maybe: Sequence[float], highest: bool) -> float:
    """Compute the highest or lowest mean of ``sure`` with any subset of ``maybe``.

    Args:
        sure: values that enter the mean.
        maybe: values that may enter it, or not.
        highest: whether to compute the highest mean, or the lowest; NaN without values.
    """
    values = [*sure, *sorted(maybe, reverse=highest)]
    means = np.cumsum(values) / np.arange(1, len(values) + 1)
    possible = means[max(len(sure) - 1, 0) :]
    if not len(possible):
        return float("nan")
    return float(possible.max() if highest else possible.min())


Number = float | Value
"""A number of an answer, also a decision, or one between bounds."""


class ByAnswer(dict[AnswerKey, R]):
    """Results of answers, by run and row of their query, and the two ways to sum them up.

    Attributes:
        shape: number of runs, and number of queries.
        choices: what the benchmark's texts decided, for signatures.
    """

    def __init__(
        self, results: Mapping[AnswerKey, R], shape: tuple[int, int], choices: tuple[str, ...] = ()
    ) -> None:
        """Store each answer's result by (run, query row), and ``choices`` to name in signatures."""
        super().__init__(results)
        self.shape, self.choices = shape, choices

    def mean(self, get_number: Callable[[R], Number | None] | None = None) -> Sample:
        """Average a number from each answer's result over the queries where it is defined.

        Args:
            get_number: takes it from an answer's result, None where it is not defined; without this
                function the result is the number.
        """
        low, high = np.full(self.shape, np.nan), np.full(self.shape, np.nan)
        for key, result in self.items():
            value: Any = result if get_number is None else get_number(result)
            if value is not None:
                low[key], high[key] = _bounds(value)
        return replace(sample_between(mean_sample, low, high), choices=self.choices)

    def ratio(self, get_parts: Callable[[R], tuple[Number, float]]) -> Sample:
        """Divide the sum of one number over all answers by the sum of another.

        Args:
            get_parts: takes both from an answer's result.
        """
        return sample_between(ratio_sample, *self.sums(get_parts))

    def sums(self, get_parts: Callable[[R], tuple[Number, float]]) -> tuple[Floats, Floats]:
        """Return (lowest, highest) numerators and denominators, each (runs, queries, 2).

        Args:
            get_parts: gets (numerator, denominator) from an answer's result.
        """
        low, high = np.zeros((*self.shape, 2)), np.zeros((*self.shape, 2))
        for key, result in self.items():
            above, below = get_parts(result)
            first, last = _bounds(above)
            low[key], high[key] = (first, below), (last, below)
        return low, high


def _bounds(number: Number) -> tuple[float, float]:
    """Get (lowest, highest) of a number that may be a range, since the judge failed."""
    return (number.low, number.high) if isinstance(number, Value) else (number, number)
