"""Reads the answers to all cells of a bundle."""

from dataclasses import replace

from citeforge.evaluator.measures.compute import Results, compute, not_computed
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.statements.reading import DesignReading
from citeforge.plugins.bundles.design import bundle_of
from citeforge.plugins.bundles.measures import CellAnswer, CellAnswers
from citeforge.schemas.citations.grammar import without_markers
from citeforge.schemas.errors import UsageError
from citeforge.schemas.models.refusals import JUDGE, signed_detector
from citeforge.schemas.scores import Counts
from citeforge.schemas.submission import SubmissionLine

CONTEXT = "bundle"
"""``context`` of score files that cover all cells."""


class BundleReading(DesignReading):
    """Keeps what each answer cites and says, cell by cell."""

    reads = "bundle"
    context = CONTEXT

    def begin(self) -> None:
        """Prepare the cells; refuse single cells, and measures of anything else."""
        super().begin()
        own = self.benchmark.kind.default_measures
        foreign = [m.name for m in self.measures if m.family not in own]
        if foreign:
            raise UsageError(
                f"--measures {','.join(foreign)}: {self.benchmark.manifest.name} is a bundle of "
                f"{own[0]}; score it with --measures {own[0]}"
            )
        bundle = bundle_of(self.benchmark.manifest)
        if bundle.refusals != JUDGE:  # a judge decides nothing, and stands in no signature
            self.tools = replace(self.tools, judge=None)
        tables = {c: self.benchmark.context(c) for c in bundle.cells}
        self._answers = CellAnswers(
            self.benchmark, bundle, self.tools, tables, {c: {} for c in bundle.cells}
        )
        self.cells = self._answers.by_cell

    def add(self, line: int, answer: SubmissionLine) -> None:
        """Read one answer."""
        cell = self.cell_of(line, answer)
        row = self.places.row(line, answer, cell)
        grammar, n_passages = self.benchmark.grammar, self._answers.tables[cell].sizes[row]
        inside, beyond, unparsed = grammar.cited(answer.output, n_passages)
        self.tally.add(answer.output, len(inside) + beyond, beyond, unparsed)
        text = without_markers(answer.output, grammar.parse(answer.output, n_passages).markers)
        self.cells[cell][answer.run, row] = CellAnswer(frozenset(inside), text)

    def results(self) -> Results:
        """All measures; those that need a cell without answers are not computed."""
        for cell, answers in self.cells.items():
            if not answers:
                why = f"the submission has no answers to the cell {cell}"
                return [], not_computed(dict.fromkeys((m.name for m in self.measures), why))
        return compute(self._answers, self.measures, self.tools.judge, is_of_cells=True)

    def counts(self) -> Counts:
        """What the submission consists of."""
        n, n_runs = len(self.benchmark.query_ids), len(self._answers.runs)
        return self.make_counts(n_runs, n * max(n_runs, 1) * len(self.cells))

    def options_of(self, measure: Measure, options: str | None) -> str | None:
        """With what the package declares a refusal to be: it is no table, and in no hash."""
        return signed_detector(self._answers.bundle.refusals) or options

    def grammar_of(self, measure: Measure) -> str:
        """How citations are read."""
        return self.benchmark.grammar.signature
