"""Measures of how alike the answers of several runs of one system are.

## consistency

Ours, after Vectara's open-rag-eval; the same in both protocols, but for the
[statements](#statements), which in `reference` are ALCE's. A system that is asked again should
cite the same passages and say the same. Runs are lines of one file, with `run` in each, or files
that `score FILE --also FILE` joins; one run is not enough.

For each pair of runs of a query: `Consistency.Cited` is the Jaccard index of the passages cited (in
both ÷ in either); `Consistency.Statements` is the share of the statements of both answers that are
in the other, word for word, or else entailed by all of its text. The value of a query is the mean
over pairs of runs. A missing answer agrees with none (`reference`: it leaves).
`Consistency.Variation[NAME]` is the coefficient of variation of every other measure that is
computed (`--measures consistency,NAME`): the sd of its values in the runs ÷ their mean.

*Example.* Three runs cite {1, 2}, {1} and {1}: the pairs have 1/2, 1/2 and 1/1, so Cited = 2/3. One
says A and B, another A alone: A is in the other both times, B is not: Statements = 2/3. Runs with
CiteP 40 and 60 have mean 50 and sd √(10² + 10²) = 14.14: Variation[CiteP] = 14.14/50 = .283.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.declared import OWN_WEIGHTS, per_submission
from citeforge.evaluator.measures.handed import Answer, Answers
from citeforge.evaluator.measures.values import NOTHING, ByAnswer, Value, judge_pair
from citeforge.evaluator.statistics.estimates import Floats, Sample, ratio
from citeforge.evaluator.submissions.tools import CannotError, Need

FAMILY = "consistency"
_SOURCE = "ours, after open-rag-eval"
_RUNS = "two runs or more of one system"


@per_submission(
    FAMILY, needs=(Need.PASSAGES,), source=_SOURCE, requires=_RUNS, reads_labels=False
)  # fmt: skip
def cited_alike(answers: Answers) -> ByAnswer[Value]:
    """Compute, per query, how similar the passages are that a system's runs cite.

    Raises:
        CannotError: there is one run, or no passage was shown.
    """
    _require_runs(answers)
    answers.require_passages()

    def compare(one: Answer, other: Answer) -> Value | None:
        """Compute the Jaccard index of the passages that two answers cite; None if none do."""
        first, second = _cited(one), _cited(other)
        either = first | second
        return Value.exact(len(first & second) / len(either)) if either else None

    return _mean_over_pairs(answers, compare)


def _cited(answer: Answer) -> set[tuple[str, str]]:
    """Collect the passages that an answer cites: by id, or by text if they have none."""
    positions, _, _ = answer.submission.grammar.cited(answer.output, answer.n_shown)
    passages = (answer.passages[at] for at in positions)
    return {(p.id, "" if p.id else p.text) for p in passages}


@per_submission(
    FAMILY, needs=(Need.STATEMENTS, Need.SEGMENTER, Need.JUDGE), source=_SOURCE,
    requires=f"{_RUNS}, a judge", reads_labels=False,
    unlabelled="it asks whether an answer entails a statement of another answer, and labels are of "
    "passages",
)  # fmt: skip
def said_alike(answers: Answers) -> ByAnswer[Value]:
    """Compute, per query, the share of statements that a system's other runs say, too.

    Raises:
        CannotError: there is one run.
    """
    _require_runs(answers)
    judge = answers.tools.get_judge()
    texts = {a.key: [statement.text for statement in a.statements] for a in answers}
    judge.ask(
        Pair(b.text, text)
        for _, one, other in _pairs_of_runs(answers)
        for a, b in ((one, other), (other, one))
        for text in texts[a.key]
        if text not in texts[b.key]
    )

    def compare(one: Answer, other: Answer) -> Value | None:
        """Compute the share of two answers' statements that the other says; None without any."""
        values = [
            Value.exact(1.0) if text in texts[b.key] else judge_pair(judge, Pair(b.text, text))
            for a, b in ((one, other), (other, one))
            for text in texts[a.key]
        ]
        return Value.mean(values) if values else None

    return _mean_over_pairs(answers, compare)


@dataclass(frozen=True)
class VariationSample(Sample):
    """Sufficient statistics of the coefficient of variation of a measure over runs.

    Attributes:
        of: sample of the measure, whose rows are the runs.
    """

    of: Sample = field(kw_only=True)

    def combine(self, sums: Floats) -> Floats:
        """Compute the coefficient of variation over runs (sd / mean) from sums over queries."""
        of = self.of
        values = of.combine(sums.reshape(*sums.shape[:-1], len(of.sums), -1))
        # Of each run, the mean over judges and their repeats.
        runs = values.reshape(*values.shape[:-1], of.judges, -1, of.repeats).mean(axis=(-3, -1))
        return ratio(runs.std(axis=-1, ddof=1), np.abs(runs.mean(axis=-1)))


@per_submission(
    FAMILY, needs=(Need.SCORES, Need.BENCHMARK), source=_SOURCE,
    requires=f"{_RUNS}, other measures",
)  # fmt: skip
def variations(answers: Answers) -> list[Sample]:
    """Make a sample per measure: the coefficient of variation of its values over runs.

    Raises:
        CannotError: there is one run, no other measure of several runs, or hidden gold.
    """
    _require_runs(answers)
    if answers.benchmark.has_hidden_gold:
        raise CannotError(OWN_WEIGHTS, code="hidden-gold")
    n_runs = len(answers.runs)
    varied = [
        _make_variation_sample(name, sample)
        for name, sample in answers.scored.items()
        if len(sample.sums) == n_runs * sample.judges * sample.repeats and sample.upper is None
    ]
    found = [v for v in varied if not np.isnan(v.per_query).all()]
    if not found:
        raise CannotError(
            f"needs other measures, whose mean is not 0: --measures {FAMILY},NAME",
            code="missing-option",
        )
    return found


def _make_variation_sample(name: str, sample: Sample) -> Sample:
    """Make the sample of a measure's coefficient of variation over runs."""
    sums = np.moveaxis(sample.sums, 0, 1)
    sums = sums.reshape(1, len(sums), -1)
    unknown = np.full(sums.shape[:2], np.nan)
    varied = VariationSample(
        sums, unknown, has_interval=sample.has_interval, place=name, derived_from=name, of=sample
    )
    return replace(varied, per_query=varied.combine(sums))


def _require_runs(answers: Answers) -> None:
    """Raise an error if a submission has only one run.

    Raises:
        CannotError: says how runs are given.
    """
    if len(answers.runs) < 2:
        raise CannotError(
            f"needs {_RUNS}, and there is one: number them by `run` in each line, or add a file "
            "of each: --also FILE",
            code="missing-answer",
        )


def _pairs_of_runs(answers: Answers) -> Iterator[tuple[int, Answer, Answer]]:
    """Yield (row of the query, answer, another run's answer) for all pairs of runs."""
    by_run = [{answer.row: answer for answer in run} for run in answers.runs]
    for one, other in combinations(by_run, 2):
        yield from ((row, one[row], other[row]) for row in one if row in other)


def _mean_over_pairs(
    answers: Answers, compare: Callable[[Answer, Answer], Value | None]
) -> ByAnswer[Value]:
    """Average a comparison of two answers, per query, over all pairs of runs that define it."""
    values: dict[int, list[Value]] = {}
    for row, one, other in _pairs_of_runs(answers):
        is_missing = one.is_missing or other.is_missing
        value = NOTHING if is_missing else compare(one, other)
        if value is not None:
            values.setdefault(row, []).append(value)
    means = {(0, row): Value.mean(of_query) for row, of_query in values.items()}
    return ByAnswer(means, (1, answers.shape[1]))


MEASURES = (
    cited_alike.measure(
        "Consistency.Cited", "passages that several runs of a system cite alike",
        formula="mean over pairs of runs of the passages that both cite ÷ that either cites",
        edge_cases="no run cites anything: undefined"),
    said_alike.measure(
        "Consistency.Statements", "statements that several runs of a system say alike",
        formula="mean over pairs of runs of the share of their statements that the other answer "
        "says, too", edge_cases="no run has a statement: undefined"),
    variations.measure(
        "Consistency.Variation", "coefficient of variation over runs of every other measure",
        sample=lambda samples: samples, high=None, higher_is_better=False,
        formula="sd of the runs' values ÷ their mean", edge_cases="mean 0: undefined; not computed "
        "of measures with pairs on which the judge failed, nor with hidden gold"),
)  # fmt: skip
