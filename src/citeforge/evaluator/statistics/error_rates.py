"""Error rates of a judge, and the correction of shares by them (Rogan & Gladen 1978)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from citeforge.engines.shown import show_number, show_percent
from citeforge.evaluator.statistics.estimates import Floats, estimate_value, ratio_sample
from citeforge.evaluator.statistics.intervals import ANYTHING, Z_95, Range
from citeforge.evaluator.statistics.ppi import (
    PpiEstimate,
    compute_interval,
    gradient,
    undefined_estimate,
)

_SHARES = Range(0, 1)


@dataclass(frozen=True)
class Rates:
    """Sensitivity and specificity of a judge, with their standard errors.

    Attributes:
        sensitivity: share of supported statements that the judge calls supported.
        specificity: share of unsupported statements that the judge calls not supported.
        sensitivity_stderr: standard error of the sensitivity, over answers.
        specificity_stderr: standard error of the specificity, over answers.
        covariance: covariance of the two estimates, if answers have statements of both sorts.
    """

    sensitivity: float
    specificity: float
    sensitivity_stderr: float
    specificity_stderr: float
    covariance: float = 0.0

    @property
    def youden(self) -> float:
        """Youden's index, sensitivity + specificity − 1; 0 for a judge no better than chance."""
        return self.sensitivity + self.specificity - 1

    @property
    def youden_stderr(self) -> float:
        """Standard error of :attr:`youden`; NaN if the rates are from a single answer."""
        variance = self.sensitivity_stderr**2 + self.specificity_stderr**2 + 2 * self.covariance
        return math.nan if math.isnan(variance) else math.sqrt(max(0.0, variance))

    def __str__(self) -> str:
        """Write sensitivity and specificity, for messages."""
        figures = (show_number(rate, 3) for rate in (self.sensitivity, self.specificity))
        return "sensitivity {}, specificity {}".format(*figures)


def why_not_corrected(estimate: PpiEstimate, rates: Rates, value_range: Range) -> str:
    """Explain why a share cannot be corrected by error rates; empty if it can.

    Args:
        estimate: result of :func:`rogan_gladen`.
        rates: error rates of the judge.
        value_range: range of the measure.
    """
    if not rates.youden - Z_95 * rates.youden_stderr > 0:
        return (
            f"the benchmark's calibration ({rates}) cannot tell the judge from chance; label more "
            "answers, or take another judge"
        )
    if math.isnan(estimate.value):
        return "it has no value on these answers"
    beyond = max(estimate.value - value_range.high, value_range.low - estimate.value)
    if beyond > Z_95 * estimate.stderr:
        return (
            f"with the calibration's error rates ({rates}) the judge would find between "
            f"{show_percent(1 - rates.specificity, 1)} and "
            f"{show_percent(rates.sensitivity, 1)}, whatever is true; these "
            "answers are of another kind than those that were labelled: label some of these "
            "(--labels)"
        )
    return ""


def rogan_gladen(
    judged_sums: Floats,
    yes_and_no_sums: Floats,
    combine: Callable[[Floats], Floats],
    rates: Rates,
    value_range: Range = ANYTHING,
) -> PpiEstimate:
    """Correct a share (``combine`` of sums) by the judge's error rates (Rogan & Gladen 1978).

    Args:
        judged_sums: sums of each answer under the judge's verdicts, shape (queries, k).
        yes_and_no_sums: the same sums if the judge accepted everything, and if it rejected
            everything, shape (2, queries, k).
        combine: function of sums to values.
        rates: error rates of the judge.
        value_range: range of the measure, see :func:`estimate_ppi`.

    Returns:
        NaN where the judge is no better than chance (sensitivity + specificity ≤ 1).
    """
    youden = rates.youden
    n = len(judged_sums)
    if youden <= 0 or n < 2:
        return undefined_estimate(0)
    yes, no = yes_and_no_sums
    span = yes - no
    false_alarm = 1 - rates.specificity
    sums = no + (judged_sums - no - false_alarm * span) / youden
    mean = sums.mean(axis=0)
    value = float(combine(mean))
    if math.isnan(value):
        return undefined_estimate(0)
    slope = gradient(combine, mean)
    over_answers = float(np.var(sums @ slope, ddof=1)) / n
    # Derivatives of the corrected sums by sensitivity and by specificity.
    corrected = (sums - no).mean(axis=0)
    by_sensitivity = float(-corrected @ slope) / youden
    by_specificity = float((span.mean(axis=0) - corrected) @ slope) / youden
    of_rates = (
        (by_sensitivity * rates.sensitivity_stderr) ** 2
        + (by_specificity * rates.specificity_stderr) ** 2
        + 2 * by_sensitivity * by_specificity * rates.covariance
    )
    stderr = math.sqrt(over_answers + max(0.0, of_rates))
    df = stderr**4 / (over_answers**2 / (n - 1)) if over_answers > 0 else math.inf
    low, high = compute_interval(value, stderr, df, n, value_range)
    return PpiEstimate(value, low, high, stderr, math.nan, 0, df)


def compute_rates(answers: Sequence[Sequence[tuple[bool, bool]]]) -> Rates:
    """Compute a judge's sensitivity and specificity, with standard errors clustered by answer.

    Args:
        answers: (people say supported, judge says supported) of each statement of each answer.
    """
    right, of_all = _count_decisions(answers)
    n = of_all.sum(axis=0)
    rates = [float(r / t) if t else math.nan for r, t in zip(right.sum(axis=0), n, strict=True)]
    if len(right) < 2 or any(map(math.isnan, rates)):
        return Rates(rates[0], rates[1], math.nan, math.nan)
    influence = ((right - np.array(rates) * of_all) / n).T
    covariance = influence @ influence.T * len(right) / (len(right) - 1)
    errors = np.sqrt(np.diag(covariance)).tolist()
    return Rates(rates[0], rates[1], errors[0], errors[1], float(covariance[0, 1]))


def compute_lower_bounds(answers: Sequence[Sequence[tuple[bool, bool]]]) -> tuple[float, float]:
    """Compute lower ends of the 95 % intervals of a judge's (sensitivity, specificity).

    Each rate is estimated from the answers with statements of its sort alone.

    Args:
        answers: (people say supported, judge says supported) of each statement of each answer.

    Returns:
        NaN for a rate if fewer than two answers have such statements.
    """
    counts = np.stack(_count_decisions(answers), axis=-1)  # (answers, both rates, right and all)
    sensitivity, specificity = (
        estimate_value(replace(ratio_sample(counts[None, :, rate]), within=_SHARES)).low
        for rate in range(2)
    )
    return sensitivity, specificity


def _count_decisions(answers: Sequence[Sequence[tuple[bool, bool]]]) -> tuple[Floats, Floats]:
    """Count per answer (right decisions, statements), each for supported and other statements.

    Returns:
        Two arrays of shape (answers, 2).
    """
    # (both say supported, people do, neither does, people do not) of each answer
    counts = np.array([
        [pairs.count((True, True)), n_human := sum(h for h, _ in pairs),
         pairs.count((False, False)), len(pairs) - n_human]
        for pairs in answers
    ], np.float64).reshape(-1, 4)  # fmt: skip
    return counts[:, ::2], counts[:, 1::2]
