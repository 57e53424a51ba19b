"""Scores of single answers and of all answers, computed by the code of ``citeforge score``."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.score import ScoringSetup, prepare_scoring, score_context
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import OURS
from citeforge.library.answers import submission_file
from citeforge.library.benchmarks import load
from citeforge.library.scores import open_judge
from citeforge.package.package import rows_about
from citeforge.plugins.responses.placer import CitationPlacer
from citeforge.schemas.errors import UsageError, extras_named
from citeforge.schemas.recipes.base import make_record
from citeforge.schemas.recipes.command_options import ScoreOptions
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.submission import SubmissionLine

_ONE_ANSWER = ("passages", "triples")
"""Contents of contexts whose measures have a value for a single answer."""


class Settings(msgspec.Struct, frozen=True, omit_defaults=True):
    """Settings that scores depend on, besides the answers.

    Attributes:
        benchmark: folder, or ``hub:ORG/NAME``.
        gold: the half with hidden labels; None where nothing is hidden.
        measures: measures or families; none for those that fit the benchmark.
        protocol: ``strict`` or ``reference``.
        judge: decides entailment; None without.
    """

    benchmark: str
    gold: str | None = None
    measures: tuple[str, ...] = ()
    protocol: str = "strict"
    judge: str | None = None


class InMemoryBenchmark(Benchmark):
    """A benchmark, or some of its queries, whose tables and shown passages are in memory."""

    def __init__(self, benchmark: Benchmark) -> None:
        """Wrap a benchmark so that its tables and texts are read from disk only once.

        Args:
            benchmark: the benchmark with all its queries.
        """
        super().__init__(benchmark.folder, benchmark.manifest)
        self.also_known = benchmark.also_known
        self._whole_table, self._whole_texts = cache(benchmark.table), benchmark.texts
        self._shown_texts = cache(
            lambda: benchmark.texts(
                {
                    p.id
                    for name in benchmark.contexts
                    for i in benchmark.items(name)
                    for p in i.passages
                }
            )
        )

    def limited_to(self, queries: Iterable[str]) -> "InMemoryBenchmark":
        """Copy the benchmark with only some of its queries, in its own order."""
        part = InMemoryBenchmark(self)
        part._shown_texts, part.query_subset = self._shown_texts, frozenset(queries)
        return part

    def table(self, config: str, split: str) -> pa.Table:
        """Get a table of the benchmark from memory, limited to its selected queries."""
        table = self._whole_table(config, split)
        return table if self.query_subset is None else rows_about(table, config, self.query_subset)

    def texts(self, ids: Iterable[str] | Any) -> dict[str, tuple[str, str]]:
        """Map passage ids to (title, text); those in contexts come from memory."""
        names = ids.to_pylist() if isinstance(ids, pa.Array) else list(ids)
        texts = self._shown_texts()
        others = [name for name in names if name not in texts]
        more = self._whole_texts(others) if others else {}
        return {n: texts[n] for n in names if n in texts} | more


def _absolute_path(name: str) -> str:
    """Make a benchmark package's path absolute; return ``hub:ORG/NAME`` as it is."""
    return name if name.startswith("hub:") else str(Path(name).absolute())


class Scoring:
    """Scores answers to a benchmark, one by one or all together.

    Attributes:
        benchmark: what they answer.
        placer: writes marks for citations that stand beside an answer.
    """

    def __init__(self, settings: Settings) -> None:
        """Open the benchmark, judge and measures that scoring settings name.

        Raises:
            InputError: one of them cannot be had.
            UsageError: there is no such measure, protocol or judge.
        """
        # inspect runs tasks and solvers of files in the folders of these.
        gold = None if settings.gold is None else _absolute_path(settings.gold)
        self.benchmark: Benchmark = load(_absolute_path(settings.benchmark), gold)
        self.placer = CitationPlacer("inspect", self.benchmark, "shown")
        self._in_memory = InMemoryBenchmark(self.benchmark)
        options = make_record(
            ScoreOptions, measures=tuple(settings.measures), protocol=settings.protocol,
            file_format=OURS, details=False,
        )  # fmt: skip
        with extras_named():
            setup = prepare_scoring(self.benchmark, options, open_judge(settings.judge))
        self._measures, self._tools = setup.measures, setup.tools
        # Measures of an experiment compare its cells; of one answer there is what it cites.
        self._is_of_cells = any(m.reads not in _ONE_ANSWER for m in self._measures)
        self._single = select(["rage"]) if self._is_of_cells else self._measures

    def score_one(self, answer: SubmissionLine) -> tuple[dict[str, float | None], dict[str, str]]:
        """Score one answer: (measure to value, not in %; measure to reason for none).

        Returns:
            Measure to its value, None where undefined; measure to why it could not be computed.

        Raises:
            UsageError: no query of the benchmark has its id, or no context set its name.
        """
        if answer.query_id not in self.benchmark.row_of:
            raise UsageError(
                f"query_id {answer.query_id!r} is not in {self.benchmark.label}; the sample needs "
                "the metadata query_id, as the task citeforge/package sets it",
                code="unknown-query",
            )
        context = None if answer.passages is not None else answer.context
        scores = self._score(
            [answer], self._in_memory.limited_to([answer.query_id]), self._single, context
        )
        values = {m.name: m.per_query[0] for m in scores.measures}
        return values, {n.name: n.reason for n in scores.not_computed}

    def score_all(self, answers: Sequence[SubmissionLine]) -> list[ScoreFile]:
        """Score answers: a score file per context set, or one for all conditions of an experiment.

        Raises:
            CiteforgeError: as ``citeforge score``.
        """
        queries = {a.query_id for a in answers}
        is_part = len(queries) < len(self.benchmark)
        benchmark = self._in_memory.limited_to(queries) if is_part else self._in_memory
        if self._is_of_cells:
            return [self._score(answers, benchmark, self._measures, None)]
        contexts = dict.fromkeys(a.context for a in answers)
        return [
            self._score([a for a in answers if a.context == c], benchmark, self._measures, c)
            for c in contexts
        ]

    def _score(
        self,
        answers: Sequence[SubmissionLine],
        benchmark: Benchmark,
        measures: Sequence[Any],
        context: str | None,
    ) -> ScoreFile:
        """Score answers by some measures, as a submission to a benchmark in a temporary file.

        Args:
            answers: submission lines.
            benchmark: the benchmark, or a part of it.
            measures: measures to compute.
            context: context set of the answers; None where they bring passages or answer all cells
                of an experiment.
        """
        with submission_file(answers, "inspect") as path, extras_named():
            # Metrics are computed while a sample is scored in another thread.
            judge = self._tools.judge and self._tools.judge.share()
            tools = replace(self._tools.with_options(context=context), judge=judge)
            return score_context(path, ScoringSetup(benchmark, measures, tools))


def list_raw_values(files: Sequence[ScoreFile]) -> dict[str, float]:
    """Map each measure to its value, not in percent, and ``NAME_stderr`` to its standard error.

    Values are a hundredth of what ``citeforge score`` shows where that is a percentage. With
    several files each name ends in ``[context]``.
    """
    values: dict[str, float] = {}
    for file in files:
        suffix = f"[{file.context}]" if len(files) > 1 else ""
        for entry in file.measures:
            if entry.value is not None:
                values[entry.name + suffix] = entry.value / entry.scale
                if entry.stderr is not None:
                    values[f"{entry.name}{suffix}_stderr"] = entry.stderr / entry.scale
    return values


@lru_cache(maxsize=8)
def open_scoring(settings: Settings) -> Scoring:
    """Open the benchmark, judge and measures that scoring settings name, once per process."""
    return Scoring(settings)
