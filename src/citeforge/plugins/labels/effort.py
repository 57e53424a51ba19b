"""Which of more queries, runs, judges, repeats or labels narrows an interval most for its cost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from citeforge.engines.io.report_table import Table
from citeforge.evaluator.reports.withhold import require_values
from citeforge.evaluator.statistics.intervals import quantile
from citeforge.evaluator.statistics.judges import over_judges, values_by_layer
from citeforge.evaluator.statistics.variance import SOURCES, Components, shares_of, spread_at
from citeforge.plugins.labels.options import EffortOptions
from citeforge.schemas.errors import InputError, UnknownValueError
from citeforge.schemas.scores import MeasureScore, ScoreFile

_STEP_SHARE = 0.1
"""Share of queries, or labels, that a step adds; of all others it adds one."""
_UNKNOWN = {
    "runs": "one run: score a submission with two or more",
    "judges": "one judge: give score files of the same submission by several",
    "repeats": "one verdict a pair: score with --judge-repeats 2 or more",
    "labels": "no labels: score with --labels, and one judge",
}
"""Why nothing can be said of more of a source."""


@dataclass(frozen=True)
class Step:
    """More of one source.

    Attributes:
        source: ``queries``, ``runs``, ``judges``, ``repeats`` or ``labels``.
        now: how many there are.
        then: how many there would be.
        half: half of the 95 % interval to expect then, as displayed.
        narrower: by how much that is less than now.
        cost: of what is added.
    """

    source: str
    now: int
    then: int
    half: float
    narrower: float
    cost: float

    @property
    def per_cost(self) -> float:
        """What a unit of cost narrows."""
        return self.narrower / self.cost if self.cost else math.inf * self.narrower


@dataclass(frozen=True)
class EffortPlan:
    """What narrows the interval of a value.

    Attributes:
        measure: name.
        system: whose answers.
        value: as displayed; the mean over judges.
        low: lower end of its 95 % interval over all sources.
        high: upper end.
        half: half of the interval to expect of such a design; with labels, of the corrected value.
        levels: how many there are of every source.
        shares: of the squared standard error, by source.
        steps: the one that narrows most for its cost first.
        unknown: sources of which nothing is known, with what would tell.
    """

    measure: str
    system: str
    value: float
    low: float
    high: float
    half: float
    levels: dict[str, int]
    shares: dict[str, float]
    steps: list[Step]
    unknown: dict[str, str]


def effort_plan(files: Sequence[ScoreFile], options: EffortOptions) -> EffortPlan:
    """What more of everything would do to the interval of a value.

    Args:
        files: score files of one submission, by one judge each.
        options: the measure, and what things cost.

    Raises:
        InputError: files of different submissions, of one judge, or without an interval.
        UnknownValueError: a file lacks the measure.
    """
    require_values(files, "plan")
    entries = _entries(files, options.measure)
    name, scale = entries[0].name, entries[0].scale
    value, low, high, levels, components = over_judges(name, [
        values_by_layer(f, e) for f, e in zip(files, entries, strict=True)
    ])  # fmt: skip
    value, low, high = (scale * v for v in (value, low, high))
    components = {k: v * scale**2 for k, v in components.items()}
    if len(files) == 1 and (known := entries[0].variance) is not None:
        ends = (entries[0].value, entries[0].low, entries[0].high)
        value, low, high = (math.nan if v is None else v for v in ends)
        levels, components = {str(s): known.levels[s] for s in SOURCES}, known.components
    if math.isnan(low) or levels["queries"] < 2:
        raise InputError(
            f"{name} has no interval",
            allowed="a measure with an interval over two queries or more",
            code="too-few",
        )
    corrected = entries[0].corrected if len(files) == 1 else None
    if corrected is None or corrected.stderr is None or not corrected.labelled:
        now, half_at = dict(levels), partial(_half_width, components)
    else:
        weight = corrected.tuning or 0.0
        judged = weight * spread_at(components, levels).stderr
        of_labels = max(0.0, corrected.stderr**2 - judged**2) * corrected.n_labels
        now = dict(levels) | {"labels": corrected.n_labels}
        half_at = partial(_half_width, components, weight=weight, of_labels=of_labels)
    steps = []
    for source, n in now.items():
        if n > 1:
            more = math.ceil(n * _STEP_SHARE) if source in ("queries", "labels") else 1
            then = now | {source: n + more}
            if then.get("labels", 0) > then["queries"]:
                continue
            cost = _cost(then, options) - _cost(now, options)
            after = half_at(then)
            narrower = max(0.0, half_at(now) - after)
            steps.append(Step(source, n, n + more, after, narrower, cost))
    steps.sort(key=lambda s: -s.per_cost)
    unknown = {s: why for s, why in _UNKNOWN.items() if now.get(s, 1) < 2}
    shares = shares_of(components, levels)
    return EffortPlan(
        name, files[0].system, value, low, high, half_at(now), now, shares, steps, unknown
    )


def _half_width(
    components: Components, levels: dict[str, int], weight: float = 1.0, of_labels: float = 0.0
) -> float:
    """Half of the interval to expect of a value; of the corrected one where labels correct it.

    Args:
        components: variance of the judge's value, by source.
        levels: how many there are of every source.
        weight: the judge's, in a corrected value.
        of_labels: variance that one label gives a corrected value.
    """
    spread = spread_at(components, {s: n for s, n in levels.items() if s != "labels"})
    judged = weight * quantile(spread.df) * spread.stderr
    n = levels.get("labels")
    return judged if n is None else math.hypot(judged, quantile(n - 1) * math.sqrt(of_labels / n))


def _cost(levels: dict[str, int], costs: EffortOptions) -> float:
    answers = levels["queries"] * levels["runs"]
    return (
        levels["queries"] * costs.query_cost
        + answers * costs.answer_cost
        + answers * levels["judges"] * levels["repeats"] * costs.judging_cost
        + levels.get("labels", 0) * costs.label_cost
    )


def _entries(files: Sequence[ScoreFile], asked: str | None) -> list[MeasureScore]:
    """One measure of every file.

    Raises:
        InputError: files of different submissions, or of one judge.
        UnknownValueError: a file lacks the measure.
    """
    by_name = [{m.name: m for m in file.measures} for file in files]
    judged = [n for n, m in by_name[0].items() if "|judge:" in m.signature and m.n > 1]
    name = asked or next(iter([*judged, *by_name[0]]), "")
    for of_file in by_name:
        if name not in of_file:
            raise UnknownValueError("measure", name, of_file)
    if len({(f.submission_sha256, f.benchmark_hash, f.context, f.protocol) for f in files}) > 1:
        raise InputError(
            "the score files are of different answers, so their judges cannot be compared",
            allowed="one submission on one benchmark, context set and protocol, by several judges",
            code="not-comparable",
        )
    recipes = [of_file[name].signature for of_file in by_name]
    if len(set(recipes)) < len(recipes):
        raise InputError(
            "two score files have the same judge",
            allowed="one score file per judge",
            code="duplicate-id",
        )
    return [of_file[name] for of_file in by_name]


def render_effort(plan: EffortPlan) -> str:
    """What ``labels plan-effort`` prints."""
    has = ", ".join(f"{name} {n:,}" for name, n in plan.levels.items())
    lines = [
        f"{plan.measure} of {plan.system}: {plan.value:.2f} [{plan.low:.2f}, {plan.high:.2f}]",
        f"made of: {has}",
        "uncertainty (squared standard error): "
        + ", ".join(f"{source} {share:.0%}" for source, share in plan.shares.items()),
    ]
    corrected = " of the corrected value" if "labels" in plan.levels else ""
    lines += ["", f"to expect{corrected} now: ± {plan.half:.2f} (Student's t, uncut)"]
    head = ("more", "now", "then", "±", "narrower", "cost", "narrower per cost")
    rows = [
        (s.source, f"{s.now:,}", f"{s.then:,}", f"{s.half:.2f}", f"{s.narrower:.3f}",
         f"{s.cost:,g}", f"{s.per_cost:.3g}")
        for s in plan.steps
    ]  # fmt: skip
    lines += Table(head, rows).text()
    return "\n".join([*lines, *(f"not known: more {s} ({why})" for s, why in plan.unknown.items())])
