"""Measure a judge's error rates against labels, and write them into a package."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.shown import show_number, show_p_equation, show_percent
from citeforge.evaluator.corrections import calibration_key
from citeforge.evaluator.statistics.error_rates import (
    Rates,
    compute_lower_bounds,
    compute_rates,
)
from citeforge.evaluator.statistics.ppi import LEAST_LABELS
from citeforge.library.benchmarks import writable_folder
from citeforge.package.manifest import load_manifest, read_stats
from citeforge.plugins.labels.annotators import cohen_kappa
from citeforge.plugins.labels.meta_eval import LabelledPair, ask_labelled
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError


@dataclass(frozen=True)
class Calibration:
    """Error rates and agreement of a judge, measured against people's labels.

    Attributes:
        judge: signature of the judge.
        n: number of labelled statements with a verdict.
        n_answers: number of their answers.
        n_failed: number of statements on which the judge failed.
        rates: sensitivity and specificity.
        lower_bounds: lower ends of their 95 % intervals; NaN of a single answer.
        accuracy: share of equal decisions.
        kappa: Cohen's kappa.
        by_system: accuracy on each system with at least ten statements.
        drift: p-value of equal accuracy on these systems (chi-squared); NaN with fewer than two.
        certify_from: what the lower bounds of both rates must reach; None for no certificate.
    """

    judge: str
    n: int
    n_answers: int
    n_failed: int
    rates: Rates
    lower_bounds: tuple[float, float]
    accuracy: float
    kappa: float
    by_system: dict[str, float]
    drift: float
    certify_from: float | None = None

    @property
    def is_certified(self) -> bool:
        """Whether both of a judge's lower bounds reach the required rate; False without one."""
        return self.certify_from is not None and all(
            low >= self.certify_from
            for low in self.lower_bounds  # NaN reaches nothing
        )

    def figures(self) -> dict[str, str | int | float | None]:
        """Make the entries of a calibration in ``stats.json``: counts and rates by name.

        NaN becomes None.
        """
        rates = self.rates
        figures = {
            "statements": self.n,
            "answers": self.n_answers,
            "sensitivity": rates.sensitivity,
            "sensitivity_standard_error": rates.sensitivity_stderr,
            "specificity": rates.specificity,
            "specificity_standard_error": rates.specificity_stderr,
            "covariance": rates.covariance,
            "accuracy": self.accuracy,
            "kappa": self.kappa,
            "drift_p": self.drift,
            **({} if self.certify_from is None else self._certificate()),
            **{count_key("accuracy_in", name): value for name, value in self.by_system.items()},
        }
        return {k: None if math.isnan(v) else round(v, 12) for k, v in figures.items()}

    def _certificate(self) -> dict[str, float]:
        """Make the entries of a certificate: required rate and lower bounds, by name."""
        low, other_low = self.lower_bounds
        asked = self.certify_from or 0.0
        return {"certified_from": asked, "sensitivity_low": low, "specificity_low": other_low}


def calibrate(
    labelled: Sequence[LabelledPair],
    judge: JudgeSession,
    path: Path | None = None,
    certify_from: float | None = None,
) -> Calibration:
    """Measure a judge's error rates on labelled statements; certify them from a bound, if any.

    Args:
        labelled: statements with people's labels.
        judge: judge that is measured.
        path: file of the labels (the first of several), which errors name.
        certify_from: what the lower bounds of both rates must reach; None for no certificate.

    Raises:
        InputError: there are fewer than ten answers, or all labels are the same.
    """
    require_labels(labelled, path)
    decided = ask_labelled(labelled, judge)
    require_labels([row for row, _ in decided], path, "statements that the judge decided")
    answers: dict[tuple[str, str], list[tuple[bool, bool]]] = {}
    systems: dict[str, list[bool]] = {}
    for row, verdict in decided:
        answers.setdefault((row.system, row.answer), []).append((row.supported, verdict.entailed))
        systems.setdefault(row.system, []).append(row.supported == verdict.entailed)
    pairs = [pair for group in answers.values() for pair in group]
    large = {name: right for name, right in systems.items() if len(right) >= LEAST_LABELS}
    return Calibration(
        judge.judge.signature,
        len(pairs),
        len(answers),
        len(labelled) - len(decided),
        compute_rates(list(answers.values())),
        compute_lower_bounds(list(answers.values())),
        sum(a == b for a, b in pairs) / len(pairs),
        cohen_kappa(pairs),
        {name: sum(right) / len(right) for name, right in large.items()},
        _test_drift(list(large.values())),
        certify_from,
    )


def require_labels(
    labelled: Sequence[LabelledPair], path: Path | None = None, noun: str = "statements"
) -> None:
    """Raise an error, naming the file, if labels are too few to estimate a judge's error rates.

    Args:
        labelled: labelled statements.
        path: file of the labels (the first of several), which errors name.
        noun: what the rows are, for the error.

    Raises:
        InputError: there are fewer than ten answers, or all labels are the same.
    """
    n_answers = len({(row.system, row.answer) for row in labelled})
    n_supported = sum(row.supported for row in labelled)
    if n_answers < LEAST_LABELS or n_supported in (0, len(labelled)):
        raise InputError(
            f"the labels are of {n_answers} answers with {len(labelled):,} {noun}, {n_supported:,} "
            "of them supported",
            path=path,
            allowed=f"at least {LEAST_LABELS} answers, with supported statements and others",
            code="too-few",
        )


def _test_drift(systems: Sequence[Sequence[bool]]) -> float:
    """Test whether a judge is equally accurate on all systems' answers: p; NaN if impossible.

    Args:
        systems: for each system, whether the judge was right on each of its statements.
    """
    from scipy import stats

    table = [[sum(right), len(right) - sum(right)] for right in systems]
    if len(table) < 2 or not all(map(sum, zip(*table, strict=True))):
        return math.nan
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def write_calibration(folder: Path, result: Calibration) -> str:
    """Write a judge's error rates into a package; return the earlier rates as text, or "".

    They are statistics, which the benchmark hash leaves out.

    Returns:
        The earlier rates, as text, if they differ; else an empty text.

    Raises:
        InputError: not a package, damaged, or it cannot be written.
    """
    from citeforge.builders.package import amend_stats

    load_manifest(writable_folder(folder))  # refuses a folder that is no package
    key, figures = calibration_key(result.judge), result.figures()
    old: Any = read_stats(folder).get(key)
    amend_stats(folder, {key: figures})
    if old in (None, figures):
        return ""
    rates = (f"{name} {show_number(old[name], 3)}" for name in ("sensitivity", "specificity"))
    return f"{', '.join(rates)}; {old['statements']:,} statements"


def render_calibration(result: Calibration) -> str:
    """Format a calibration as the lines that ``labels calibrate`` prints."""
    r = result.rates
    lines = [
        f"judge {result.judge} against {result.n:,} statements of {result.n_answers:,} answers",
        f"  sensitivity  {show_number(r.sensitivity, 4)} ± "
        f"{show_number(r.sensitivity_stderr, 4)} (of supported, found)",
        f"  specificity  {show_number(r.specificity, 4)} ± "
        f"{show_number(r.specificity_stderr, 4)} (of others, found)",
        f"  accuracy     {show_number(result.accuracy, 4)}",
        f"  kappa        {show_number(result.kappa, 4)}",
        f"  failures     {result.n_failed:,}",
        *(
            f"  accuracy in {name}: {show_number(value, 4)}"
            for name, value in result.by_system.items()
        ),
    ]
    if not math.isnan(result.drift):
        lines.append(f"  drift between systems: {show_p_equation(result.drift)} (chi-squared)")
    if result.certify_from is not None:
        lines.append(render_certificate(result, result.certify_from))
    if r.sensitivity + r.specificity <= 1:
        lines.append("  no better than chance: it corrects nothing")
    return "\n".join(lines)


def render_certificate(result: Calibration, threshold: float) -> str:
    """Write in one line whether the bounds of a judge's error rates reach a threshold."""
    low, other_low = result.lower_bounds
    word = "certified" if result.is_certified else "not certified"
    return (
        f"  {word}: of supported at least {show_percent(low, 1)}, of others at least "
        f"{show_percent(other_low, 1)} found (95 %); {show_percent(threshold)} asked"
    )
