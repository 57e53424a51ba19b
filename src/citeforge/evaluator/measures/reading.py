"""From the lines of a submission to samples: what all ways of reading have in common.

A way of reading is one function: it goes through the lines of a submission, keeps what its measures
need, computes them, and counts answers and faults. A kind has one for each of its ``readings``.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.progress import ProgressLines
from citeforge.evaluator.measures.declared import Answers, CannotError, Measure, MeasureOf
from citeforge.evaluator.statistics.estimates import Floats, Sample, join_repeats
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.finding import Finding
from citeforge.evaluator.submissions.index import Submission
from citeforge.evaluator.submissions.inputs import Inputs
from citeforge.evaluator.submissions.reader import LineIndex
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.schemas.authorship import Design
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.scores import AnswerDetail, Counts, NotComputed
from citeforge.schemas.submission import SubmissionLine

Results = tuple[list[tuple[Measure, Sample]], list[NotComputed]]
"""Measures with their samples, and why others could not be computed."""
OneOf = TypeVar("OneOf", bound=Measure)


@dataclass(frozen=True)
class Reading:
    """A submission as it was read, with its computed measures.

    Attributes:
        context: what is scored, as score files say it.
        results: measures that could be computed, and why others could not.
        counts: what the submission consists of.
        tools: judge, segmenter and options that measures were computed with.
        grammar_of: a measure to how its citations are read, as its signature says it.
        options_of: a measure and the choices that it declares to those of its signature.
        warnings: signs that the submission answers another benchmark.
        details: answers of the first run in statements, in the order of the benchmark.
        n_failed: questions that failed, besides those to the judge.
        inputs: what labels of people are about; None where they are about nothing of it.
        design: cells of an authorship benchmark.
        splitter: what splits sentences in the protocol ``reference``.
    """

    context: str
    results: Results
    counts: Counts
    tools: ScoringTools
    grammar_of: Callable[[Measure], str]
    options_of: Callable[[Measure, str | None], str | None] = lambda measure, options: options
    warnings: list[Finding] = field(default_factory=list)
    details: list[AnswerDetail] = field(default_factory=list)
    n_failed: int = 0
    inputs: Inputs | None = None
    design: Design | None = None
    splitter: str = "punkt"


Read = Callable[[Submission, Sequence[Measure], ScoringTools], Reading]
"""A way to read a submission.

Raises UsageError: the measures do not fit each other, the context set is not clear, or there is
none of that name; InputError: an unknown or duplicate key, or no answer at all.
"""


class AnswerCounts(Counter[str]):
    """Counts of answers, and of those with anomalies, by the fields of :class:`Counts`."""

    def add(
        self, answer: SubmissionLine, n_cited: float, n_beyond: float, n_unparsed: float
    ) -> None:
        """Count one answer, and its anomalies.

        Args:
            answer: what the system wrote.
            n_cited: distinct citations.
            n_beyond: citations of what was not shown.
            n_unparsed: marks that could not be read.
        """
        self["n_answered"] += 1
        self["n_unparsed"] += n_unparsed > 0
        self["n_empty"] += not answer.output.strip()
        self["n_uncited"] += n_cited == 0
        self["n_out_of_range"] += n_beyond > 0
        self["n_truncated"] += answer.is_truncated

    def counts(self, benchmark: Benchmark, n_runs: int, n_keys: int, **more: int) -> Counts:
        """Make the counts of a score file; ``n_keys`` answers were expected."""
        n_queries, n_missing = len(benchmark.query_ids), n_keys - self["n_answered"]
        return Counts(n_queries=n_queries, n_runs=n_runs, n_missing=n_missing, **self, **more)


def answers_to(context: str, submission: Submission) -> Iterator[tuple[int, SubmissionLine]]:
    """Yield (row of its query, answer) for every line that answers a context set.

    Raises:
        InputError: an unknown or duplicate key, or there is no such line.
    """
    places, is_any = LineIndex(submission.path, submission.benchmark), False
    for line, answer in submission.answers():
        if places.is_of(line, answer, context):
            is_any = True
            yield places.row(line, answer, context), answer
    if not is_any:
        raise InputError(
            f"contains no answer to the context set {context!r}",
            path=submission.path,
            allowed="name a context set that its lines answer: --context",
            code="no-answers",
        )


def answers_by_cell(
    cells: Collection[str], submission: Submission
) -> Iterator[tuple[str, int, SubmissionLine]]:
    """Yield (cell, row of its query, answer) for every line; all cells are read together.

    Raises:
        InputError: a line names no cell, an unknown or duplicate key, or there is no line.
    """
    places, is_any = LineIndex(submission.path, submission.benchmark), False
    for line, answer in submission.answers():
        cell, is_any = answer.context, True
        if cell is None or cell not in cells:
            raise InputError(
                "is missing" if cell is None else f"{cell!r} is not a cell of the benchmark",
                path=submission.path,
                line=line,
                field="context",
                allowed=", ".join(cells),
                code="missing-field" if cell is None else "unknown-context",
            )
        yield cell, places.row(line, answer, cell), answer
    if not is_any:
        raise InputError("contains no answers", path=submission.path, code="no-answers")


def require_cells_alone(
    measure_class: type[OneOf],
    benchmark: Benchmark,
    measures: Sequence[Measure],
    tools: ScoringTools,
) -> list[OneOf]:
    """Check that all measures are of one class and read all cells; return them.

    Raises:
        UsageError: names what does not fit.
    """
    fitting = [m for m in measures if isinstance(m, measure_class)]
    others = [m.name for m in measures if not isinstance(m, measure_class)]
    context = tools.options.context
    if others or context is not None:
        what = f"--measures {','.join(others)}" if others else f"--context {context}"
        own = benchmark.kind.default_measures[0]
        raise UsageError(
            f"{what}: {own} measures look at all cells at once; score the family {own} by "
            "itself, and others with --context CELL --measures …",
            code="conflicting-options",
        )
    return fitting


class Scored(Protocol):
    """Numbers of one answer: a named tuple that begins with the columns."""

    @property
    def distinct(self) -> float:
        """Number of distinct citations."""

    @property
    def n_out_of_range(self) -> float:
        """Number of distinct citations of passages that were not shown."""

    @property
    def n_unparsed(self) -> float:
        """Number of citation marks that could not be read."""

    def __getitem__(self, part: slice, /) -> tuple[float, ...]:
        """Get some of the numbers, as a slice of a tuple."""


class PerAnswerScores(ABC):
    """Numbers of the answers to one context set, of which nothing else is kept.

    Attributes:
        columns: names of the numbers that are kept: the first ones of each answer's.
    """

    columns: ClassVar[tuple[str, ...]]

    def __init__(self, n_queries: int) -> None:
        """Prepare to keep the numbers of answers to ``n_queries`` queries."""
        self._n = n_queries
        self._runs: dict[int, tuple[Floats, bytearray]] = {}

    @abstractmethod
    def of(self, row: int, answer: SubmissionLine) -> Scored:
        """Compute the raw values of one answer to the query in this row; NaN where undefined."""

    @abstractmethod
    def worst(self, row: int) -> Scored:
        """Get the raw values of a missing answer to the query in this row."""

    def add(self, row: int, answer: SubmissionLine) -> Scored:
        """Compute, store and return the raw values of one answer to the query in this row."""
        run = self._runs.get(answer.run)
        if run is None:
            values = np.full((self._n, len(self.columns)), np.nan)
            run = self._runs[answer.run] = values, bytearray(self._n)
        scored = self.of(row, answer)
        run[0][row] = scored[: len(self.columns)]
        run[1][row] = 1
        return scored

    def fill(self) -> None:
        """Fill in the worst value for every missing answer."""
        for values, answered in self._runs.values():
            for row in np.flatnonzero(np.frombuffer(answered, np.uint8) == 0).tolist():
                values[row] = self.worst(row)[: len(self.columns)]

    @property
    def runs(self) -> list[int]:
        """Numbers of the runs, in order."""
        return sorted(self._runs)

    def column(self, name: str) -> Floats:
        """Get one of the kept numbers of all answers, shape (runs, queries)."""
        at = self.columns.index(name)
        return np.stack([self._runs[number][0][:, at] for number in self.runs])


def compute(
    answers: Answers, measures: Sequence[MeasureOf[Answers]], judge: JudgeSession | None,
    is_of_cells: bool = False,
) -> Results:  # fmt: skip
    """Compute the samples of measures; judged ones once for each repeat of the judge.

    Args:
        answers: what their functions read.
        measures: measures of these answers.
        judge: whose verdicts they may ask for.
        is_of_cells: whether their functions look at all cells of an experiment and give samples,
            any number a measure, which keep their order; else samples are in that of the measures.
    """
    repeats = 1 if judge is None else judge.repeats
    by_name = {m.name: m for m in measures}
    by_place: dict[tuple[str, str | None], list[Sample]] = {}
    missing: list[NotComputed] = []
    with ProgressLines("measuring", len(measures), "measures") as lines:
        for function in dict.fromkeys(m.compute for m in measures):
            together = [m for m in measures if m.compute == function]
            judged = [m for m in together if "judge" in m.uses]
            lines.advance(0, together[0].name)
            for repeat in range(repeats if judged else 1):
                wanted = judged if repeat else together
                if judge is not None:
                    judge.repeat = repeat
                try:
                    results = list(function(answers, wanted))
                    if not is_of_cells:
                        samples = dict(results)
                        results = [(m.name, _sample_or_reason(samples[m.name])) for m in wanted]
                except CannotError as error:
                    results = [(m.name, str(error)) for m in wanted]
                for name, result in results:
                    if isinstance(result, Sample):
                        by_place.setdefault((name, result.place), []).append(result)
                    elif (absent := NotComputed(name=name, reason=result)) not in missing:
                        missing.append(absent)
            lines.advance(len(together))
    if judge is not None:
        judge.repeat = 0
    computed: list[tuple[Measure, Sample]] = [
        (by_name[name], join_repeats(samples))
        for (name, _), samples in by_place.items()
        if len(samples) == (repeats if "judge" in by_name[name].uses else 1)
    ]
    if not is_of_cells:
        order = {m.name: i for i, m in enumerate(measures)}
        computed.sort(key=lambda row: order[row[0].name])
        missing.sort(key=lambda absent: order[absent.name])
    return computed, missing


def _sample_or_reason(result: Sample | str) -> Sample | str:
    """Return a sample unchanged; if no query defines it, return the reason instead."""
    if isinstance(result, str) or not result.has_interval or result.always:
        return result
    return "no query defines it" if np.isnan(result.per_query).all() else result


def not_computed(measures: Sequence[Measure], reason: str) -> list[NotComputed]:
    """List measures with the reason why they could not be computed."""
    return [NotComputed(name=measure.name, reason=reason) for measure in measures]
