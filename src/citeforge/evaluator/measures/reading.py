"""Submissions, read: what all ways of reading have in common.

A way is one function: it goes through the lines of a submission, keeps what its measures look at,
computes them, and says what the file consists of. A kind names one for each of its ``readings``.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from citeforge.evaluator.measures.compute import Results
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.statements.inputs import Inputs
from citeforge.evaluator.statements.tools import Tools
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.finding import Finding
from citeforge.evaluator.submissions.index import Submission
from citeforge.evaluator.submissions.reader import Places
from citeforge.schemas.authorship import Design
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.scores import AnswerDetail, Counts
from citeforge.schemas.submission import SubmissionLine


def _as_declared(measure: Measure, options: str | None) -> str | None:
    return options


@dataclass(frozen=True)
class Reading:
    """A submission that was read and scored.

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
    tools: Tools
    grammar_of: Callable[[Measure], str]
    options_of: Callable[[Measure, str | None], str | None] = _as_declared
    warnings: list[Finding] = field(default_factory=list)
    details: list[AnswerDetail] = field(default_factory=list)
    n_failed: int = 0
    inputs: Inputs | None = None
    design: Design | None = None
    splitter: str = "punkt"


Read = Callable[[Submission, Sequence[Measure], Tools], Reading]
"""A way to read a submission.

Raises UsageError: the measures do not fit each other, the context set is not clear, or there is
none of that name; InputError: an unknown or duplicate key, or no answer at all.
"""


@dataclass
class Tally:
    """Counts of answers and of anomalies in them."""

    n: int = 0
    unparsed: int = 0
    empty: int = 0
    uncited: int = 0
    beyond: int = 0
    listed: int = 0
    truncated: int = 0

    def add(
        self, answer: SubmissionLine, n_cited: float, n_beyond: float, n_unparsed: float
    ) -> None:
        """Count one answer.

        Args:
            answer: what the system wrote.
            n_cited: distinct citations.
            n_beyond: citations of what was not shown.
            n_unparsed: marks that could not be read.
        """
        self.n += 1
        self.unparsed += n_unparsed > 0
        self.empty += not answer.output.strip()
        self.uncited += n_cited == 0
        self.beyond += n_beyond > 0
        self.truncated += answer.is_truncated

    def counts(self, benchmark: Benchmark, n_runs: int, n_keys: int, **more: int) -> Counts:
        """Counts as they stand in score files; ``n_keys`` answers were expected."""
        return Counts(
            n_queries=len(benchmark.query_ids),
            n_runs=n_runs,
            n_answered=self.n,
            n_missing=n_keys - self.n,
            n_unparsed=self.unparsed,
            n_empty=self.empty,
            n_uncited=self.uncited,
            n_out_of_range=self.beyond,
            n_listed=self.listed,
            n_truncated=self.truncated,
            **more,
        )


def answers_to(context: str, submission: Submission) -> Iterator[tuple[int, SubmissionLine]]:
    """(row of its query, answer) of every line that is about a context set.

    Raises:
        InputError: an unknown or duplicate key, or there is no such line.
    """
    places, is_any = Places(submission.path, submission.benchmark), False
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
    """(cell, row of its query, answer) of every line, of a benchmark whose cells are read together.

    Raises:
        InputError: a line names no cell, an unknown or duplicate key, or there is no line.
    """
    places, is_any = Places(submission.path, submission.benchmark), False
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
    reads: str, benchmark: Benchmark, measures: Sequence[Measure], tools: Tools
) -> None:
    """Refuse single cells, and other measures beside those that look at all cells at once.

    Raises:
        UsageError: names what does not fit.
    """
    others = [m.name for m in measures if m.reads != reads]
    context = tools.options.context
    if others or context is not None:
        what = f"--measures {','.join(others)}" if others else f"--context {context}"
        own = benchmark.kind.default_measures[0]
        raise UsageError(
            f"{what}: {own} measures look at all cells at once; score the family {own} by "
            "itself, and others with --context CELL --measures …",
            code="conflicting-options",
        )
