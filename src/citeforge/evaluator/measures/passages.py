"""Reader of submissions that cite passages, from a frozen context set or their own."""

from collections.abc import Iterator, Sequence

from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.details import answer_details
from citeforge.evaluator.measures.rage_citations import RAGE, RageScores
from citeforge.evaluator.measures.results import (
    AnswerCounts,
    Results,
    ScoredSubmission,
    compute,
    not_computed,
)
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.submissions.benchmark import CLOSED_BOOK, OWN, Benchmark, ContextTable
from citeforge.evaluator.submissions.citation_range import CitationRange
from citeforge.evaluator.submissions.finding import Finding
from citeforge.evaluator.submissions.inputs import NO_PASSAGES, Inputs, ItemCollector
from citeforge.evaluator.submissions.provided_passages import ProvidedPassages
from citeforge.evaluator.submissions.submission import Submission
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.schemas.errors import InputError


def read_passages(
    submission: Submission, measures: Sequence[Measure], tools: ScoringTools
) -> ScoredSubmission:
    """Read a submission that cites passages and compute its measures."""
    benchmark, is_strict = submission.benchmark, tools.is_strict
    context, grammar = submission.choose_context(tools.options.context), submission.grammar
    table = None if context in (OWN, CLOSED_BOOK) else benchmark.context(context)
    provided = ProvidedPassages(benchmark, is_strict) if context == OWN else None
    of_items = [m for m in measures if m.group is not RAGE]
    scores = items = None
    if context != CLOSED_BOOK and len(of_items) < len(measures):
        scores = RageScores(benchmark, grammar, tools.options.protocol, table, provided)
    if tools.keeps_answers or scores is None or of_items:
        items = ItemCollector(benchmark, context, grammar, tools)
    tally, reach = AnswerCounts(), CitationRange()
    for row, answer in submission.answers_to(context):
        if provided is not None:
            provided.add(answer)
        values = None if scores is None else scores.add(row, answer)
        item = None if items is None else items.add(row, answer)
        if values is not None:
            tally.add(
                answer, values.distinct, values.n_out_of_range, values.n_unparsed,
                grammar.strip_marks,
            )  # fmt: skip
        elif item is not None:
            inside, beyond, unparsed = grammar.cited(answer.output, len(item.passages))
            tally.add(answer, len(inside) + beyond, beyond, unparsed, grammar.strip_marks)
        if is_strict:
            tally["n_listed"] += grammar.has_list(answer.output)
        if table is not None and submission.is_anonymous:
            reach.observe(answer, grammar, table.sizes[row])
    if scores is not None and is_strict:
        scores.fill()
    inputs = None if items is None else items.inputs(submission.names, provided)

    n_runs = len(scores.runs) if scores is not None else 0 if items is None else len(items.runs)
    relevance = _relevance(benchmark, table, scores is not None)
    results = _compute_results(scores, inputs, measures, benchmark)
    computed = [measure for measure, _ in results[0]]
    return ScoredSubmission(
        context,
        results,
        tally.counts(benchmark, n_runs, len(benchmark.query_ids) * n_runs, **relevance),
        tools,
        grammar.signature if is_strict else "1",
        is_read_by_family=not is_strict,
        warnings=[
            *submission.warnings(),
            *([] if provided is None else provided.warnings()),
            *reach.warnings(),
            *(_closed_book_hint(tally, context) if table is not None else ()),
        ],
        details=(
            [] if inputs is None or not tools.keeps_answers else answer_details(inputs, computed)
        ),
        inputs=inputs,
    )


def _closed_book_hint(tally: AnswerCounts, context: str) -> Iterator[Finding]:
    """Hint at the option for closed-book systems if no answer cites anything."""
    n = tally["n_answered"]
    if n > tally["n_empty"] and tally["n_uncited"] == n:
        yield Finding(
            "no-citations",
            f"none of the {n:,} answers cites a passage, and they are scored on the context "
            f"set {context!r}; for a system that was shown no passages, give --context "
            f"{CLOSED_BOOK}",
        )


def _compute_results(
    scores: RageScores | None,
    inputs: Inputs | None,
    measures: Sequence[Measure],
    benchmark: Benchmark,
) -> Results:
    """Compute measures from stored RAGE scores or answers; return results in the given order.

    Raises:
        InputError: a plugin's measure has a value outside its range.
    """
    of_numbers, is_hidden = [m for m in measures if m.group is RAGE], benchmark.has_hidden_gold
    samples, missing = (
        ([], not_computed(of_numbers, NO_PASSAGES))
        if scores is None
        else compute(scores, of_numbers, None, has_hidden_gold=is_hidden)
    )
    if inputs is not None:
        of_items = [m for m in measures if m.group is not RAGE]
        judge = inputs.tools.judge
        computed, others = compute(inputs, of_items, judge, has_hidden_gold=is_hidden)
        for measure, sample in computed:
            if measure.origin is not None:
                _require_range(measure, sample, benchmark.query_ids)
        samples, missing = samples + computed, missing + others
    if (absent := benchmark.unanswerable).any():
        samples = [
            (m, s if m.counts_unanswerable else s.without_queries(absent)) for m, s in samples
        ]
    return sorted(samples, key=lambda row: measures.index(row[0])), missing


def _require_range(measure: Measure, sample: Sample, query_ids: Sequence[str]) -> None:
    """Raise an error if a plugin's measure has a value of a query outside its declared range.

    Raises:
        InputError: there is such a value.
    """
    low, high = measure.range.low, measure.range.high
    for values in sample.per_query:
        for query, value in zip(query_ids, values.tolist(), strict=True):
            if value < low or value > high:
                raise InputError(
                    f"{measure.name} of the query {query!r} is {value:g}, and its range is "
                    f"{low:g} to {high:g}",
                    allowed="fix the plugin that defines the measure",
                    code="broken-plugin",
                )


def _relevance(benchmark: Benchmark, table: ContextTable | None, is_read: bool) -> dict[str, int]:
    """Count queries without a relevant passage, and queries that are shown only relevant ones."""
    if table is not None and not table.is_labelled:
        return {}  # unlabelled, or hidden: which are relevant is not known
    if table is None or not is_read:
        return {"n_no_relevant": sum(not ids for ids in benchmark.relevant_ids)}
    sizes = zip(table.sizes, table.relevant, strict=True)
    return {
        "n_no_relevant": sum(not positions for positions in table.relevant),
        "n_all_relevant": sum(0 < size == len(positions) for size, positions in sizes),
    }
