"""How many queries a difference needs, and how many labels a corrected value needs."""

import itertools
import json
import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from citeforge.engines.draws import generator, sample_ids
from citeforge.engines.io.files import write_text
from citeforge.engines.io.report_table import Table
from citeforge.evaluator.reports.withhold import require_values
from citeforge.evaluator.statistics.compare import load_scores
from citeforge.evaluator.statistics.estimates import change, column, jackknife_pseudovalues
from citeforge.library.scores import score_files
from citeforge.plugins.labels.options import LabelPlanOptions, PlanOptions
from citeforge.schemas.command_options import ScoreOptions
from citeforge.schemas.errors import InputError, UnknownValueError, UsageError, extras_named
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.scores import MeasureScore, ScoreFile

_LEVEL = 0.05
_MOST = 10_000_000
_MEASURE = "ALCE.CitRec"
"""What labels are planned for, unless another judged measure is named."""


@dataclass(frozen=True)
class QueryPlan:
    """Queries that a paired t-test needs.

    Attributes:
        measure: name.
        systems: whose difference; one where the other is unknown.
        sd: standard deviation of a query's difference, as displayed.
        n_now: queries that both define.
        n_needed: queries needed; None where nothing varies, or more than ten million.
        power_now: power that ``n_now`` queries have.
    """

    measure: str
    systems: tuple[str, ...]
    sd: float
    n_now: int
    n_needed: int | None
    power_now: float


def plan_queries(files: Sequence[ScoreFile], options: PlanOptions) -> list[QueryPlan]:
    """Queries needed to find a difference, from the variance that score files show.

    With several files, of each pair's differences; with one, of the difference to a system that
    varies as much and answers independently, which is the worst case.

    Args:
        files: score files of one benchmark.
        options: the difference, as displayed, and the power.

    Raises:
        InputError: files of other queries.
        UnknownValueError: no measure of that name.
    """
    require_values(files, "plan")
    plans = []
    tables = [(f, {m.name: m for m in f.measures}) for f in files]
    names = list(dict.fromkeys(name for _, entries in tables for name in entries))
    if options.measure is not None:
        if options.measure not in names:
            raise UnknownValueError("measure", options.measure, names)
        names = [options.measure]
    pairs = list(itertools.combinations(tables, 2)) or [(tables[0], tables[0])]
    for (first, of_first), (second, of_second) in pairs:
        if first.query_ids != second.query_ids:
            raise InputError(
                f"{first.system} and {second.system} have different queries", code="not-comparable"
            )
        for name in names:
            if name not in of_first or name not in of_second:
                continue
            a, b = of_first[name], of_second[name]
            moved = a.scale * jackknife_pseudovalues(a) if first is second else change(a, b)
            defined = moved[~np.isnan(moved)]
            if len(defined) < 2:
                continue
            sd = float(np.std(defined, ddof=1)) * (math.sqrt(2) if first is second else 1.0)
            systems = tuple(dict.fromkeys([first.system, second.system]))
            needed = queries_needed(options.effect, sd, options.power)
            power = power_of(options.effect, sd, len(defined))
            plans.append(QueryPlan(name, systems, sd, len(defined), needed, power))
    return plans


def power_of(effect: float, sd: float, n: int) -> float:
    """Power of a two-sided paired t-test at level .05 (noncentral t).

    Args:
        effect: true mean difference.
        sd: standard deviation of the differences.
        n: queries.
    """
    from scipy.special import nctdtr, stdtrit

    if n < 2:
        return 0.0
    if sd == 0:
        return 1.0
    df, shift = n - 1, abs(effect) / sd * math.sqrt(n)
    bound = float(stdtrit(df, 1 - _LEVEL / 2))
    power = float(1 - nctdtr(df, shift, bound) + nctdtr(df, shift, -bound))
    return 1.0 if math.isnan(power) else power


def queries_needed(effect: float, sd: float, power: float) -> int | None:
    """Fewest queries with that power; None for more than ten million, or where nothing varies."""
    if sd == 0:
        return None
    n = bisect_left(range(_MOST + 1), power, lo=2, key=lambda n: power_of(effect, sd, n))
    return n if n <= _MOST else None


@dataclass(frozen=True)
class LabelPlan:
    """Labelled answers that an interval of a given width needs.

    Attributes:
        measure: name.
        system: whose answers.
        n_answers: answers that there are.
        sd: standard deviation of an answer's value, as displayed.
        correlation: of the judge's values with people's; None where nobody knows it.
        pilot: labelled answers that ``sd`` and ``correlation`` come from; 0 without.
        alone: labels needed without the judge; None where all answers are too few.
        with_judge: labels needed with it; None likewise, and where the correlation is unknown.
        least: half width that labels of all answers would give.
        queries: the answers to label, drawn at random.
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
    """Plan labels, as ``citeforge labels plan`` does.

    Args:
        path: score file by the judge; or a submission, which the judge of the options is asked
            about first.
        options: half width, as displayed, design and seed; judge and benchmark of a submission.
        run: where a judge runs, what it may cost, where its verdicts are kept.

    Raises:
        InputError: a file cannot be read, or answers something else.
        UnknownValueError: no judged measure of that name.
        UsageError: a judge without a benchmark or the reverse, or scores without any judge.
    """
    if options.judge is None and options.benchmark is None:
        if options.labels:
            raise UsageError(
                "--labels needs a submission with --benchmark and --judge", code="missing-option"
            )
        return plan_labels(load_scores(Path(path)), options)
    if options.judge is None or options.benchmark is None:
        given, lacks = ("benchmark", "judge") if options.judge is None else ("judge", "benchmark")
        raise UsageError(
            f"--{given} is given without --{lacks}: a submission needs both; a score file by the "
            "judge needs neither",
            code="missing-option",
        )
    common = options.model_dump(include=set(ScoreOptions.model_fields) - {"measures"})
    measures = (options.measure or _MEASURE,)
    chosen = ScoreOptions(**common, measures=measures, details=False)
    (scores,) = score_files([path], options.benchmark, chosen, run=run).scores
    for absent in scores.file.not_computed:
        raise UsageError(
            f"{absent.name} cannot be planned for: {absent.reason}", code="not-computed"
        )
    return plan_labels(scores.file, options)


def write_plan(out: Path, plan: LabelPlan, options: LabelPlanOptions) -> None:
    """Keep the drawn queries, with what they were drawn for."""
    content = {
        "measure": plan.measure,
        "system": plan.system,
        "half_width": options.half_width,
        "design": options.design,
        "seed": options.seed,
        "queries": plan.queries,
    }
    write_text(out, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def plan_labels(file: ScoreFile, options: LabelPlanOptions) -> LabelPlan:
    """Labels needed before anybody labels, and which answers.

    From a pilot, where the score file has corrected values; else the spread is that of the judge's
    values, and the correlation what the options say.

    Args:
        file: score file of the answers, by the judge.
        options: half width, as displayed, design and seed.

    Raises:
        UnknownValueError: no judged measure of that name.
        UsageError: the file has none at all.
    """
    require_values([file], "plan")
    entry = _judged(file, options.measure)
    judged = entry.scale * column(entry.per_query)
    here = ~np.isnan(judged)
    sd, correlation, pilot = float(np.std(judged[here], ddof=1)), options.correlation, 0
    if entry.corrected is not None and entry.corrected.labelled:
        rows = entry.corrected.labelled
        people = entry.scale * column([entry.corrected.human[i] for i in rows])
        pilot, sd = len(rows), float(np.std(people, ddof=1))
        spread = float(np.std(judged[rows], ddof=1))
        correlation = float(np.corrcoef(judged[rows], people)[0, 1]) if spread > 0 else 0.0
        correlation = max(0.0, correlation)  # a weight is not negative
    total = int(here.sum())
    alone = labels_needed(options.half_width, sd, total, 0.0)
    strength = None if correlation is None else min(1.0, abs(correlation))
    helped = None if strength is None else labels_needed(options.half_width, sd, total, strength)
    size = helped or alone or total
    ids = [q for q, k in zip(file.query_ids, here.tolist(), strict=True) if k]
    drawn = _draw(ids, judged[here].tolist(), size, options)
    return LabelPlan(
        entry.name, file.system, total, sd, strength, pilot, alone, helped,
        half_width(sd, total, total, 0.0), drawn,
    )  # fmt: skip


def half_width(sd: float, labels: int, answers: int, correlation: float) -> float:
    """Half of a corrected value's 95 % interval: PPI++ with the best weight of the judge.

    The variance of labels alone, sd² / labels, less the part that the judge explains, as far as
    there are answers without labels (PPI++, section 6).
    """
    from scipy.special import stdtrit

    if labels < 2:
        return math.inf
    explained = correlation**2 * (answers - labels) / answers
    return float(stdtrit(labels - 1, 0.975)) * sd * math.sqrt((1 - explained) / labels)


def labels_needed(half: float, sd: float, answers: int, correlation: float) -> int | None:
    """Fewest labelled answers with an interval of ± ``half``; None where all are too few."""
    widths = (half_width(sd, n, answers, correlation) for n in range(2, answers + 1))
    return next((n for n, width in enumerate(widths, 2) if width <= half), None)


def _draw(
    ids: Sequence[str], values: Sequence[float], size: int, options: LabelPlanOptions
) -> list[str]:
    """Queries to label; every one as likely as any other."""
    if options.design == "random":
        return sample_ids(ids, size, options.seed, "annotate plan")
    # Every N/n-th of the answers in the order of the judge's values, from a random start.
    rng = generator(options.seed, "annotate plan, stratified")
    ties = [rng.random() for _ in ids]
    order = sorted(range(len(ids)), key=lambda i: (values[i], ties[i]))
    start = rng.random()
    places = {order[int((start + i) * len(ids) / size)] for i in range(size)}
    return [q for i, q in enumerate(ids) if i in places]


def _judged(file: ScoreFile, measure: str | None) -> MeasureScore:
    """The measure that labels are planned for: the first judged one, unless it is named."""
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


def render_query_plans(plans: Iterable[QueryPlan], power: float) -> str:
    """What ``labels plan-queries`` prints."""
    head = ("measure", "systems", "sd", "queries", "power now", f"needed for {power:.0%}")
    rows = []
    for p in plans:
        several = len(p.systems) > 1
        systems = " − ".join(reversed(p.systems)) if several else f"{p.systems[0]} alone"
        needed = "–" if p.n_needed is None else f"{p.n_needed:,}"
        rows.append(
            (p.measure, systems, f"{p.sd:.2f}", f"{p.n_now:,}", f"{p.power_now:.2f}", needed)
        )
    return "\n".join(Table(head, rows).text())


def render_label_plan(plan: LabelPlan, half: float) -> str:
    """What ``labels plan`` prints."""
    lines = [
        f"{plan.measure} of {plan.system}: {plan.n_answers:,} answers, standard deviation "
        f"{plan.sd:.2f} "
        + (
            f"(people, {plan.pilot:,} labelled answers)"
            if plan.pilot
            else "(the judge's; a pilot of 30 labelled answers would tell people's)"
        )
    ]
    if plan.alone is None and plan.with_judge is None:
        return "\n".join([
            *lines,
            f"± {half:g} cannot be reached: labels of all answers give ± {plan.least:.2f}; more "
            "queries are needed",
        ])  # fmt: skip
    alone = "more than there are answers" if plan.alone is None else f"{plan.alone:,}"
    lines.append(f"± {half:g} needs {alone} labelled answers without the judge")
    if plan.correlation is None:
        lines.append(
            "what the judge saves is not known without its correlation with people (a pilot with "
            "score --labels tells it; or guess with --correlation)"
        )
    elif plan.with_judge is not None and plan.with_judge == plan.alone:
        lines.append(
            f"the judge saves nothing: its values have correlation {plan.correlation:.2f} with "
            "people's"
        )
    else:
        needed = "more than there are" if plan.with_judge is None else f"{plan.with_judge:,}"
        lines.append(f"± {half:g} needs {needed} with it (correlation {plan.correlation:.2f})")
    return "\n".join(lines)
