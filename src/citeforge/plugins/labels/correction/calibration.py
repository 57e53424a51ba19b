"""Error rates of a judge, kept in a package, so that its scores can be corrected there."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citeforge.engines.judge.records import JudgeFailure
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.corrections import calibration_key
from citeforge.plugins.labels.annotation.agreement import cohen_kappa
from citeforge.plugins.labels.correction.correct import RateCorrection
from citeforge.plugins.labels.correction.error_rates import Rates, rates_of
from citeforge.plugins.labels.correction.ppi import LEAST_LABELS
from citeforge.plugins.labels.pairs import LabelledPair
from citeforge.schemas.errors import InputError

DRIFT = 0.05
"""p of equal error rates in all systems below which a drift is told."""


@dataclass(frozen=True)
class Calibration:
    """A judge against people.

    Attributes:
        judge: its signature.
        n: labelled statements with a verdict.
        n_answers: answers that they are of.
        n_failed: statements on which the judge failed.
        rates: sensitivity and specificity.
        accuracy: share of equal decisions.
        kappa: Cohen's kappa.
        by_system: accuracy in each system with at least ten statements.
        drift: p of equal accuracy in these systems (chi-squared test); NaN with fewer than two.
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
        """As ``stats.json`` keeps it."""
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
    """Ask the judge what people were asked.

    Args:
        labelled: what people said.
        judge: who is asked.
        path: file of the labels (of several, the first), which errors name.

    Raises:
        InputError: fewer than ten answers, or people say the same of all statements.
    """
    decisions = judge.ask(row.pair for row in labelled)
    answers: dict[tuple[str, str], list[tuple[bool, bool]]] = {}
    systems: dict[str, list[bool]] = {}
    failed = 0
    for row in labelled:
        decision = decisions[row.pair]
        if isinstance(decision, JudgeFailure):
            failed += 1
            continue
        answers.setdefault((row.system, row.answer), []).append((row.supported, decision.entailed))
        systems.setdefault(row.system, []).append(row.supported == decision.entailed)
    pairs = [pair for group in answers.values() for pair in group]
    n_supported = sum(human for human, _ in pairs)
    if len(answers) < LEAST_LABELS or n_supported in (0, len(pairs)):
        raise InputError(
            f"the labels are of {len(answers)} answers with {len(pairs):,} statements that the "
            f"judge decided, {n_supported:,} of them supported",
            path=path,
            allowed=f"at least {LEAST_LABELS} answers, with supported statements and others",
        )
    large = {name: right for name, right in systems.items() if len(right) >= LEAST_LABELS}
    return Calibration(
        judge.judge.signature,
        len(pairs),
        len(answers),
        failed,
        rates_of(list(answers.values())),
        sum(a == b for a, b in pairs) / len(pairs),
        cohen_kappa([(str(a), str(b)) for a, b in pairs]),
        {name: sum(right) / len(right) for name, right in large.items()},
        _drift(list(large.values())),
    )


def _drift(systems: Sequence[Sequence[bool]]) -> float:
    """p of equal accuracy."""
    from scipy import stats

    table = [[sum(right), len(right) - sum(right)] for right in systems]
    if len(table) < 2 or not all(map(sum, zip(*table, strict=True))):
        return math.nan
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def write_calibration(folder: Path, result: Calibration) -> None:
    """Keep it in the statistics of a package; tables and benchmark hash stay.

    Raises:
        InputError: not a package, damaged, or it cannot be written.
    """
    from citeforge.builders.packaging.package import amend_stats

    amend_stats(folder, {calibration_key(result.judge): result.figures()})


def correction_of(figures: Mapping[str, Any], judge: str) -> tuple[RateCorrection, str]:
    """The correction by what a package keeps of a judge's errors, and what to warn of."""
    rates = Rates(
        figures["sensitivity"],
        figures["specificity"],
        figures["sensitivity, standard error"],
        figures["specificity, standard error"],
        figures["covariance"],
    )
    drift = figures["drift, p"]
    warning = ""
    if drift is not None and drift < DRIFT:
        warning = (
            f"by the benchmark's calibration {judge} errs more in some systems "
            f"than in others (p = {drift:.4f}): corrected values of several systems may be in the "
            "wrong order; labels of these answers (--labels) correct each system by its own"
        )
    return RateCorrection(rates, f"n={figures['answers']}"), warning
