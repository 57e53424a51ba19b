"""Results of a submission: counts, a sample of each measure, and its entry in the score file.

A reader is one function: it goes through the lines of a submission, keeps what its measures need,
computes them, and counts answers and faults. That of passages, :func:`read_passages`, is the same
for all kinds of benchmark; others belong to a kind (``Kind.read_answers``). Of a sample,
:func:`make_entry` makes the value and its interval.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.progress import ProgressLines
from citeforge.engines.text.refusals import is_refusal, may_refuse
from citeforge.evaluator.measures.declared import OWN_WEIGHTS, Measure
from citeforge.evaluator.measures.details import answer_details
from citeforge.evaluator.measures.rage_citations import RAGE, RageScores
from citeforge.evaluator.statistics.estimates import (
    Estimate,
    Sample,
    estimate_value,
    influences,
    join_repeats,
    mean_of_runs,
)
from citeforge.evaluator.statistics.intervals import COVERAGE, NONE, compute_shares
from citeforge.evaluator.statistics.significance import holm
from citeforge.evaluator.submissions.benchmark import CLOSED_BOOK, OWN, Benchmark, ContextTable
from citeforge.evaluator.submissions.citation_range import CitationRange
from citeforge.evaluator.submissions.finding import Finding
from citeforge.evaluator.submissions.inputs import (
    NO_PASSAGES,
    Inputs,
    ItemCollector,
    SharedResults,
)
from citeforge.evaluator.submissions.provided_passages import ProvidedPassages
from citeforge.evaluator.submissions.submission import Submission
from citeforge.evaluator.submissions.tools import CannotError, Need, ScoringTools
from citeforge.schemas.authorship import Design
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.refusals import EVERY_LANGUAGE
from citeforge.schemas.scores import AnswerDetail, Counts, MeasureScore, NotComputed, Variance
from citeforge.schemas.signature import Signature
from citeforge.schemas.submission import SubmissionLine

Results = tuple[list[tuple[Measure, Sample]], list[NotComputed]]
"""Measures with their samples, and why others could not be computed."""


@dataclass(frozen=True)
class ScoredSubmission:
    """A submission with its computed measures, from which its score file is made.

    Attributes:
        context: what is scored, as score files say it.
        results: measures that could be computed, and why others could not.
        counts: what the submission consists of.
        tools: judge, segmenter and options that measures were computed with.
        grammar: how citations are read, as signatures say it.
        is_read_by_family: whether each family's paper reads citations in its own way; signatures
            then name the family, too.
        options: choices in signatures in place of those that measures declare; None for those.
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
    grammar: str
    is_read_by_family: bool = False
    options: str | None = None
    warnings: list[Finding] = field(default_factory=list)
    details: list[AnswerDetail] = field(default_factory=list)
    n_failed: int = 0
    inputs: Inputs | None = None
    design: Design | None = None
    splitter: str = "punkt"


class AnswerCounts(Counter[str]):
    """Counts of answers, and of those with anomalies, by the fields of :class:`Counts`."""

    def add(
        self, answer: SubmissionLine, n_cited: float, n_beyond: float, n_unparsed: float,
        strip_marks: Callable[[str], str], detector: str = EVERY_LANGUAGE,
    ) -> None:  # fmt: skip
        """Count one answer by its faults: empty, refused, uncited, cut, wrong or unread citations.

        Args:
            answer: what the system wrote.
            n_cited: distinct citations.
            n_beyond: citations of what was not shown.
            n_unparsed: marks that could not be read.
            strip_marks: removes the citation marks from an answer.
            detector: rules by which an answer is a refusal.
        """
        output = answer.output
        self["n_answered"] += 1
        self["n_unparsed"] += n_unparsed > 0
        self["n_empty"] += not output.strip()
        # Reading marks takes longer than looking for words that every refusal has.
        if may_refuse(output, detector) and (text := strip_marks(output)):
            self["n_refused"] += is_refusal(text, detector, cites=n_cited > 0)
        self["n_uncited"] += n_cited == 0
        self["n_out_of_range"] += n_beyond > 0
        self["n_truncated"] += answer.is_truncated

    def counts(self, benchmark: Benchmark, n_runs: int, n_keys: int, **more: int) -> Counts:
        """Make a score file's counts from the answers' counts; ``n_keys`` answers were expected."""
        n_queries, n_missing = len(benchmark.query_ids), n_keys - self["n_answered"]
        return Counts(n_queries=n_queries, n_runs=n_runs, n_missing=n_missing, **self, **more)


def require_cells_alone(
    reads: str, benchmark: Benchmark, measures: Sequence[Measure], tools: ScoringTools
) -> Sequence[Measure]:
    """Return ``measures``; raise if one needs other answers than ``reads``, or on ``--context``.

    Raises:
        UsageError: names what does not fit.
    """
    others = [m.name for m in measures if m.reads != reads]
    context = tools.options.context
    if others or context is not None:
        what = f"--measures {','.join(others)}" if others else f"--context {context}"
        own = benchmark.kind.facts.default_measures[0]
        raise UsageError(
            f"{what}: {own} measures look at all cells at once; score the family {own} by "
            "itself, and others with --context CELL --measures …",
            code="conflicting-options",
        )
    return measures


def compute(
    answers: SharedResults, measures: Sequence[Measure], judge: JudgeSession | None, *,
    has_hidden_gold: bool, keeps_undefined: bool = False,
) -> Results:  # fmt: skip
    """Compute measures of a submission: (samples over judge repeats, reasons for failed ones).

    Args:
        answers: what their functions read.
        measures: measures of these answers.
        judge: whose verdicts they may ask for.
        has_hidden_gold: whether the gold is hidden, so that undefined queries count, too.
        keeps_undefined: whether a measure that no query defines is computed all the same.
    """
    computed: list[tuple[Measure, Sample]] = []
    missing: list[NotComputed] = []
    with ProgressLines("measuring", len(measures), "measures") as lines:
        for measure in sorted(measures, key=lambda m: Need.SCORES in m.group.needs):
            lines.advance(0, measure.name)
            try:
                repeats = _compute_repeats(answers, measure, judge)
                if has_hidden_gold:
                    repeats = [[_fix_denominator(measure, s) for s in r] for r in repeats]
                if not keeps_undefined:
                    _require_values(s for r in repeats for s in r)
                joined = list(map(join_repeats, zip(*repeats, strict=True)))
                computed += [(measure, sample) for sample in joined]
                if isinstance(answers, Inputs):
                    answers.scored |= {entry_name(measure, sample): sample for sample in joined}
            except CannotError as error:
                missing += not_computed([measure], str(error))
            lines.advance(1)
    return computed, missing


def _compute_repeats(
    answers: SharedResults, measure: Measure, judge: JudgeSession | None
) -> list[Sequence[Sample]]:
    """Compute one measure for each repeat of the judge; a list of samples for each repeat.

    Raises:
        CannotError: something is missing.
    """
    repeats = []
    n_repeats = 1 if judge is None or not measure.asks_judge else judge.repeats
    try:
        for repeat in range(n_repeats):
            if judge is not None:
                judge.repeat = repeat
            result = measure.compute(answers)
            repeats.append([result] if isinstance(result, Sample) else result)
    finally:
        if judge is not None:
            judge.repeat = 0
    return repeats


def _fix_denominator(measure: Measure, sample: Sample) -> Sample:
    """Count undefined queries as the worst value of a measure; 0 if it has no better direction.

    With hidden gold, which queries define a measure must not depend on an answer.

    Raises:
        CannotError: the answers decide the weights, and no query defines the measure.
    """
    if sample.weights == "equal":
        is_lower_better = measure.higher_is_better is False and measure.high is not None
        worst = measure.high if is_lower_better else measure.low
        return sample.count_undefined(0 if measure.higher_is_better is None else worst or 0)
    if sample.weights == "own" and not _is_defined(sample):
        raise CannotError(OWN_WEIGHTS, code="hidden-gold")
    return sample


def _require_values(samples: Iterable[Sample]) -> None:
    """Raise an error if no query defines a measure's value in some run.

    Raises:
        CannotError: no query defines it, or none of one of the runs.
    """
    for sample in samples:
        if not _is_defined(sample):
            of = "" if np.isnan(sample.per_query).all() else " of one of the runs"
            raise CannotError(f"no query{of} defines it", code="no-gold")


def _is_defined(sample: Sample) -> bool:
    """Whether a sample has a value: a query of each run defines it, or it needs no query to."""
    if not sample.has_interval or sample.always:
        return True
    return not np.isnan(sample.per_query).all(axis=-1).any()


def not_computed(measures: Sequence[Measure], reason: str) -> list[NotComputed]:
    """List measures with the reason why they could not be computed."""
    return [NotComputed(name=measure.name, reason=reason) for measure in measures]


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
        scores = RageScores(benchmark, grammar, tools, table, provided)
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
                answer, values.numbers.distinct, values.n_out_of_range, values.n_unparsed,
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
    if inputs is not None and any(Need.CONTEXTS in m.group.needs for m in of_items):
        inputs.beside = _read_other_contexts(submission, context, tools)

    n_runs = len(scores.runs) if scores is not None else 0 if items is None else len(items.runs)
    relevance = _count_relevance(benchmark, table, scores is not None)
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


def _read_other_contexts(
    submission: Submission, context: str, tools: ScoringTools
) -> dict[str, Inputs]:
    """Read the same system's answers to other context sets than the one that is scored.

    Raises:
        UsageError: nothing names the context set of a further file.
    """
    benchmark, beside = submission.benchmark, dict[str, Inputs]()
    lines = (answer for _, answer in submission.answers())
    named = [line.context for line in lines if line.context and line.passages is None]
    further = [name for one in submission.more for name in one.contexts]
    for name in dict.fromkeys([*named, *further]):
        if name == context:
            continue
        items = ItemCollector(benchmark, name, submission.grammar, tools)
        for row, answer in submission.answers_to(name, is_secondary=True):
            items.add(row, answer)
        beside[name] = items.inputs(submission.names)
    return beside


def _closed_book_hint(tally: AnswerCounts, context: str) -> Iterator[Finding]:
    """Yield a hint at the option for closed-book systems if no answer cites (by ``tally``)."""
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
        inputs.scored |= {entry_name(measure, sample): sample for measure, sample in samples}
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


def _count_relevance(
    benchmark: Benchmark, table: ContextTable | None, is_scored: bool
) -> dict[str, int]:
    """Count queries with no or (if ``is_scored``) only relevant passages; empty if unknown."""
    if table is not None and not table.is_labelled:
        return {}  # unlabelled, or hidden: which are relevant is not known
    if table is None or not is_scored:
        return {"n_no_relevant": sum(not ids for ids in benchmark.relevant_ids)}
    sizes = zip(table.sizes, table.relevant, strict=True)
    return {
        "n_no_relevant": sum(not positions for positions in table.relevant),
        "n_all_relevant": sum(0 < size == len(positions) for size, positions in sizes),
    }


def entry_name(measure: Measure, sample: Sample) -> str:
    """Write a measure's name in score files, with any experimental condition in brackets."""
    return measure.name if sample.place is None else f"{measure.name}[{sample.place}]"


def make_entry(
    measure: Measure, sample: Sample, signature: Signature | str,
    clusters: npt.NDArray[np.int64] | None = None, level: float = COVERAGE,
) -> MeasureScore:  # fmt: skip
    """Make a measure's score file entry; ``level`` is the confidence level of its interval.

    Args:
        measure: declaration of the measure.
        sample: values of the measure.
        signature: signature of the value.
        clusters: cluster of each query, if questions repeat.
        level: probability that the interval covers the value.
    """
    estimate = estimate_value(replace(sample, within=measure.range), clusters, level)
    means = mean_of_runs(sample.per_query)
    n_defined = int((~np.isnan(means)).sum())
    scale, moves = measure.scale, influences(sample)
    low, high = estimate.low, estimate.high
    # Intervals are cut to the range of the measure, unless the value itself is outside of it.
    if estimate.interval != NONE and measure.low <= estimate.value <= measure.range.high:
        low, high = max(low, measure.low), min(high, measure.range.high)
    value, upper_bound = displayed_value(estimate.value, scale), None
    if sample.upper is not None:
        upper_bound = displayed_value(estimate_value(sample.upper).value, scale)
    return MeasureScore(
        name=entry_name(measure, sample),
        signature=str(signature),
        scale=scale,
        value=value,
        low=displayed_value(low, scale),
        high=displayed_value(high, scale),
        stderr=displayed_value(estimate.stderr, scale),
        sd_runs=displayed_value(estimate.sd_runs, scale),
        interval=estimate.interval,
        n=n_defined,
        n_undefined=len(means) - n_defined,
        lower_bound=None if sample.upper is None else value,
        upper_bound=upper_bound,
        p_t=None if sample.p_t is None or math.isnan(sample.p_t) else sample.p_t,
        per_query=[None if math.isnan(v) else v for v in means.tolist()],
        influence=None if moves is None else [None if math.isnan(v) else v for v in moves.tolist()],
        variance=_list_variance(estimate, measure),
        weights=sample.weights,
    )


def _list_variance(estimate: Estimate, measure: Measure) -> Variance | None:
    """List an estimate's variance by source (queries, runs, …); None if it has one source only."""
    spread, values = estimate.spread, estimate.values
    if spread is None or values is None:
        return None
    components = {k: round(v * measure.scale**2, 10) for k, v in spread.components.items()}
    shares = compute_shares(components, spread.levels)
    return Variance(
        levels=spread.levels,
        components=components,
        shares={k: round(v, 10) for k, v in shares.items()},
        values=values.tolist() if measure.asks_judge else [],
    )


def make_entries(
    samples: Sequence[tuple[Measure, Sample]],
    signatures: Sequence[Signature],
    clusters: npt.NDArray[np.int64] | None = None,
) -> list[MeasureScore]:
    """Make score file entries of all measures; Holm adjusts p-values per group of tests.

    Args:
        samples: measures with their values.
        signatures: signatures of the values.
        clusters: cluster of each query, if questions repeat.
    """
    entries = [
        make_entry(measure, sample, signature, clusters)
        for (measure, sample), signature in zip(samples, signatures, strict=True)
    ]
    for table in dict.fromkeys(s.table for _, s in samples if s.table is not None):
        own = [e for e, (_, s) in zip(entries, samples, strict=True) if s.table == table]
        for entry, p in zip(own, holm([math.nan if e.p_t is None else e.p_t for e in own]),
                            strict=True):  # fmt: skip
            entry.p_holm = None if math.isnan(p) else p
    return entries


def displayed_value(value: float, scale: int) -> float | None:
    """Scale a value for display, rounded to 10 decimals, never −0; None for NaN."""
    return None if math.isnan(value) else round(value * scale, 10) + 0.0
