"""Measure a judge's error rates, and correct shares by them (Rogan & Gladen 1978)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.corrections import calibration_key
from citeforge.evaluator.statistics.estimates import Floats
from citeforge.evaluator.statistics.intervals import ANYTHING, Range
from citeforge.package.manifest import load_manifest, read_stats
from citeforge.plugins.labels.annotators import cohen_kappa
from citeforge.plugins.labels.meta_eval import LabelledPair, ask_labelled
from citeforge.plugins.labels.ppi import (
    LEAST_LABELS,
    PpiEstimate,
    compute_interval,
    gradient,
    undefined_estimate,
)
from citeforge.schemas.errors import InputError


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
        """Write both rates, for messages."""
        return f"sensitivity {self.sensitivity:.3f}, specificity {self.specificity:.3f}"


def why_not_corrected(estimate: PpiEstimate, rates: Rates, within: Range) -> str:
    """Explain why a share cannot be corrected by error rates; empty if it can.

    Args:
        estimate: result of :func:`rogan_gladen`.
        rates: error rates of the judge.
        within: range of the measure.
    """
    if not rates.youden - _Z * rates.youden_stderr > 0:
        return (
            f"the benchmark's calibration ({rates}) cannot tell the judge from chance; label more "
            "answers, or take another judge"
        )
    if math.isnan(estimate.value):
        return "it has no value on these answers"
    beyond = max(estimate.value - within.high, within.low - estimate.value)
    if beyond > _Z * estimate.stderr:
        return (
            f"with the calibration's error rates ({rates}) the judge would find between "
            f"{1 - rates.specificity:.1%} and {rates.sensitivity:.1%}, whatever is true; these "
            "answers are of another kind than those that were labelled: label some of these "
            "(--labels)"
        )
    return ""


def rogan_gladen(
    verdicts: Floats,
    extremes: Floats,
    combine: Callable[[Floats], Floats],
    rates: Rates,
    within: Range = ANYTHING,
) -> PpiEstimate:
    """Correct a share by sensitivity and specificity (Rogan & Gladen 1978).

    Args:
        verdicts: sums of each answer under the judge's verdicts, shape (queries, k).
        extremes: the same sums if the judge accepted everything, and if it rejected everything,
            shape (2, queries, k).
        combine: function of sums to values.
        rates: error rates of the judge.
        within: range of the measure, see :func:`estimate_ppi`.

    Returns:
        NaN where the judge is no better than chance (sensitivity + specificity ≤ 1).
    """
    youden = rates.youden
    n = len(verdicts)
    if youden <= 0 or n < 2:
        return undefined_estimate(0)
    yes, no = extremes
    span = yes - no
    false_alarm = 1 - rates.specificity
    sums = no + (verdicts - no - false_alarm * span) / youden
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
    low, high = compute_interval(value, stderr, df, n, within)
    return PpiEstimate(value, low, high, stderr, math.nan, 0, df)


def compute_rates(answers: Sequence[Sequence[tuple[bool, bool]]]) -> Rates:
    """Compute a judge's sensitivity and specificity, with standard errors clustered by answer.

    Args:
        answers: (people say supported, judge says supported) of each statement of each answer.
    """
    # (both say supported, people do, neither does, people do not) of each answer
    counts = np.array([
        [pairs.count((True, True)), n_human := sum(h for h, _ in pairs),
         pairs.count((False, False)), len(pairs) - n_human]
        for pairs in answers
    ], np.float64).reshape(-1, 4)  # fmt: skip
    right, of_all = counts[:, ::2], counts[:, 1::2]
    n = of_all.sum(axis=0)
    rates = [float(r / t) if t else math.nan for r, t in zip(right.sum(axis=0), n, strict=True)]
    if len(counts) < 2 or any(map(math.isnan, rates)):
        return Rates(rates[0], rates[1], math.nan, math.nan)
    influence = ((right - np.array(rates) * of_all) / n).T
    covariance = influence @ influence.T * len(counts) / (len(counts) - 1)
    errors = np.sqrt(np.diag(covariance)).tolist()
    return Rates(rates[0], rates[1], errors[0], errors[1], float(covariance[0, 1]))


_Z = 1.959964
"""Quantile of the normal distribution for 95 % on both sides."""
DRIFT = 0.05
"""p-value of equal accuracy on all systems below which a drift is reported."""


@dataclass(frozen=True)
class Calibration:
    """Error rates and agreement of a judge, measured against people's labels.

    Attributes:
        judge: signature of the judge.
        n: number of labelled statements with a verdict.
        n_answers: number of their answers.
        n_failed: number of statements on which the judge failed.
        rates: sensitivity and specificity.
        accuracy: share of equal decisions.
        kappa: Cohen's kappa.
        by_system: accuracy on each system with at least ten statements.
        drift: p-value of equal accuracy on these systems (chi-squared); NaN with fewer than two.
    """

    judge: str
    n: int
    n_answers: int
    n_failed: int
    rates: Rates
    accuracy: float
    kappa: float
    by_system: dict[str, float]
    drift: float

    def figures(self) -> dict[str, str | int | float | None]:
        """Return the figures that ``stats.json`` keeps, by name; None in place of NaN."""
        rates = self.rates
        figures = {
            "statements": self.n,
            "answers": self.n_answers,
            "sensitivity": rates.sensitivity,
            "sensitivity, standard error": rates.sensitivity_stderr,
            "specificity": rates.specificity,
            "specificity, standard error": rates.specificity_stderr,
            "covariance": rates.covariance,
            "accuracy": self.accuracy,
            "kappa": self.kappa,
            "drift, p": self.drift,
            **{f"accuracy in {name}": value for name, value in self.by_system.items()},
        }
        return {k: None if math.isnan(v) else round(v, 12) for k, v in figures.items()}


def calibrate(
    labelled: Sequence[LabelledPair], judge: JudgeSession, path: Path | None = None
) -> Calibration:
    """Measure a judge's error rates on statements that people labelled.

    Args:
        labelled: statements with people's labels.
        judge: judge that is measured.
        path: file of the labels (the first of several), which errors name.

    Raises:
        InputError: there are fewer than ten answers, or all labels are the same.
    """
    decided = ask_labelled(labelled, judge)
    answers: dict[tuple[str, str], list[tuple[bool, bool]]] = {}
    systems: dict[str, list[bool]] = {}
    for row, verdict in decided:
        answers.setdefault((row.system, row.answer), []).append((row.supported, verdict.entailed))
        systems.setdefault(row.system, []).append(row.supported == verdict.entailed)
    pairs = [pair for group in answers.values() for pair in group]
    n_supported = sum(human for human, _ in pairs)
    if len(answers) < LEAST_LABELS or n_supported in (0, len(pairs)):
        raise InputError(
            f"the labels are of {len(answers)} answers with {len(pairs):,} statements that the "
            f"judge decided, {n_supported:,} of them supported",
            path=path,
            allowed=f"at least {LEAST_LABELS} answers, with supported statements and others",
            code="too-few",
        )
    large = {name: right for name, right in systems.items() if len(right) >= LEAST_LABELS}
    return Calibration(
        judge.judge.signature,
        len(pairs),
        len(answers),
        len(labelled) - len(decided),
        compute_rates(list(answers.values())),
        sum(a == b for a, b in pairs) / len(pairs),
        cohen_kappa(pairs),
        {name: sum(right) / len(right) for name, right in large.items()},
        _test_drift(list(large.values())),
    )


def _test_drift(systems: Sequence[Sequence[bool]]) -> float:
    """Test whether the judge is equally accurate on all systems; return the p-value."""
    from scipy import stats

    table = [[sum(right), len(right) - sum(right)] for right in systems]
    if len(table) < 2 or not all(map(sum, zip(*table, strict=True))):
        return math.nan
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def write_calibration(folder: Path, result: Calibration) -> str:
    """Write a judge's rates into a package's statistics, without changing the benchmark hash.

    Returns:
        The earlier rates, as text, if they differ; else an empty text.

    Raises:
        InputError: not a package, damaged, or it cannot be written.
    """
    from citeforge.builders.package import amend_stats

    load_manifest(folder)  # refuses a folder that is no package
    key, figures = calibration_key(result.judge), result.figures()
    old: Any = read_stats(folder).get(key)
    amend_stats(folder, {key: figures})
    if old in (None, figures):
        return ""
    rates = (f"{name} {old[name]:.3f}" for name in ("sensitivity", "specificity"))
    return f"{', '.join(rates)}; {old['statements']:,} statements"


def render_calibration(result: Calibration) -> str:
    """Format a calibration as the lines that ``labels calibrate`` prints."""
    r = result.rates
    lines = [
        f"judge {result.judge} against {result.n:,} statements of {result.n_answers:,} answers",
        f"  sensitivity  {r.sensitivity:.4f} ± {r.sensitivity_stderr:.4f} (of supported, found)",
        f"  specificity  {r.specificity:.4f} ± {r.specificity_stderr:.4f} (of others, found)",
        f"  accuracy     {result.accuracy:.4f}",
        f"  kappa        {result.kappa:.4f}",
        f"  failures     {result.n_failed:,}",
        *(f"  accuracy in {name}: {value:.4f}" for name, value in result.by_system.items()),
    ]
    if not math.isnan(result.drift):
        lines.append(f"  drift between systems: p = {result.drift:.4f} (chi-squared)")
    if r.sensitivity + r.specificity <= 1:
        lines.append("  no better than chance: it corrects nothing")
    return "\n".join(lines)
