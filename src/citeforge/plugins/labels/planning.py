"""Plan how many answers people must label for a corrected value of a given precision."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from citeforge.engines.draws import sample_ids
from citeforge.engines.files import require_writable, write_text
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.shown import show_number
from citeforge.evaluator.compare import load_scores
from citeforge.evaluator.statistics.estimates import column
from citeforge.evaluator.withhold import require_values
from citeforge.library.scores import plan_scores, score_files
from citeforge.plugins.labels.options import LabelPlanOptions
from citeforge.schemas.errors import UnknownValueError, UsageError, extras_named
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.command_options import ScoreOptions
from citeforge.schemas.scores import MeasureScore, ScoreFile

_MEASURE = "ALCE.CitRec"
"""Measure that labels are planned for, unless another one is named."""


@dataclass(frozen=True)
class LabelPlan:
    """Labelled answers needed for an interval of a given width, and those drawn.

    Attributes:
        measure: name of the measure.
        system: name of the system.
        n_answers: number of its answers with a value.
        sd: standard deviation of the answers' values, as displayed.
        correlation: correlation of the judge's values with people's; None if unknown.
        pilot: number of labelled answers from which ``sd`` and ``correlation`` come; 0 without.
        alone: labels needed without the judge; None if all answers are too few.
        with_judge: labels needed with the judge; None if all answers are too few, or the
            correlation is unknown.
        least: half width with labels of all answers.
        queries: queries whose answers are to be labelled, drawn at random.
    """

    measure: str
    system: str
    n_answers: int
    sd: float
    correlation: float | None
    pilot: int
    alone: int | None
    with_judge: int | None
    least: float
    queries: list[str]


@extras_named()
def plan_labelling(
    path: str | Path, options: LabelPlanOptions, run: RunOptions | None = None
) -> LabelPlan:
    """Plan how many and which answers annotators label, as ``citeforge labels plan`` does.

    Args:
        path: score file by the judge; or a submission, which is scored first with the judge of the
            options.
        options: half width, as displayed, and seed; judge and benchmark of a submission.
        run: where a judge runs, what it may cost, where its verdicts are kept.

    Raises:
        InputError: a file cannot be read, or is of another benchmark.
        UnknownValueError: no judged measure of that name.
        UsageError: a judge without a benchmark or the reverse, or scores without any judge.
    """
    if options.judge is None and options.benchmark is None:
        if options.labels:
            raise UsageError(
                "--labels needs a submission with --benchmark and --judge", code="missing-option"
            )
        return plan_labels(load_scores(Path(path)), options)
    benchmark = _require_benchmark(options)
    if options.out is not None:
        require_writable(options.out)
    (scores,) = score_files([path], benchmark, _score_options(options), run=run).scores
    for absent in scores.file.not_computed:
        raise UsageError(
            f"{absent.name} cannot be planned for: {absent.reason}", code="not-computed"
        )
    return plan_labels(scores.file, options)


def _require_benchmark(options: LabelPlanOptions) -> Path:
    """Get the benchmark that options name; raise an error unless they also name a judge.

    Raises:
        UsageError: one of both is missing.
    """
    if options.judge is None or options.benchmark is None:
        given, lacks = ("benchmark", "judge") if options.judge is None else ("judge", "benchmark")
        raise UsageError(
            f"--{given} is given without --{lacks}: a submission needs both; a score file by the "
            "judge needs neither",
            code="missing-option",
        )
    return options.benchmark


def _score_options(options: LabelPlanOptions) -> ScoreOptions:
    """Make the options for scoring a submission before planning labels."""
    common = options.model_dump(include=set(ScoreOptions.model_fields) - {"measures"})
    return ScoreOptions(**common, measures=(options.measure or _MEASURE,), details=False)


def rehearse_labelling(
    path: str | Path, options: LabelPlanOptions, run: RunOptions
) -> JudgeSession | None:
    """Count the judge calls of planning labels in a dry run; return the judge, or None.

    Returns:
        The judge; None for a score file, for which none is asked.

    Raises:
        UsageError: a judge without a benchmark or the reverse.
    """
    if options.judge is None and options.benchmark is None:
        return None
    benchmark = _require_benchmark(options)
    return plan_scores([path], benchmark, _score_options(options), run=run)


def write_plan(out: Path, plan: LabelPlan, options: LabelPlanOptions) -> None:
    """Write a labelling plan as JSON: queries to label, measure, system and settings."""
    content = {
        "measure": plan.measure,
        "system": plan.system,
        "half_width": options.half_width,
        "seed": options.seed,
        "queries": plan.queries,
    }
    write_text(out, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def plan_labels(file: ScoreFile, options: LabelPlanOptions) -> LabelPlan:
    """Compute how many answers of a score file annotators must label, and draw them.

    Corrected values in the score file serve as a pilot; without them, the spread is that of the
    judge's values, and what the judge saves is not known.

    Args:
        file: score file of the answers, by the judge.
        options: half width, as displayed, and seed.

    Raises:
        UnknownValueError: no judged measure of that name.
        UsageError: the file has none at all.
    """
    require_values([file], "plan")
    entry = _find_judged_measure(file, options.measure)
    judged = entry.scale * column(entry.per_query)
    here = ~np.isnan(judged)
    sd, pilot = float(np.std(judged[here], ddof=1)), 0
    correlation: float | None = None
    if entry.corrected is not None and entry.corrected.labelled:
        rows = entry.corrected.labelled
        people = entry.scale * column([entry.corrected.human[i] for i in rows])
        pilot, sd = len(rows), float(np.std(people, ddof=1))
        spread = float(np.std(judged[rows], ddof=1))
        correlation = float(np.corrcoef(judged[rows], people)[0, 1]) if spread > 0 else 0.0
        correlation = min(1.0, max(0.0, correlation))  # a weight is not negative
    total = int(here.sum())
    alone = labels_needed(options.half_width, sd, total, 0.0)
    helped = (
        None if correlation is None else labels_needed(options.half_width, sd, total, correlation)
    )
    size = helped or alone or total
    ids = [q for q, k in zip(file.query_ids, here.tolist(), strict=True) if k]
    drawn = sample_ids(ids, size, options.seed, "annotate plan")
    return LabelPlan(
        entry.name, file.system, total, sd, correlation, pilot, alone, helped,
        half_width(sd, total, total, 0.0), drawn,
    )  # fmt: skip


def half_width(sd: float, n_labels: int, n_answers: int, correlation: float) -> float:
    """Compute a 95 % interval's half width for a mean from labels of only some answers.

    The variance of labels, sd² / labels, is lowered by what the judge explains (PPI++, section 6),
    in proportion to the share of answers without labels.

    Args:
        sd: standard deviation of people's values.
        n_labels: number of labelled answers.
        n_answers: number of all answers.
        correlation: of the judge's values with people's.
    """
    from scipy.special import stdtrit

    if n_labels < 2:
        return math.inf
    explained = correlation**2 * (n_answers - n_labels) / n_answers
    return float(stdtrit(n_labels - 1, 0.975)) * sd * math.sqrt((1 - explained) / n_labels)


def labels_needed(
    half_width_limit: float, sd: float, n_answers: int, correlation: float
) -> int | None:
    """Compute the fewest labels for a 95 % interval of ± the limit; None if all are too few."""
    widths = (half_width(sd, n, n_answers, correlation) for n in range(2, n_answers + 1))
    return next((n for n, width in enumerate(widths, 2) if width <= half_width_limit), None)


def _find_judged_measure(file: ScoreFile, measure: str | None) -> MeasureScore:
    """Find a score file's entry of the named measure, else of the first that a judge computed."""
    judged = [m for m in file.measures if "|judge:" in m.signature and m.n > 1]
    if not judged:
        raise UsageError(
            f"{file.submission}: contains no judged measure; score it with --judge and, for "
            "example, --measures ALCE.CitRec",
            code="not-computed",
        )
    if measure is None:
        return judged[0]
    entry = next((m for m in judged if m.name == measure), None)
    if entry is None:
        raise UnknownValueError("judged measure", measure, [m.name for m in judged])
    return entry


def render_label_plan(plan: LabelPlan, half_width: float) -> str:
    """Format a plan as lines for ``labels plan``, with the wanted interval's half width."""
    lines = [
        f"{plan.measure} of {plan.system}: {plan.n_answers:,} answers, standard deviation "
        f"{show_number(plan.sd)} "
        + (
            f"(people, {plan.pilot:,} labelled answers)"
            if plan.pilot
            else "(the judge's; a pilot of 30 labelled answers would tell people's)"
        )
    ]
    if plan.alone is None and plan.with_judge is None:
        return "\n".join([
            *lines,
            f"± {half_width:g} cannot be reached: labels of all answers give "
            f"± {show_number(plan.least)}; more "
            "queries are needed",
        ])  # fmt: skip
    alone = "more than there are answers" if plan.alone is None else f"{plan.alone:,}"
    lines.append(f"± {half_width:g} needs {alone} labelled answers without the judge")
    if plan.correlation is None:
        lines.append(
            "what the judge saves is not known without its correlation with people (a pilot with "
            "score --labels tells it)"
        )
    elif plan.with_judge is not None and plan.with_judge == plan.alone:
        lines.append(
            f"the judge saves nothing: its values have correlation "
            f"{show_number(plan.correlation)} with "
            "people's"
        )
    else:
        needed = "more than there are" if plan.with_judge is None else f"{plan.with_judge:,}"
        lines.append(
            f"± {half_width:g} needs {needed} with it (correlation {show_number(plan.correlation)})"
        )
    return "\n".join(lines)
