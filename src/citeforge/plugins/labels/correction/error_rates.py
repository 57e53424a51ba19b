"""Shares corrected by error rates of a judge, from labels of other answers (Rogan & Gladen)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from citeforge.evaluator.statistics.estimates import Floats
from citeforge.evaluator.statistics.intervals import ANYTHING, Range
from citeforge.plugins.labels.correction.ppi import Powered, gradient, interval_of, nothing


@dataclass(frozen=True)
class Rates:
    """How often a judge is right, from labels of other answers.

    Attributes:
        sensitivity: share of supported statements that it calls supported.
        specificity: share of others that it calls not supported.
        sensitivity_stderr: standard error, over answers.
        specificity_stderr: likewise.
        covariance: of the two estimates, where answers have statements of both sorts.
    """

    sensitivity: float
    specificity: float
    sensitivity_stderr: float
    specificity_stderr: float
    covariance: float = 0.0


def rogan_gladen(
    said: Floats,
    asked: Floats,
    combine: Callable[[Floats], Floats],
    rates: Rates,
    within: Range = ANYTHING,
) -> Powered:
    """Share corrected by sensitivity and specificity (Rogan & Gladen 1978), with both
    uncertainties: of the answers scored, and of the two rates (Lang & Reiczigel 2014, section 2.2,
    the delta method).

    Args:
        said: sums of each answer under the judge's verdicts, shape (queries, k).
        asked: what would be added if the judge said yes to everything, less what there is if it
            says no to everything; shape (2, queries, k): (all yes, all no).
        combine: sums to values.
        rates: the judge's.
        within: see :func:`powered`.

    Returns:
        NaN where the judge is no better than chance (sensitivity + specificity ≤ 1).
    """
    youden = rates.sensitivity + rates.specificity - 1
    n = len(said)
    if youden <= 0 or n < 2:
        return nothing(0)
    yes, no = asked
    span = yes - no
    false_alarm = 1 - rates.specificity
    sums = no + (said - no - false_alarm * span) / youden
    mean = sums.mean(axis=0)
    value = float(combine(mean))
    if math.isnan(value):
        return nothing(0)
    slope = gradient(combine, mean)
    over_answers = float(np.var(sums @ slope, ddof=1)) / n
    # d/dse and d/dsp of the corrected sums.
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
    low, high = interval_of(value, stderr, df, n, within)
    return Powered(value, low, high, stderr, math.nan, 0, df)


def rates_of(answers: Sequence[Sequence[tuple[bool, bool]]]) -> Rates:
    """Sensitivity and specificity, their errors clustered by answer.

    Args:
        answers: (people say supported, judge says supported) of the statements of each answer.
    """
    counts = np.array(
        [
            [
                sum(h and j for h, j in pairs),
                sum(h for h, _ in pairs),
                sum(not h and not j for h, j in pairs),
                sum(not h for h, _ in pairs),
            ]
            for pairs in answers
        ],
        np.float64,
    ).reshape(-1, 4)
    total = counts.sum(axis=0)
    rates = [total[0] / total[1] if total[1] else math.nan,
             total[2] / total[3] if total[3] else math.nan]  # fmt: skip
    if len(counts) < 2 or any(map(math.isnan, rates)):
        return Rates(rates[0], rates[1], math.nan, math.nan)
    influence = np.stack(
        [
            (counts[:, 0] - rates[0] * counts[:, 1]) / total[1],
            (counts[:, 2] - rates[1] * counts[:, 3]) / total[3],
        ]
    )
    covariance = influence @ influence.T * len(counts) / (len(counts) - 1)
    errors = np.sqrt(np.diag(covariance)).tolist()
    return Rates(rates[0], rates[1], errors[0], errors[1], float(covariance[0, 1]))
