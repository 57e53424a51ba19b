"""Read and score submissions to a bundle, whose questions are asked once per cell."""

from collections.abc import Sequence
from dataclasses import replace

from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.results import (
    AnswerCounts,
    ScoredSubmission,
    compute,
    not_computed,
    require_cells_alone,
)
from citeforge.evaluator.submissions.submission import Submission
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.plugins.bundles.design import parse_bundle
from citeforge.plugins.bundles.measures import CellAnswer, CellAnswers
from citeforge.schemas.errors import UsageError
from citeforge.schemas.refusals import EVERY_LANGUAGE, JUDGE, signed_detector

CONTEXT = "bundle"
"""``context`` of score files that cover all cells."""


def score_bundle(
    submission: Submission, measures: Sequence[Measure], tools: ScoringTools
) -> ScoredSubmission:
    """Score a submission's answers under all conditions (context sets) of a bundle.

    Raises:
        UsageError: single cells are named, or measures of another kind of benchmark.
    """
    benchmark = submission.benchmark
    of_bundle = require_cells_alone("bundle", benchmark, measures, tools)
    own = benchmark.kind.facts.default_measures
    if foreign := [m.name for m in measures if m.family not in own]:
        raise UsageError(
            f"--measures {','.join(foreign)}: {benchmark.manifest.name} is a bundle of "
            f"{own[0]}; score it with --measures {own[0]}",
            code="wrong-kind",
        )
    bundle, grammar, tally = parse_bundle(benchmark.manifest), benchmark.grammar, AnswerCounts()
    if bundle.refusals != JUDGE:  # no judge decides, so none is in signatures
        tools = replace(tools, judge=None)
    tables = {c: benchmark.context(c) for c in bundle.cells}
    answers = CellAnswers(benchmark, bundle, tools, tables, {c: {} for c in bundle.cells})
    detector = EVERY_LANGUAGE if bundle.refusals in (None, JUDGE) else bundle.refusals
    for cell, row, answer in submission.answers_by_cell(tables):
        n_passages = tables[cell].sizes[row]
        inside, beyond, unparsed = grammar.cited(answer.output, n_passages)
        text = grammar.strip_marks(answer.output, n_passages)
        tally.add(answer, len(inside) + beyond, beyond, unparsed, grammar.strip_marks, detector)
        answers.by_cell[cell][answer.run, row] = CellAnswer(frozenset(inside), text)
    absent = next((cell for cell, some in answers.by_cell.items() if not some), None)
    if absent is None:
        results = compute(
            answers, of_bundle, tools.judge, has_hidden_gold=benchmark.has_hidden_gold,
            keeps_undefined=True,
        )  # fmt: skip
    else:
        why = f"the submission has no answers to the cell {absent}"
        results = [], not_computed(measures, why)
    n_runs = len(answers.runs)
    n_keys = len(benchmark.query_ids) * max(n_runs, 1) * len(tables)
    return ScoredSubmission(
        CONTEXT,
        results,
        tally.counts(benchmark, n_runs, n_keys),
        tools,
        grammar.signature,
        # The package's detector of refusals is in no table, so in no hash: signatures name it.
        options=signed_detector(bundle.refusals) or None,
        warnings=submission.warnings(),
    )
