"""Answers, placed and read: what all kinds of benchmarks have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.measures.compute import Results
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.submissions.index import Submission
from citeforge.evaluator.submissions.reader import Places
from citeforge.evaluator.tools import Tools
from citeforge.package.kinds import kinds
from citeforge.schemas.benchmarks.authorship import Design
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.scores import AnswerDetail, Counts
from citeforge.schemas.submission import SubmissionLine

if TYPE_CHECKING:
    from citeforge.evaluator.statements.inputs import Inputs


class Tally:
    """Counts of odd answers."""

    def __init__(self) -> None:
        self.n = self.unparsed = self.empty = self.uncited = self.beyond = self.listed = 0

    def add(self, output: str, n_cited: float, n_beyond: float, n_unparsed: float) -> None:
        """Count one answer.

        Args:
            output: what the system wrote.
            n_cited: distinct citations.
            n_beyond: citations of what was not shown.
            n_unparsed: marks that could not be read.
        """
        self.n += 1
        self.unparsed += n_unparsed > 0
        self.empty += not output.strip()
        self.uncited += n_cited == 0
        self.beyond += n_beyond > 0


class SubmissionReader(ABC):
    """Reads the answers to one kind of context, one line after the other.

    Attributes:
        submission: what is read.
        benchmark: what it answers.
        measures: what is computed.
        protocol: ``strict`` or ``reference``.
        tools: judge, segmenter, and the options.
        context: what is scored, as score files say it.
        places: where its lines belong.
        tally: counts of odd answers.
        design: cells of an authorship benchmark.
        splitter: what splits sentences in the protocol ``reference``.
    """

    context: str
    design: Design | None = None
    splitter = "punkt"

    def __init__(self, submission: Submission, measures: Sequence[Measure], tools: Tools) -> None:
        """Say what is read, and for what.

        Args:
            submission: what is read; it knows its benchmark.
            measures: what is computed.
            tools: judge, segmenter, and the options, which may name a context set.

        Raises:
            UsageError: the measures look at something that the benchmark does not show.
        """
        self.submission, self.benchmark = submission, submission.benchmark
        self.measures, self.tools = measures, tools
        self.protocol = tools.options.protocol
        self.places = Places(submission.path, submission.benchmark)
        self.tally = Tally()
        kind = self.benchmark.kind
        if foreign := [m for m in measures if m.reads not in kind.readings]:
            reads, default = foreign[0].reads, kind.default_measures
            names = ",".join(m.name for m in foreign[:3]) + ",…" * (len(foreign) > 3)
            owners = ", ".join(k.name for k in kinds().values() if reads in k.readings)
            raise UsageError(
                f"--measures {names}: these look at {reads}, and {self.benchmark.manifest.name} "
                f"shows {kind.shows}; what fits is --measures {','.join(default)}, or any of that "
                f"family: citeforge list measures ({reads} are shown by the kinds "
                f"{owners or 'of nobody'})"
            )

    @property
    def is_strict(self) -> bool:
        """Whether the protocol is ours."""
        return self.protocol == "strict"

    @abstractmethod
    def begin(self) -> None:
        """Before the first answer: prepare what the answers are held against.

        Raises:
            UsageError: the measures do not fit each other, the context set is not clear, or there
                is none of that name.
        """

    @abstractmethod
    def add(self, line: int, answer: SubmissionLine) -> None:
        """Read one answer.

        Raises:
            InputError: an unknown or duplicate key.
        """

    @abstractmethod
    def finish(self) -> None:
        """After the last answer: missing ones are filled in.

        Raises:
            InputError: there was none.
        """

    @abstractmethod
    def results(self) -> Results:
        """All measures: those that could be computed, and why others could not."""

    @abstractmethod
    def counts(self) -> Counts:
        """What the submission consists of."""

    def make_counts(self, n_runs: int, n_keys: int, **more: int) -> Counts:
        """Counts as they stand in score files; ``n_keys`` answers were expected."""
        tally = self.tally
        return Counts(
            n_queries=len(self.benchmark.query_ids),
            n_runs=n_runs,
            n_answered=tally.n,
            n_missing=n_keys - tally.n,
            n_unparsed=tally.unparsed,
            n_empty=tally.empty,
            n_uncited=tally.uncited,
            n_out_of_range=tally.beyond,
            n_listed=tally.listed,
            n_truncated=self.places.n_truncated,
            **more,
        )

    @abstractmethod
    def grammar_of(self, measure: Measure) -> str:
        """How citations are read, as it stands in the signature of a measure."""

    def options_of(self, measure: Measure, options: str | None) -> str | None:
        """Choices that move the number: those of the measure, and what the benchmark declares."""
        return options

    def answers(self) -> Inputs:
        """What labels of people are about.

        Raises:
            UsageError: answers of this kind have no labelled statements.
        """
        raise UsageError(
            f"--labels: people label statements that cite passages; {self.benchmark.manifest.name} "
            f"shows {self.benchmark.kind.shows}"
        )

    def clusters(self) -> npt.NDArray[np.int64] | None:
        """Cluster of each query, where questions repeat; None where none does."""
        return self.benchmark.clusters

    def details(self) -> list[AnswerDetail]:
        """Answers of the first run in statements, in the order of the benchmark."""
        return []

    def warnings(self) -> list[str]:
        """What makes it doubtful that the submission answers this benchmark."""
        return self.submission.warnings()

    def n_failed(self) -> int:
        """Questions to judge and LLM that failed."""
        return 0 if self.tools.judge is None else self.tools.judge.failures()

    def nothing(self) -> InputError:
        """The error of a submission without any answer."""
        return InputError(
            "holds no answer to this context set",
            path=self.submission.path,
            allowed=f"context {self.context!r}",
        )


class DesignReading(SubmissionReader):
    """Answers to all cells of a benchmark, which its measures look at together.

    Attributes:
        reads: what these measures say that they read.
        cells: cell to what is kept of its answers.
    """

    reads: ClassVar[str]
    cells: Mapping[str, Any]

    def begin(self) -> None:
        """Refuse other measures beside these, and single cells."""
        others = [m.name for m in self.measures if m.reads != self.reads]
        context = self.tools.options.context
        if others or context is not None:
            what = f"--measures {','.join(others)}" if others else f"--context {context}"
            own = self.benchmark.kind.default_measures[0]
            raise UsageError(
                f"{what}: {own} measures look at all cells at once; score the family {own} by "
                "itself, and others with --context CELL --measures …"
            )

    def cell_of(self, line: int, answer: SubmissionLine) -> str:
        """The cell that an answer is about.

        Raises:
            InputError: it names none of them.
        """
        if answer.context is not None and answer.context in self.cells:
            return answer.context
        raise InputError(
            "is missing"
            if answer.context is None
            else f"{answer.context!r} is no cell of the benchmark",
            path=self.submission.path,
            line=line,
            field="context",
            allowed=", ".join(self.cells),
        )

    def finish(self) -> None:
        """There must be some answer."""
        if self.tally.n == 0:
            raise InputError("holds no answers", path=self.submission.path)
