"""Values by (run, query row), between bounds where a judgement failed, as samples."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.text.segment import Segmenter
from citeforge.evaluator.measures.declared import CannotError, Found, Measure
from citeforge.evaluator.statistics.estimates import Sample, mean_sample, sample_between
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.evaluator.submissions.tools import NO_JUDGE, ScoringTools
from citeforge.schemas.errors import InputError

Key = tuple[int, int]
"""(run, row of the query)."""
Rows = dict[Key, float]
ComputeItems = Callable[[Inputs, Sequence[Measure]], Found]
"""Computes measures of answers that cite passages."""


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
        """Average values (of decisions: the share that hold); 0 without any."""
        n = len(values) or 1
        return Value(sum(v.low for v in values) / n, sum(v.high for v in values) / n)

    @staticmethod
    def best(values: "Iterable[Value]") -> "Value":
        """Get the highest of some values; 0 without any."""
        pairs = [(v.low, v.high) for v in values] or [(0.0, 0.0)]
        return Value(*map(max, zip(*pairs, strict=True)))

    def __add__(self, other: "Value") -> "Value":
        """Add two values, bound by bound."""
        return Value(self.low + other.low, self.high + other.high)

    def __truediv__(self, divisor: float) -> "Value":
        """Divide both bounds by a number."""
        return Value(self.low / divisor, self.high / divisor)


NOTHING = Value(0.0, 0.0)


def judge_of(tools: ScoringTools) -> JudgeSession:
    """Get the judge; raise CannotError without one.

    Raises:
        CannotError: there is none.
    """
    if tools.judge is None:
        raise CannotError(NO_JUDGE, code="missing-judge")
    return tools.judge


def segmenter_of(tools: ScoringTools) -> Segmenter:
    """Get the sentence segmenter; raise CannotError without one.

    Raises:
        CannotError: there is no segmenter.
    """
    if tools.segmenter is None:
        raise CannotError(tools.why_no_segmenter or "needs a segmenter", code="missing-model")
    return tools.segmenter


def decided(judge: JudgeSession, pair: Pair) -> Value:
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


def mean_of_defined(inputs: Inputs, name: str, rows: Rows) -> tuple[str, Sample]:
    """Average values over the queries that have one; return (name, sample)."""
    return name, mean_sample(inputs.column(rows))


def bounded(inputs: Inputs, name: str, values: dict[Key, Value]) -> tuple[str, Sample]:
    """Make the sample of a mean of bounded values, with its upper bound; return (name, sample)."""
    low = inputs.column({k: v.low for k, v in values.items()})
    high = inputs.column({k: v.high for k, v in values.items()})
    return name, sample_between(mean_sample, low, high)


def means_by_answer(
    names: Sequence[str],
    values: Callable[[AnswerItem, Inputs], Sequence[float] | None],
    needs: str = "",
) -> ComputeItems:
    """Make the function that averages several numbers of each answer over queries.

    Args:
        names: measures, in the order of the numbers.
        values: an answer to its numbers; None where they are not defined.
        needs: what the error says is missing when no answer has any; empty where all have.
    """

    def compute(inputs: Inputs, measures: Sequence[Measure]) -> Found:
        """Compute the numbers of every answer, and average each over queries."""
        rows = {
            (run, item.row): numbers
            for run, item in inputs.items()
            if (numbers := values(item, inputs)) is not None
        }
        if needs and not rows:
            raise CannotError(f"needs {needs}", code="no-gold")
        yield from means_of_columns(inputs, names, rows)

    return compute


def per_answer(value: Callable[[AnswerItem], float | None]) -> ComputeItems:
    """Make the function that averages one number of each answer over queries.

    Args:
        value: an answer with its query, passages and gold to its raw value; None where the measure
            is not defined. A missing answer comes with an empty output and ``is_missing``.
    """

    def compute(inputs: Inputs, measures: Sequence[Measure]) -> Found:
        """Compute the number of every answer, and average it over queries."""
        (measure,) = measures

        def number(item: AnswerItem, inputs: Inputs) -> tuple[float] | None:
            """Compute the value of one answer; refuse one outside the measure's range."""
            defined = value(item)
            if defined is not None and not measure.low <= defined <= measure.range.high:
                raise InputError(
                    f"{measure.name} of the query {item.query!r} is {defined:g}, and its range is "
                    f"{measure.low:g} to {measure.range.high:g}",
                    allowed="mend the plugin that defines the measure",
                    code="broken-plugin",
                )
            return None if defined is None else (defined,)

        return means_by_answer([measure.name], number)(inputs, measures)

    return compute


def means_of_columns(
    inputs: Inputs, names: Iterable[str], rows: Mapping[Key, Sequence[float]]
) -> Found:
    """Average each column of numbers of the answers over queries; yield samples by name."""
    for at, name in enumerate(names):
        yield mean_of_defined(inputs, name, {k: float(v[at]) for k, v in rows.items()})
