"""Correct a judge's scores: by labels of the same answers, or by the judge's error rates."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.shown import show_number, show_p_equation, show_percent
from citeforge.evaluator.human_labels import (
    HumanLabels,
    LabelJudge,
    match_labels,
    select_labels,
)
from citeforge.evaluator.label_files import Label
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.results import ScoredSubmission, compute, displayed_value
from citeforge.evaluator.statistics.error_rates import Rates, rogan_gladen, why_not_corrected
from citeforge.evaluator.statistics.estimates import Floats, Sample
from citeforge.evaluator.statistics.ppi import (
    LEAST_LABELS,
    PpiEstimate,
    Units,
    estimate_ppi,
    linearise,
)
from citeforge.evaluator.submissions.inputs import Inputs
from citeforge.evaluator.submissions.submission import Submission
from citeforge.package.manifest import read_stats
from citeforge.package.package import Package
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import UsageError
from citeforge.schemas.scores import PPI, ROGAN_GLADEN, Corrected, MeasureScore
from citeforge.schemas.signature import Signature

_LEAST_DECIDED = 0.9
"""Least share of labelled answers whose labels decide a measure; the others, which are left out,
may differ from them."""
_LEAST_P = 0.01
"""p-value below which a difference between labelled and other answers is reported."""
_DRIFT = 0.05
"""p-value of equal accuracy on all systems below which a drift is reported."""


@dataclass(frozen=True)
class LabelCorrection:
    """Correction of scores by people's labels of the same answers (PPI++).

    Attributes:
        labels: labels of all systems.
    """

    labels: Sequence[Label]

    def require_known(self, systems: Sequence[tuple[str, str]]) -> None:
        """Raise an error if no label is about any of the scored systems.

        Args:
            systems: (name, submission file) of each scored system.

        Raises:
            InputError: no system has a label; names the systems of the labels.
        """
        if not any(select_labels(self.labels, *names) for names in systems):
            labelled = dict.fromkeys(label.system for label in self.labels)
            examples = ", ".join(map(repr, [*labelled][:5]))
            names = ", ".join(repr(name) for name, _ in systems)
            raise self.labels[0].error(
                f"labels answers of {examples}",
                f"labels of the answers that are scored: {names}",
                code="wrong-benchmark",
            )

    def correct(
        self, submission: Submission, scored: ScoredSubmission, entries: Sequence[MeasureScore],
        signatures: Sequence[Signature],
    ) -> list[str]:  # fmt: skip
        """Add values corrected by people's labels to a score file's entries; return warnings.

        Args:
            submission: submission that is scored.
            scored: its answers, and its measures with their samples.
            entries: entries of these measures, to which corrected values are added.
            signatures: signatures of the entries.

        Returns:
            Warnings: measures that could not be corrected, and labels that may be no random sample.

        Raises:
            InputError: labels are of unknown answers, or contradict each other.
            UsageError: the answers do not cite passages.
        """
        judged = _judged_entries(scored, entries, signatures)
        if not judged:
            return ["--labels correct nothing: no measure asks a judge"]
        mine = select_labels(self.labels, submission.system, submission.path.name)
        if not mine:
            return [f"not corrected: there is no label of {submission.system}"]
        benchmark, inputs = submission.benchmark, scored.inputs
        if inputs is None:
            raise UsageError(
                "--labels is for statements that cite passages; "
                f"{benchmark.manifest.name} shows {benchmark.kind.facts.shows}",
                code="wrong-kind",
            )
        people = match_labels(mine, inputs)
        by_people = _compute_by_labels(inputs, judged, people)
        unjudged = _compute_by_labels(inputs, judged, HumanLabels())
        warnings = _label_warnings(people)
        for name, (measure, sample, entry, signature) in judged.items():
            if measure.unlabelled:
                warnings.append(f"{name} is not corrected: {measure.unlabelled}")
                continue
            if name not in by_people or name not in unjudged:
                continue
            human = by_people[name]
            units = _collect_units(sample, human, unjudged[name], people, benchmark.clusters)
            why = _explain_failure(units, people, sample)
            if why:
                warnings.append(f"{name} is not corrected: {why}")
                continue
            warnings += _sampling_warnings(name, units, sample)
            within = measure.range
            value = estimate_ppi(units, sample.combine, value_range=within)
            alone = estimate_ppi(units, sample.combine, tuning=0.0, value_range=within)
            signed = replace(signature, correction=f"{PPI},n={value.n_labels}")
            linear = {}
            if entry.influence is not None:  # no mean: comparisons of systems need linear values
                judged_parts, human_parts = linearise(units, sample.combine, value.tuning)
                linear = {
                    "linear_judged": judged_parts.tolist(),
                    "linear_human": _labelled_values(human_parts, units),
                }
            entry.corrected = _make_corrected(
                measure, value, PPI, signed,
                tuning=round(value.tuning, 10),
                labels_value=displayed_value(alone.value, entry.scale),
                labels_low=_clip_and_scale(alone.low, measure),
                labels_high=_clip_and_scale(alone.high, measure),
                human=_labelled_values(human.per_query[0], units),
                labelled=np.flatnonzero(units.labelled).tolist(),
                **linear,
            )  # fmt: skip
        return list(dict.fromkeys(warnings))


@dataclass(frozen=True)
class RateCorrection:
    """Correction of scores by the judge's error rates on other answers.

    Attributes:
        rates: error rates of the judge, measured on other answers.
        source: origin of the rates, for signatures.
    """

    rates: Rates
    source: str

    def correct(
        self, submission: Submission, scored: ScoredSubmission, entries: Sequence[MeasureScore],
        signatures: Sequence[Signature],
    ) -> list[str]:  # fmt: skip
        """Add values corrected by the judge's error rates to score file entries; return warnings.

        The measures are computed with no verdict at all, too: their bounds are the values if the
        judge says no, or yes, to every pair.
        """
        judged = _judged_entries(scored, entries, signatures)
        if not judged or scored.inputs is None:
            return []
        unjudged = _compute_by_labels(scored.inputs, judged, HumanLabels())
        warnings = []
        for name, (measure, sample, entry, signature) in judged.items():
            if name not in unjudged:
                continue
            if not measure.linear:
                why = measure.unlabelled or (
                    "it is no share of verdicts, and error rates correct only these; give labels "
                    "of these answers (--labels)"
                )
                warnings.append(f"{name} is not corrected: {why}")
                continue
            no, yes = unjudged[name], unjudged[name].upper or unjudged[name]
            extremes = np.stack([yes.sums.mean(axis=0), no.sums.mean(axis=0)])
            estimate = rogan_gladen(
                sample.sums.mean(axis=0), extremes, sample.combine, self.rates, measure.range
            )
            if why := why_not_corrected(estimate, self.rates, measure.range):
                warnings.append(f"{name} is not corrected: {why}")
                continue
            signed = replace(signature, correction=f"{ROGAN_GLADEN},{self.source}")
            entry.corrected = _make_corrected(measure, estimate, ROGAN_GLADEN, signed)
        return warnings


Correction = LabelCorrection | RateCorrection


def calibration_key(judge: str) -> str:
    """Return the key in ``stats.json`` of a judge's error rates (its calibration)."""
    return count_key("calibration", judge)


def read_calibration(
    package: Package, judge: JudgeSession | None
) -> tuple[RateCorrection | None, str]:
    """Read a judge's error rates from a benchmark: (correction or None, warning or empty text).

    Returns:
        (None, "") if the package has no calibration of this judge.
    """
    if judge is None:
        return None, ""
    signature = judge.judge.signature
    figures = read_stats(package.folder).get(calibration_key(signature))
    if not isinstance(figures, dict):
        return None, ""
    rates = Rates(
        figures["sensitivity"],
        figures["specificity"],
        figures["sensitivity_standard_error"],
        figures["specificity_standard_error"],
        figures["covariance"],
    )
    drift, warnings = figures["drift_p"], [_certification_warning(signature, figures)]
    if drift is not None and drift < _DRIFT:
        warnings.append(
            f"by the benchmark's calibration {signature} errs more in some systems "
            f"than in others ({show_p_equation(drift)}): corrected values of several systems "
            "may be in the "
            "wrong order; labels of these answers (--labels) correct each system by its own"
        )
    return RateCorrection(rates, f"n={figures['answers']}"), "; ".join(filter(None, warnings))


def _certification_warning(signature: str, calibration: Mapping[str, Any]) -> str:
    """Write a warning if a judge's accuracy bounds miss the certified threshold; else empty."""
    threshold = calibration.get("certified_from")
    if threshold is None:
        return ""
    bounds = [calibration["sensitivity_low"], calibration["specificity_low"]]
    if all(bound is not None and bound >= threshold for bound in bounds):
        return ""
    low, other_low = (show_percent(bound, 1) for bound in bounds)
    return (
        f"{signature} is not certified for this benchmark: of supported statements it finds at "
        f"least {low}, of others {other_low}, and {show_percent(threshold)} are asked of both "
        "(labels calibrate --certify-from)"
    )


Judged = Mapping[str, tuple[Measure, Sample, MeasureScore, Signature]]
"""Measures that a judge decides, by name, with their samples, entries and signatures."""


def _judged_entries(
    scored: ScoredSubmission, entries: Sequence[MeasureScore], signatures: Sequence[Signature]
) -> Judged:
    """Select judged measures: name to (measure, sample, its entry in the score file, signature)."""
    return {
        m.name: (m, sample, entry, signature)
        for (m, sample), entry, signature in zip(
            scored.results[0], entries, signatures, strict=True
        )
        if m.asks_judge and sample.place is None and sample.has_interval
    }


def _compute_by_labels(
    inputs: Inputs, judged: Judged, human_labels: HumanLabels
) -> dict[str, Sample]:
    """Compute judged measures anew with human labels for verdicts: samples by measure's name.

    Args:
        inputs: answers of the system.
        judged: measures to compute.
        human_labels: labels; a pair without a label counts as a failed verdict.
    """
    session = JudgeSession(LabelJudge(human_labels))
    tools = replace(inputs.tools, judge=session, levels=human_labels.levels)
    measures = [m for m, *_ in judged.values() if m.reads == "passages"]
    is_hidden = inputs.benchmark.has_hidden_gold
    labelled = replace(inputs, tools=tools)
    samples, _ = compute(labelled, measures, session, has_hidden_gold=is_hidden)
    return {measure.name: sample for measure, sample in samples}


def _label_warnings(human_labels: HumanLabels) -> list[str]:
    """List warnings about labels that cannot be used, or that are all the same."""
    warnings = []
    if human_labels.n_undecided:
        warnings.append(
            f"{human_labels.n_undecided:,} labels decide nothing (people did not agree, or could "
            "not tell); answers that need them are left out of the correction"
        )
    if human_labels.n_duplicates:
        warnings.append(
            f"{human_labels.n_duplicates:,} labels repeat another one word for word; they are "
            "ignored"
        )
    labels = {*human_labels.verdicts.values(), *human_labels.levels.values()}
    if len(labels) == 1 and not human_labels.contested:
        warnings.append(
            f"all labels say {labels.pop()!r}, so that the judge's errors on other statements "
            "cannot be estimated; label answers drawn at random (labels plan)"
        )
    if human_labels.n_unplaced:
        warnings.append(
            f"{human_labels.n_unplaced:,} labels are of texts that are no statement of the answer; "
            "answers that need them are left out of the correction"
        )
    return warnings


def _collect_units(
    by_judge: Sample,
    by_people: Sample,
    unjudged: Sample,
    human_labels: HumanLabels,
    clusters: npt.NDArray[np.int64] | None,
) -> Units:
    """Collect the sums of each answer by judge verdicts and by people's labels, to correct them.

    Labels are of the first run; for answers without labels, the mean of their runs is taken.

    Args:
        by_judge: sample of the measure by the judge's verdicts.
        by_people: by people's labels; bounds differ where a label is missing.
        unjudged: without any verdict; bounds differ where the value needs one.
        human_labels: labels.
        clusters: cluster of each query, if questions repeat.
    """
    open_ = _lacks_verdict(unjudged).any(axis=0)
    rows = np.isin(np.arange(by_judge.sums.shape[1]), sorted(human_labels.rows))
    labelled = rows & open_ & ~_lacks_verdict(by_people)[0]
    first = by_judge.sums[: by_judge.repeats].mean(axis=0)
    judged = np.where(labelled[:, None], first, by_judge.sums.mean(axis=0))
    return Units(judged, by_people.sums[0], labelled, np.logical_not(open_), clusters)


def _lacks_verdict(sample: Sample) -> npt.NDArray[np.bool_]:
    """Make a mask, shape (runs, queries): True where failed verdicts leave a value open."""
    if sample.upper is None:
        return np.zeros(sample.sums.shape[:2], bool)
    differs: npt.NDArray[np.bool_] = (sample.sums != sample.upper.sums).any(axis=-1)
    return differs


def _explain_failure(units: Units, human_labels: HumanLabels, sample: Sample) -> str:
    """Explain why labels cannot correct a measure; empty if they can.

    Args:
        units: values of all answers by judge and people.
        human_labels: labels.
        sample: sample of the measure, which combines sums to values.
    """
    if units.verdict_free.all():
        return "no answer of it depends on a verdict"
    rows = [row for row in human_labels.rows if not units.verdict_free[row]]
    n = int(units.labelled.sum())
    if n < _LEAST_DECIDED * len(rows):
        advice = (
            f"people do not agree on {human_labels.n_undecided:,} of the labels: adjudicate them"
            if human_labels.n_undecided
            else "label every statement of an answer (and every citation, labels export --task "
            "citation-support, for precision)"
        )
        return f"the labels decide {n:,} of {len(rows):,} labelled answers; {advice}"
    if n < LEAST_LABELS:
        return f"{n} labelled answers; {LEAST_LABELS} are needed"
    values = sample.combine(units.human[units.labelled])
    values = values[~np.isnan(values)]
    if len(values) < 2 or np.ptp(values) < 1e-12:  # all (1 of 1, 2 of 2, …) are alike
        return (
            f"all {n:,} labelled answers have the same value, so that their variance cannot be "
            "estimated; label more"
        )
    return ""


def _sampling_warnings(name: str, units: Units, sample: Sample) -> list[str]:
    """Warn if the judge's values of labelled answers differ from those of the other answers.

    Then the labelled answers are not a random sample.
    """
    from scipy import stats

    rest = ~units.labelled & ~units.verdict_free
    if rest.sum() < 2:
        return []
    first, other = (sample.combine(units.judged[m]) for m in (units.labelled, rest))
    first, other = first[~np.isnan(first)], other[~np.isnan(other)]
    if len(first) < 2 or len(other) < 2:
        return []
    if np.ptp(first) == 0 and np.ptp(other) == 0:
        p = float(first[0] == other[0])
    else:
        p = float(stats.ttest_ind(first, other, equal_var=False).pvalue)
    if not p < _LEAST_P:
        return []
    return [
        f"{name}: the judge finds the labelled answers unlike the others (means "
        f"{show_number(first.mean(), 3)} and {show_number(other.mean(), 3)}, "
        f"{show_p_equation(p)}); corrected values hold only "
        "where the labelled answers were drawn at random (labels plan)"
    ]


def _make_corrected(
    measure: Measure, estimate: PpiEstimate, method: str, signature: Signature, **more: Any
) -> Corrected:
    """Convert a corrected estimate to the record that a score file stores, scaled for display.

    Args:
        measure: declaration of the measure, with its range and scale.
        estimate: corrected value with interval, raw.
        method: name of the method.
        signature: signature of the corrected value.
        more: further fields of the record.
    """
    return Corrected(
        value=_clip_and_scale(estimate.value, measure),
        low=_clip_and_scale(estimate.low, measure),
        high=_clip_and_scale(estimate.high, measure),
        stderr=displayed_value(estimate.stderr, measure.scale),
        df=None if math.isinf(estimate.df) else displayed_value(estimate.df, 1),
        method=method,
        n_labels=estimate.n_labels,
        signature=str(signature),
        **more,
    )


def _clip_and_scale(value: float, measure: Measure) -> float | None:
    """Clip an estimate to its measure's range, and scale it for display."""
    high = math.inf if measure.high is None else measure.high
    inside = value if math.isnan(value) else min(max(value, measure.low), high)
    return displayed_value(inside, measure.scale)


def _labelled_values(values: Floats, units: Units) -> list[float | None]:
    """List the value of each answer that is labelled or needs no verdict; None for the others."""
    defined = (units.labelled | units.verdict_free) & ~np.isnan(values)
    return [v if k else None for v, k in zip(values.tolist(), defined.tolist(), strict=True)]
