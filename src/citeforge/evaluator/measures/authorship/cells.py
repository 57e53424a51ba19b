"""Answers to all cells of an authorship benchmark."""

from collections.abc import Sequence

from citeforge.builders.rage.exclusions import short_answers
from citeforge.evaluator.measures.authorship.answers import CellNumbers
from citeforge.evaluator.measures.authorship.measures import Cells
from citeforge.evaluator.measures.compute import compute
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.statements.reading import (
    Reading,
    Tally,
    answers_by_cell,
    require_cells_alone,
)
from citeforge.evaluator.statistics.per_answer import PerAnswerScores
from citeforge.evaluator.submissions.index import Submission
from citeforge.evaluator.submissions.origin import MismatchDetector
from citeforge.evaluator.tools import Tools
from citeforge.schemas.benchmarks.authorship import design_of
from citeforge.schemas.benchmarks.tables import RELEVANT
from citeforge.schemas.errors import UsageError

CONTEXT = "design"
"""``context`` of score files that cover all cells."""


def read_design(submission: Submission, measures: Sequence[Measure], tools: Tools) -> Reading:
    """Keep the numbers of each answer, cell by cell.

    Raises:
        UsageError: other measures, single cells, or AttriEval's answers to passages that are not
            counted from 0.
    """
    benchmark, is_strict = submission.benchmark, tools.is_strict
    require_cells_alone("cells", benchmark, measures, tools)
    base, name = benchmark.manifest.grammar.base, benchmark.manifest.name
    if not is_strict and base != 0:
        raise UsageError(
            "--protocol reference counts passages from 0, as AttriEval does; the prompts of "
            f"{name} count from {base}"
        )
    if submission.form == "attrieval" and base != 0:
        raise UsageError(
            f"AttriEval's prompts count passages from 0; those of {name} count from {base}"
        )
    design, grammar = design_of(benchmark.manifest), benchmark.grammar
    # Cells differ in who is said to have written a passage, not in passages.
    table = benchmark.context(design.cells[0].context)
    gold = short_answers(benchmark.queries, benchmark.mappings[RELEVANT], benchmark.gold)
    makes_numbers = CellNumbers(grammar, table, gold, tools.options.protocol)
    n = len(benchmark.query_ids)
    cells = {c.context: PerAnswerScores(makes_numbers, n) for c in design.cells}
    is_doubtful = submission.form == "citeforge" and submission.is_anonymous
    mismatches = MismatchDetector(grammar, table.sizes) if is_doubtful else None
    tally = Tally()
    for cell, row, answer in answers_by_cell(cells, submission):
        numbers = cells[cell].add(row, answer)
        tally.add(answer, numbers.distinct, numbers.n_out_of_range, numbers.n_unparsed)
        if mismatches is not None:
            mismatches.look(row, answer)
    for scores in cells.values() if is_strict else ():
        scores.fill()  # missing answers of cells that were run
    answered = {cell: scores for cell, scores in cells.items() if scores.runs}
    return Reading(
        CONTEXT,
        compute(Cells(design, answered, any(gold)), measures, None, is_of_cells=True),
        tally.counts(
            benchmark,
            len({run for scores in cells.values() for run in scores.runs}),
            sum(n * max(len(scores.runs), 1) for scores in cells.values()),
            n_no_relevant=sum(not positions for positions in table.relevant),
            n_no_gold=sum(not answers for answers in gold),
        ),
        tools,
        lambda measure: grammar.signature if is_strict else "0,authorship",
        warnings=submission.warnings() + ([] if mismatches is None else mismatches.warnings()),
        design=design,
    )
