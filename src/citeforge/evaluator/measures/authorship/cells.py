"""Answers to all cells of an authorship benchmark."""

from citeforge.builders.rage.exclusions import short_answers
from citeforge.evaluator.measures.authorship.answers import CellNumbers
from citeforge.evaluator.measures.authorship.measures import Cells
from citeforge.evaluator.measures.compute import Results, compute
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.statements.reading import DesignReading
from citeforge.evaluator.statistics.per_answer import PerAnswerScores
from citeforge.evaluator.submissions.origin import MismatchDetector
from citeforge.schemas.benchmarks.authorship import design_of
from citeforge.schemas.benchmarks.tables import RELEVANT
from citeforge.schemas.errors import UsageError
from citeforge.schemas.scores import Counts
from citeforge.schemas.submission import SubmissionLine

CONTEXT = "design"
"""``context`` of score files that cover all cells."""


class CellReading(DesignReading):
    """Keeps the numbers of each answer, cell by cell."""

    reads = "cells"
    context = CONTEXT

    def begin(self) -> None:
        """Prepare the cells.

        Raises:
            UsageError: likewise, or AttriEval's answers to passages that are not counted from 0.
        """
        super().begin()
        base = self.benchmark.manifest.grammar.base
        if self.protocol == "reference" and base != 0:
            raise UsageError(
                "--protocol reference counts passages from 0, as AttriEval does; the prompts of "
                f"{self.benchmark.manifest.name} count from {base}"
            )
        if self.submission.form == "attrieval" and base != 0:
            raise UsageError(
                "AttriEval's prompts count passages from 0; those of "
                f"{self.benchmark.manifest.name} count from {base}"
            )
        self.design = design = design_of(self.benchmark.manifest)
        # Cells differ in who is said to have written a passage, not in passages.
        table = self.benchmark.context(design.cells[0].context)
        self._gold = short_answers(
            self.benchmark.queries, self.benchmark.mappings[RELEVANT], self.benchmark.gold
        )
        self._relevant = table.relevant
        numbers = CellNumbers(self.benchmark.grammar, table, self._gold, self.protocol)
        n = len(self.benchmark.query_ids)
        self.cells = {c.context: PerAnswerScores(numbers, n) for c in design.cells}
        doubtful = self.submission.form == "citeforge" and self.submission.is_anonymous
        self._mismatches = (
            MismatchDetector(self.benchmark.grammar, table.sizes) if doubtful else None
        )

    def add(self, line: int, answer: SubmissionLine) -> None:
        """Read one answer."""
        cell = self.cell_of(line, answer)
        row = self.places.row(line, answer, cell)
        numbers = self.cells[cell].add(row, answer)
        n_beyond, n_unparsed = numbers.n_out_of_range, numbers.n_unparsed
        self.tally.add(answer.output, numbers.distinct, n_beyond, n_unparsed)
        if self._mismatches is not None:
            self._mismatches.look(row, answer)

    def finish(self) -> None:
        """Missing answers of cells that were run score the worst value."""
        super().finish()
        for numbers in self.cells.values():
            if self.is_strict:
                numbers.fill()

    def results(self) -> Results:
        """All measures of all cells, and the differences that labels make."""
        answered = {name: k for name, k in self.cells.items() if k.runs}
        cells = Cells(design_of(self.benchmark.manifest), answered, any(self._gold))
        return compute(cells, self.measures, None, is_of_cells=True)

    def counts(self) -> Counts:
        """What the submission consists of."""
        n = len(self.benchmark.query_ids)
        return self.make_counts(
            len({run for numbers in self.cells.values() for run in numbers.runs}),
            sum(n * max(len(numbers.runs), 1) for numbers in self.cells.values()),
            n_no_relevant=sum(not positions for positions in self._relevant),
            n_no_gold=sum(not answers for answers in self._gold),
        )

    def grammar_of(self, measure: Measure) -> str:
        """How citations are read."""
        return self.benchmark.grammar.signature if self.is_strict else "0,authorship"

    def warnings(self) -> list[str]:
        """What makes it doubtful that the submission answers this benchmark."""
        return super().warnings() + (
            [] if self._mismatches is None else self._mismatches.warnings()
        )
