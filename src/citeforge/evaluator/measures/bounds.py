"""Values that a failed judgement leaves open, as lower and upper bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession


class Bounds(NamedTuple):
    """A decision: (low, high) are equal when the judge decided, else False and True."""

    low: bool
    high: bool


BOTH = Bounds(False, True)


def decided(judge: JudgeSession, pair: Pair) -> Bounds:
    """What a judge says of one pair."""
    decision = judge.ask([pair])[pair]
    if isinstance(decision, JudgeFailure):
        return BOTH
    return Bounds(decision.entailed, decision.entailed)


@dataclass(frozen=True)
class Value:
    """A score between bounds."""

    low: float
    high: float

    @staticmethod
    def mean(decisions: Sequence[Bounds]) -> Value:
        """Share of decisions that hold; 0 of none."""
        n = len(decisions) or 1
        return Value(sum(d.low for d in decisions) / n, sum(d.high for d in decisions) / n)

    def __add__(self, other: Value) -> Value:
        return Value(self.low + other.low, self.high + other.high)

    def __truediv__(self, divisor: float) -> Value:
        return Value(self.low / divisor, self.high / divisor)


def extreme_mean(sure: Sequence[float], maybe: Sequence[float], highest: bool) -> float:
    """The highest or lowest mean of all of ``sure`` with any of ``maybe``; NaN of none at all."""
    values = [*sure, *sorted(maybe, reverse=highest)]
    means = np.cumsum(values) / np.arange(1, len(values) + 1)
    possible = means[max(len(sure) - 1, 0) :]
    if not len(possible):
        return float("nan")
    return float(possible.max() if highest else possible.min())
