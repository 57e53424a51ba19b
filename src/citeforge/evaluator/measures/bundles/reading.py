"""Reads the answers to all cells of a bundle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from citeforge.evaluator.measures.bundles.answers import CellAnswer, CellAnswers
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.reports.entries import Row
from citeforge.evaluator.statements.reading import Reading, Results
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.schemas.benchmarks.bundles import bundle_of
from citeforge.schemas.citations.grammar import without_markers
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.models.refusals import JUDGE, signed_detector
from citeforge.schemas.scores import Counts, NotComputed
from citeforge.schemas.submission import SubmissionLine

CONTEXT = "bundle"
"""``context`` of score files that cover all cells."""


class BundleReading(Reading):
    """Keeps what each answer cites and says, cell by cell."""

    context = CONTEXT

    def prepare(self, context: str | None, details: bool) -> None:
        """Prepare the cells."""
        bundle = bundle_of(self.benchmark.manifest)
        if bundle.refusals != JUDGE:  # a judge decides nothing, and stands in no signature
            self.tools = replace(self.tools, judge=None)
        tables = {c: self.benchmark.context(c) for c in bundle.cells}
        self._answers = CellAnswers(
            self.benchmark, bundle, self.tools.judge, self.is_strict, tables,
            {c: {} for c in bundle.cells},
        )  # fmt: skip

    @classmethod
    def require(
        cls, benchmark: Benchmark, measures: Sequence[Measure], protocol: str, context: str | None
    ) -> None:
        """Refuse other measures beside these, and single cells."""
        own = benchmark.kind.default_measures
        others = [m.name for m in measures if m.reads != "bundle"]
        if others or context is not None:
            what = f"--measures {','.join(others)}" if others else f"--context {context}"
            raise UsageError(
                f"{what}: measures of a bundle look at all cells at once; score the family "
                f"{own[0]} by itself, and others with --context CELL --measures …"
            )
        foreign = [m.name for m in measures if m.family not in own]
        if foreign:
            raise UsageError(
                f"--measures {','.join(foreign)}: {benchmark.manifest.name} is a bundle of "
                f"{own[0]}; score it with --measures {own[0]}"
            )

    def add(self, line: int, answer: SubmissionLine) -> None:
        """Read one answer."""
        cells = self._answers.by_cell
        cell = self.cell_of(line, answer, cells)
        row = self.places.row(line, answer, cell)
        grammar, shown = self.benchmark.grammar, self._answers.tables[cell].sizes[row]
        inside, beyond, unparsed = grammar.cited(answer.output, shown)
        self.tally.add(answer.output, len(inside) + beyond, beyond, unparsed)
        text = without_markers(answer.output, grammar.parse(answer.output, shown).markers)
        cells[cell][answer.run, row] = CellAnswer(frozenset(inside), text)

    def finish(self) -> None:
        """There must be some answer."""
        if self.tally.n == 0:
            raise InputError("holds no answers", path=self.submission.path)

    def results(self) -> Results:
        """All measures; those that need a cell without answers are not computed."""
        together: dict[object, list[Measure]] = {}
        for measure in self.measures:
            together.setdefault(measure.compute, []).append(measure)
        found = [r for wanted in together.values() for r in self._computed(wanted)]
        rows = [r for r in found if isinstance(r, Row)]
        return rows, [r for r in found if isinstance(r, NotComputed)]

    def _computed(self, wanted: list[Measure]) -> Iterator[Row | NotComputed]:
        empty = [c for c, answers in self._answers.by_cell.items() if not answers]
        try:
            if empty:
                raise CannotError(f"the submission has no answers to the cell {empty[0]}")
            yield from wanted[0].compute(self._answers, wanted)
        except CannotError as error:
            for measure in wanted:
                yield NotComputed(name=measure.name, reason=str(error))

    def counts(self) -> Counts:
        """What the submission consists of."""
        n, cells = len(self.benchmark.query_ids), self._answers.by_cell
        n_runs = len(self._answers.runs)
        return self.tally.counts(
            n, n_runs, n * max(n_runs, 1) * len(cells), n_truncated=self.places.n_truncated
        )

    def options_of(self, measure: Measure, options: str | None) -> str | None:
        """With what the package declares a refusal to be: it is no table, and in no hash."""
        return signed_detector(self._answers.bundle.refusals) or options

    def grammar_of(self, measure: Measure) -> str:
        """How citations are read."""
        return self.benchmark.grammar.signature
