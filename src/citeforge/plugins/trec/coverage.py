"""What an answer should say, and how much of it it says: nuggets, rubrics, DRAGUN's reports.

Labels come from files of people or of their tools (``--assessments``), else a judge decides of
every nugget, criterion or short answer whether the answer supports it. With v = 1 for support, 0.5
for partial support, else 0:

- ``Nuggets``: Σ v / number of nuggets, over vital ones or all (AutoNuggetizer, TREC RAG 2024);
- ``Rubric``: Σ weight · v / Σ positive weights; undefined where no weight is positive;
- ``DRAGUN``: over a topic's questions of weights 4, 2 and 1, Σ weight · (mean v of the question's
  short answers) / Σ weights; ``Contradictory`` likewise, with 1 for a contradiction, else 0.

``strict`` loops over all queries that have such a list: a missing answer has the worst value, and
what nobody labelled is open between bounds. ``reference`` counts what nobody labelled as the
authors' code does: as no support; DRAGUN leaves it out of the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from citeforge.engines.judge.records import Pair, Verdict
from citeforge.evaluator.measures.columns import Key, Value, bounded
from citeforge.evaluator.measures.declared import CannotError, Compute, Found, Measure, percent
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.evaluator.tools import NO_JUDGE
from citeforge.plugins.trec.assessments import VITAL, Assessments, Point, PointLists, Points
from citeforge.plugins.trec.labels import SEVERAL_RUNS, assessments_of, files_signature
from citeforge.schemas.citations.grammar import without_markers

_NOTHING = Value(0.0, 0.0)
Valued = Sequence[tuple[Point, Value | None]]
"""Points with what is known of them; None for one that counts as absent."""
Formula = Callable[[Valued], Value | None]
"""Points of one answer to its value; None where it has none."""


def nuggets(points: Valued, vital: bool, full: bool) -> Value:
    """Share of nuggets that the answer has; 0 of none.

    Args:
        points: of one answer.
        vital: whether only vital nuggets count.
        full: whether partial support counts nothing.
    """
    values = [v or _NOTHING for p, v in points if not vital or p.group == VITAL]
    if full:
        values = [_full(v) for v in values]
    return sum(values, _NOTHING) / (len(values) or 1)


def rubric(points: Valued, full: bool) -> Value | None:
    """Weighted share of criteria; None without a positive weight."""
    total = math.fsum(p.weight for p, _ in points if p.weight > 0)
    if not total:
        return None
    values = [(p.weight, v or _NOTHING) for p, v in points]
    if full:
        values = [(weight, _full(v)) for weight, v in values]
    low = sum(w * (v.low if w > 0 else v.high) for w, v in values)
    high = sum(w * (v.high if w > 0 else v.low) for w, v in values)
    return Value(low, high) / total


def dragun(points: Valued, contradictions: bool) -> Value | None:
    """DRAGUN's measure of a report; None for a topic without questions.

    Args:
        points: short answers, grouped by their questions.
        contradictions: whether contradictions count, and not support.
    """
    questions: dict[str, list[Value]] = {}
    weights: dict[str, float] = {}
    for point, value in points:
        weights[point.group] = point.weight
        values = questions.setdefault(point.group, [])
        if value is not None:
            values.append(_negative(value) if contradictions else _positive(value))
    if not weights:
        return None
    total = _NOTHING
    for name, values in questions.items():
        mean = sum(values, _NOTHING) / (len(values) or 1)
        total += Value(mean.low * weights[name], mean.high * weights[name])
    return total / sum(weights.values())


def _full(value: Value) -> Value:
    return Value(float(value.low >= 1), float(value.high >= 1))


def _positive(value: Value) -> Value:
    return Value(max(value.low, 0.0), max(value.high, 0.0))


def _negative(value: Value) -> Value:
    return Value(max(-value.high, 0.0), max(-value.low, 0.0))


@dataclass(frozen=True)
class _Family:
    """A family of measures.

    Attributes:
        lists: which of the assessments it reads.
        what: what the files must hold, for messages.
        formulas: measure to its formula.
        lowest: least value of a label.
        is_mean_of_labelled: whether ``reference`` leaves out what nobody labelled.
    """

    lists: Callable[[Assessments], PointLists]
    what: str
    formulas: Mapping[str, Formula]
    lowest: float = 0.0
    is_mean_of_labelled: bool = False


_NUGGETS = _Family(
    lambda found: found.nuggets,
    "nuggets (as nuggetizer writes them: qid, nuggets with text and importance)",
    {
        "Nuggets.Vital": partial(nuggets, vital=True, full=False),
        "Nuggets.All": partial(nuggets, vital=False, full=False),
        "Nuggets.VitalStrict": partial(nuggets, vital=True, full=True),
        "Nuggets.AllStrict": partial(nuggets, vital=False, full=True),
    },
)
_RUBRIC = _Family(
    lambda found: found.criteria,
    "criteria with weights (qid, criteria with text and weight)",
    {"Rubric.Score": partial(rubric, full=False), "Rubric.Binary": partial(rubric, full=True)},
)
_DRAGUN = _Family(
    lambda found: found.questions,
    "DRAGUN's rubrics (topic_id, rubrics with importance and short_answers)",
    {
        "DRAGUN.Supportive": partial(dragun, contradictions=False),
        "DRAGUN.Contradictory": partial(dragun, contradictions=True),
    },
    lowest=-1.0,
    is_mean_of_labelled=True,
)


def _compute(family: _Family, inputs: Inputs, measures: Sequence[Measure]) -> Found:
    rows = _answers(family, inputs)
    session = inputs.tools.judge
    is_open = any(p.value is None for _, _, row in rows for p in row)
    judge = session.judge if session is not None and is_open else None
    pairs = list(_valued(family, inputs, rows))
    for measure in measures:
        is_worst_high = not measure.higher_is_better
        is_blind = judge is not None and not getattr(judge, "tells_contradictions", False)
        if is_worst_high and is_blind:
            yield (
                measure.name,
                "needs a judge that tells contradictions: --judge-profile llm-dragun",
            )
            continue
        values: dict[Key, Value] = {}
        for key, item, points in pairs:
            value = family.formulas[measure.name](points)
            if value is not None:
                worst = value.high if is_worst_high else value.low
                values[key] = Value(worst, worst) if item.is_missing else value
        yield bounded(inputs, measure.name, values)


def _answers(family: _Family, inputs: Inputs) -> list[tuple[Key, AnswerItem, Points]]:
    """Answers to the queries that have a list, with its points; labelled where labels are.

    Raises:
        CannotError: there is no list, or nothing that labels.
    """
    lists = family.lists(assessments_of(inputs))
    rows = [
        ((run, item.row), item, points)
        for run, item in inputs.items()
        if (points := lists.of(inputs.names, inputs.benchmark.query_ids[item.row])) is not None
    ]
    if not rows:
        raise CannotError(f"needs --assessments FILE: {family.what}, of the benchmark's queries")
    if lists.labels and len(inputs.runs) > 1:
        raise CannotError(SEVERAL_RUNS)
    every = [p for _, _, row in rows for p in row]
    if every and inputs.tools.judge is None and all(p.value is None for p in every):
        runs = ", ".join(sorted({run for run, _ in lists.labels if run})[:5])
        others = f" (they are of {runs})" if runs else ""
        raise CannotError(f"no labels of {inputs.names[0]}{others}; without them, {NO_JUDGE}")
    return rows


def _valued(
    family: _Family, inputs: Inputs, rows: Sequence[tuple[Key, AnswerItem, Points]]
) -> Iterator[tuple[Key, AnswerItem, Valued]]:
    """The same with what labels and the judge say of each point."""
    judge = inputs.tools.judge
    texts = {key: _answer_text(inputs, item) for key, item, _ in rows}
    decisions = {} if judge is None else judge.ask(
        Pair(texts[key], p.text)
        for key, item, points in rows
        for p in points
        if p.value is None and not item.is_missing
    )  # fmt: skip
    anything = Value(family.lowest, 1.0)
    absent = None if family.is_mean_of_labelled else _NOTHING

    def value(key: Key, item: AnswerItem, point: Point) -> Value | None:
        if item.is_missing:
            return anything
        if point.value is not None:
            return Value(point.value, point.value)
        decision = decisions.get(Pair(texts[key], point.text))
        if isinstance(decision, Verdict):
            support = decision.level if decision.support is None else decision.support
            support = max(support, family.lowest)
            return Value(support, support)
        is_open = decision is not None or inputs.protocol == "strict"
        return anything if is_open else absent

    for key, item, points in rows:
        yield key, item, [(p, value(key, item, p)) for p in points]


def _answer_text(inputs: Inputs, item: AnswerItem) -> str:
    """The answer without its marks."""
    if item.sentences is not None:
        return " ".join(s.text for s in item.sentences)
    markers = inputs.grammar.parse(item.output, len(item.passages)).markers
    return without_markers(item.output, markers)


def _measure(family: str, compute: Compute, source: str, **known: Any) -> Callable[..., Measure]:
    return partial(
        percent,
        family=family,
        needs=f"--assessments with {family}: labels, or a judge "
        f"(--judge-profile llm-{family.rstrip('s')})",
        source=source,
        uses=("judge",),
        compute=compute,
        options=files_signature,
        unlabelled="it looks at what an answer should say, and --labels are of its statements",
        **known,
    )


_nuggets = _measure(
    "nuggets", partial(_compute, _NUGGETS), "Pradeep et al. 2024 (AutoNuggetizer, TREC RAG 2024)"
)
_rubric = _measure(
    "rubric", partial(_compute, _RUBRIC), "Sharma et al. 2025 (ResearchRubrics)", low=-math.inf
)
_dragun = _measure("dragun", partial(_compute, _DRAGUN), "Zhang et al. 2025 (TREC DRAGUN, task 2)")
MEASURES = (
    _nuggets("Nuggets.Vital", definition="share of vital nuggets that the answer has, partial 0.5"),
    _nuggets("Nuggets.All", definition="the same of all nuggets"),
    _nuggets("Nuggets.VitalStrict", definition="Nuggets.Vital with partial support as none"),
    _nuggets("Nuggets.AllStrict", definition="Nuggets.All with partial support as none"),
    _rubric("Rubric.Score", definition="weights of the criteria that hold, partial 0.5, "
            "to the sum of positive weights"),
    _rubric("Rubric.Binary", definition="Rubric.Score with partial fulfilment as none"),
    _dragun("DRAGUN.Supportive", definition="support of a topic's short answers, partial 0.5, "
            "averaged over each question's and weighted by its importance 4, 2, 1"),
    _dragun("DRAGUN.Contradictory", definition="the same of contradictions; lower is better",
            higher_is_better=False),
)  # fmt: skip
