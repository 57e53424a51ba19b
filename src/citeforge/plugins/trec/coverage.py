"""Measures of coverage: how many points of a good answer (nuggets, rubrics) a report contains.

Labels come from files of assessors or of their tools (``--assessments``), else a judge decides for
every nugget, criterion or short answer whether the answer supports it.

## nuggets

Pradeep et al. 2024 (AutoNuggetizer). v is 1 if the answer supports a nugget, 1/2 in part, else 0.

No nugget: 0. Queries without a list leave; so they do in [rubric](#rubric) and [dragun](#dragun).
Without a label and a judge a nugget is open between bounds under `strict`, and 0 under `reference`;
a failed judgement is open in both.

*Example.* Vital: support, partial, none; okay: support. Vital = 1.5/3 = .50, All = 2.5/4 = .63,
VitalStrict = 1/3, AllStrict = 2/4.

## rubric

Sharma et al. 2025 (ResearchRubrics). v is 1, 1/2 or 0 for a criterion that is satisfied, partly, or
not.

Criteria of negative weight are faults. No positive weight: undefined. Missing answer (`strict`):
all faults and nothing else. *Example.* Weights 3, 2, −1, verdicts satisfied, partly, satisfied:
(3 + 1 − 1)/5 = .60; Binary (3 + 0 − 1)/5 = .40.

## dragun

Zhang et al. 2025 (TREC DRAGUN, task 2). Questions weigh 4, 2 or 1 by importance; each has short
answers.

A short answer that nobody labelled is open between bounds under `strict`; `reference` leaves it out
of its mean; a question without any counts 0. `Contradictory` needs labels, or a judge that tells
contradictions. *Example.* Question A (4): support and partial; B (1): contradiction. Supportive =
(4 · .75 + 0)/5 = .60, Contradictory = (0 + 1 · 1)/5 = .20.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from citeforge.engines.judge.records import Pair, Verdict
from citeforge.evaluator.measures.declared import Group, per_submission
from citeforge.evaluator.measures.handed import Answer, Answers
from citeforge.evaluator.measures.values import NOTHING, ByAnswer, Value
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import CannotError, Need, no_judge
from citeforge.plugins.trec.assessments import (
    Point,
    Points,
    binarise_support,
    load_assessments,
    require_one_run,
    write_assessments_option,
)
from citeforge.schemas.citations.grammar import without_markers
from citeforge.schemas.nuggets import VITAL

ValuedPoints = Sequence[tuple[Point, Value | None]]
"""Points with their values; None for one without a label."""
Formula = Callable[[ValuedPoints], Value | None]
"""Computes an answer's value from its points; None where it is undefined."""
MapLabel = Callable[[Value], Value]
"""Maps a label's value to the value that a measure counts."""


def support_degree(value: Value) -> Value:
    """Map a label's value to its degree of support, in [0, 1]; a contradiction is 0."""
    return Value(max(value.low, 0.0), max(value.high, 0.0))


def contradiction_degree(value: Value) -> Value:
    """Map a label's value to its degree of contradiction, in [0, 1]; support is 0."""
    return Value(max(-value.high, 0.0), max(-value.low, 0.0))


def nugget_share(points: ValuedPoints, vital: bool, only_full: bool) -> Value:
    """Compute the share of nuggets (all, or vital ones) that an answer has; 0 without any."""
    values = [v or NOTHING for p, v in points if not vital or p.group == VITAL]
    return Value.mean([binarise_support(v) if only_full else v for v in values])


def rubric_score(points: ValuedPoints, only_full: bool) -> Value | None:
    """Compute the weighted share of criteria that an answer meets; None without weights above 0."""
    total = math.fsum(p.weight for p, _ in points if p.weight > 0)
    values = [(p.weight, v or NOTHING) for p, v in points]
    return _divide_weighted_sum(
        [(w, binarise_support(v) if only_full else v) for w, v in values], total
    )


def dragun_score(points: ValuedPoints, map_label: MapLabel) -> Value | None:
    """Compute DRAGUN's score of a report, averaged by question; None without questions.

    Args:
        points: short answers, grouped by their questions; those without a label are left out.
        map_label: maps a label to the value that counts.
    """
    questions: dict[str, tuple[float, list[Value]]] = {}
    for point, value in points:
        _, values = questions.setdefault(point.group, (point.weight, []))
        values += [] if value is None else [map_label(value)]
    means = [(weight, Value.mean(values)) for weight, values in questions.values()]
    return _divide_weighted_sum(means, sum(weight for weight, _ in means))


def _divide_weighted_sum(values: Iterable[tuple[float, Value]], total: float) -> Value | None:
    """Divide the sum of (weight, value) products by a total; None if that is 0."""
    ends = [(w * v.low, w * v.high) for w, v in values]
    low, high = (sum(map(worst, ends)) for worst in (min, max))
    return Value(low, high) / total if total else None


@dataclass(frozen=True)
class ValuedAnswer:
    """An answer with the points of its query.

    Attributes:
        points: with their values.
        is_missing: whether the submission has no such answer.
    """

    points: ValuedPoints
    is_missing: bool

    def value(self, formula: Formula) -> Value | None:
        """Compute an answer's score by a formula; the lowest possible one if it is missing."""
        value = formula(self.points)
        return Value.exact(value.low) if value is not None and self.is_missing else value


class ValuedAnswers(ByAnswer[ValuedAnswer]):
    """Answers with the points of their queries.

    Attributes:
        is_blind: whether values are of a judge that tells no contradictions.
    """

    is_blind: bool

    def contradictions(self) -> Sample:
        """Average DRAGUN's contradiction score over answers; a missing answer has the highest.

        Raises:
            CannotError: the judge tells no contradictions.
        """
        if self.is_blind:
            raise CannotError(
                "needs a judge that tells contradictions: --judge-profile llm-dragun",
                code="missing-judge",
            )

        def highest(answer: ValuedAnswer) -> Value | None:
            """Compute an answer's contradiction score; the highest possible if it is missing."""
            value = dragun_score(answer.points, contradiction_degree)
            missing = value is not None and answer.is_missing
            return Value.exact(value.high) if value is not None and missing else value

        return self.mean(highest)


@dataclass(frozen=True)
class _Family:
    """A family of measures of coverage, which all read points of one sort.

    Attributes:
        name: name of the family, and of the points that it reads.
        needed: content of the files that it needs, for messages.
        lowest: smallest value of a label.
    """

    name: str
    needed: str
    lowest: float = 0.0

    def group(self, source: str, **facts: Any) -> Group:
        """Make the group of measures of nuggets or rubrics, with the paper that is their source."""
        return per_submission(
            self.name, needs=(Need.JUDGE_IF_ANY,), source=source, options=write_assessments_option,
            requires=f"--assessments with {self.name}: labels, or a judge "
            f"(--judge-profile llm-{self.name.rstrip('s')})",
            unlabelled="it looks at what an answer should say, and --labels are of its statements",
            **facts,
        )(self.points)  # fmt: skip

    def points(self, answers: Answers) -> ValuedAnswers:
        """List answers with their query's nuggets or criteria, and how far each is met.

        Raises:
            CannotError: no query has points, or there are neither labels nor a judge.
        """
        rows = _list_answers(self, answers)
        judge = answers.tools.judge
        valued = ValuedAnswers(
            {key: ValuedAnswer(points, item.is_missing)
             for key, item, points in _value_points(self, answers, rows)},
            answers.shape,
        )  # fmt: skip
        valued.is_blind = (
            judge is not None
            and any(p.value is None for _, _, row in rows for p in row)
            and not getattr(judge.judge, "tells_contradictions", False)
        )
        return valued


def _list_answers(family: _Family, answers: Answers) -> list[tuple[AnswerKey, Answer, Points]]:
    """List (key, answer, points) of answers to queries with nuggets, criteria or questions.

    Raises:
        CannotError: no query has points, or there are neither labels nor a judge.
    """
    lists = load_assessments(answers).lists[family.name]
    rows = [
        (item.key, item, points)
        for item in answers
        if (points := lists.find(answers.names, answers.query_ids[item.row])) is not None
    ]
    if not rows:
        raise CannotError(
            f"needs --assessments FILE: {family.needed}, of the benchmark's queries",
            code="missing-option",
        )
    require_one_run(answers, lists.labels)
    every = [p for _, _, row in rows for p in row]
    if every and answers.tools.judge is None and all(p.value is None for p in every):
        runs = ", ".join(sorted({run for run, _ in lists.labels if run})[:5])
        others = f" (they are of {runs})" if runs else ""
        raise CannotError(
            f"no labels of {answers.names[0]}{others}; without them, {no_judge()}",
            code="missing-judge",
        )
    return rows


def _value_points(
    family: _Family, answers: Answers, points_by_answer: Sequence[tuple[AnswerKey, Answer, Points]]
) -> Iterator[tuple[AnswerKey, Answer, ValuedPoints]]:
    """Yield (key, answer, points of a family with values by labels or the judge) per answer.

    A value is how far the answer meets a point, from 0 to 1 (from −1 where it may contradict it).

    Args:
        family: nuggets, rubric criteria or DRAGUN's questions.
        answers: the answers, with the judge.
        points_by_answer: (key, answer, points) of each answer to judge.
    """
    judge = answers.tools.judge
    texts = {key: _answer_text(answers, item) for key, item, _ in points_by_answer}
    decisions = {} if judge is None else judge.ask(
        Pair(texts[key], p.text)
        for key, item, points in points_by_answer
        for p in points
        if p.value is None and not item.is_missing
    )  # fmt: skip
    anything = Value(family.lowest, 1.0)

    def value(answer_key: AnswerKey, answer: Answer, point: Point) -> Value | None:
        """Get how far an answer meets a point (nugget, criterion): value, range, or None.

        The point's label counts, or else the judge's decision. Without either, the point counts
        only in ``strict``, with the full range.

        Args:
            answer_key: key of the answer.
            answer: the answer; a missing one may have met the point or not.
            point: the point, with a label if there is one.
        """
        if answer.is_missing:
            return anything
        support, decision = point.value, decisions.get(Pair(texts[answer_key], point.text))
        if support is None and isinstance(decision, Verdict):
            support = decision.level if decision.support is None else decision.support
            support = max(support, family.lowest)
        if support is not None:
            return Value.exact(support)
        is_open = decision is not None or answers.protocol == "strict"
        return anything if is_open else None

    for key, item, points in points_by_answer:
        yield key, item, [(p, value(key, item, p)) for p in points]


def _answer_text(answers: Answers, answer: Answer) -> str:
    """Get an answer's text without citation marks."""
    if answer.sentences is not None:
        return " ".join(s.text for s in answer.sentences)
    markers = answers.grammar.parse(answer.output, answer.n_passages).markers
    return without_markers(answer.output, markers)


_NUGGETS = _Family(
    "nuggets", "nuggets (as nuggetizer writes them: qid, nuggets with text and importance)"
).group("Pradeep et al. 2024 (AutoNuggetizer, TREC RAG 2024)")
_RUBRIC = _Family("rubric", "criteria with weights (qid, criteria with text and weight)").group(
    "Sharma et al. 2025 (ResearchRubrics)", low=-math.inf
)
_DRAGUN = _Family(
    "dragun", "DRAGUN's rubrics (topic_id, rubrics with importance and short_answers)", lowest=-1.0
).group("Zhang et al. 2025 (TREC DRAGUN, task 2)")
_SHARE = "`Σ v / number of nuggets`, of vital ones or all"
_SHARE_STRICT = "the same with partial support as 0"
MEASURES = (
    _NUGGETS.measure("Nuggets.Vital", "share of vital nuggets that the answer has, partial 0.5",
        formula=_SHARE, mean=lambda a: a.value(partial(nugget_share, vital=True, only_full=False))),
    _NUGGETS.measure("Nuggets.All", "the same of all nuggets", formula=_SHARE,
        mean=lambda a: a.value(partial(nugget_share, vital=False, only_full=False))),
    _NUGGETS.measure("Nuggets.VitalStrict", "Nuggets.Vital with partial support as none",
        formula=_SHARE_STRICT,
        mean=lambda a: a.value(partial(nugget_share, vital=True, only_full=True))),
    _NUGGETS.measure("Nuggets.AllStrict", "Nuggets.All with partial support as none",
        formula=_SHARE_STRICT,
        mean=lambda a: a.value(partial(nugget_share, vital=False, only_full=True))),
    _RUBRIC.measure(
        "Rubric.Score", "weights of the criteria that hold, partial 0.5, "
        "to the sum of positive weights", formula="`Σ weight · v / Σ positive weights`",
        mean=lambda a: a.value(partial(rubric_score, only_full=False))),
    _RUBRIC.measure("Rubric.Binary", "Rubric.Score with partial fulfilment as none",
        formula="the same with partial as 0",
        mean=lambda a: a.value(partial(rubric_score, only_full=True))),
    _DRAGUN.measure(
        "DRAGUN.Supportive", "support of a topic's short answers, partial 0.5, "
        "averaged over each question's and weighted by its importance 4, 2, 1",
        formula="`Σ weight · (mean v of the question's short answers) / Σ weights`, v = 1, 1/2 "
        "or 0 for support, partial, none",
        mean=lambda a: a.value(partial(dragun_score, map_label=support_degree))),
    _DRAGUN.measure("DRAGUN.Contradictory", "the same of contradictions; lower is better",
        formula="the same with v = 1 for a contradiction, else 0", higher_is_better=False,
        sample=lambda answers: answers.contradictions()),
)  # fmt: skip
