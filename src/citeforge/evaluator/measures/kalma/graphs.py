"""Answers that cite triples of a graph."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from citeforge.engines.judge.records import Decision, Pair, Verdict
from citeforge.evaluator.measures.compute import compute
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.kalma.inputs import (
    KalmaInputs,
    ParsedAnswer,
    ShownGraphs,
    TripleClaim,
    read_answer,
    read_reference,
    read_shown,
)
from citeforge.evaluator.measures.kalma.judged import entailment_of
from citeforge.evaluator.measures.kalma.reference import SENTENCES
from citeforge.evaluator.statements.reading import Reading, Tally, answers_to
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.index import Submission
from citeforge.evaluator.submissions.origin import CitationRange
from citeforge.evaluator.submissions.reader import CLOSED_BOOK, FULL, OWN
from citeforge.evaluator.tools import Tools
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.scores import AnswerDetail, PassageDetail, StatementDetail


def read_triples(submission: Submission, measures: Sequence[Measure], tools: Tools) -> Reading:
    """Keep the citations of each answer, and the answer."""
    benchmark, is_strict = submission.benchmark, tools.is_strict
    context = submission.choose_context(tools.options.context)
    if tools.options.context is None and context == OWN:
        context = FULL  # the line that brings passages is refused when it is read
    if context not in benchmark.manifest.contexts:
        raise _no_such_context(context, benchmark)
    keeps_details = tools.keeps_answers
    if not is_strict:
        tools = replace(tools, segmenter=SENTENCES)
    shown, relations = read_shown(benchmark, context)
    read = read_answer if is_strict else read_reference
    by_run: dict[int, dict[int, ParsedAnswer]] = {}
    tally, reach = Tally(), CitationRange()
    for row, answer in answers_to(context, submission):
        parsed = read(row, shown[row], answer.output, relations)
        by_run.setdefault(answer.run, {})[row] = parsed
        cited = parsed.citations
        n_beyond = sum(not shown[row].shows(c) for c in cited)
        tally.add(answer, len(cited), n_beyond, parsed.n_unparsed)
        complete = {c.compared for c in cited if c.complete}
        reach.add((), len(complete - shown[row].citable), 0)
    runs = [by_run[number] for number in sorted(by_run)]
    if is_strict:
        runs = [
            {row: run.get(row) or _missing(row, graphs) for row, graphs in enumerate(shown)}
            for run in runs
        ]
    inputs = KalmaInputs(benchmark, [list(run.values()) for run in runs], relations, tools)
    results = compute(inputs, measures, tools.judge)
    details = _details(inputs) if keeps_details and inputs.can_split else []
    return Reading(
        context,
        results,
        tally.counts(benchmark, len(runs), len(benchmark.query_ids) * len(runs)),
        tools,
        lambda measure: benchmark.manifest.grammar.name if is_strict else "triples,kalma",
        warnings=[
            *submission.warnings(),
            *(reach.warnings("triples") if submission.is_anonymous else ()),
        ],
        details=details,
        n_failed=inputs.n_failed,
        splitter=SENTENCES.signature,
    )


def _no_such_context(context: str, benchmark: Benchmark) -> UsageError:
    """Why a context set cannot be scored."""
    names = list(benchmark.manifest.contexts)
    if context in (OWN, CLOSED_BOOK):
        what = "passages of its own" if context == OWN else "no graph"
        return UsageError(
            f"context {context!r}: answers to {what} cite no triples of {benchmark.manifest.name}; "
            f"one of {', '.join(names)}"
        )
    return UnknownValueError("context", context, names)


def _missing(row: int, graphs: ShownGraphs) -> ParsedAnswer:
    return ParsedAnswer(row, graphs, "", (), 0, 0, is_missing=True)


def _details(inputs: KalmaInputs) -> list[AnswerDetail]:
    """Answers of the first run; triples take the place of passages."""
    answers = [(reading, inputs.claims(reading)) for reading in inputs.runs[0]]
    pairs = [pair for _, claims in answers for claim in claims for pair in _pairs(claim)]
    decisions = {} if inputs.tools.judge is None else inputs.tools.judge.ask(pairs)
    details = []
    for reading, claims in answers:
        shown = reading.shown
        place = {t.key.compared: i for i, t in enumerate(shown.triples)}
        gold = {key.compared for key, _ in shown.gold}
        details.append(
            AnswerDetail(
                query_id=inputs.benchmark.query_ids[reading.row],
                query=shown.question,
                statements=[
                    StatementDetail(
                        text=claim.text,
                        cited=[place[k] for c in claim.citations if (k := c.compared) in place],
                        wrong=sum(not shown.shows(c) for c in claim.citations),
                        supported=_supported(claim, decisions),
                    )
                    for claim in claims
                ],
                passages=[
                    PassageDetail(
                        id=t.qid,
                        title=t.name,
                        text=f"{t.relation}: {t.value}",
                        label="minimum knowledge" if t.key.compared in gold else None,
                    )
                    for t in shown.triples
                ],
                is_missing=reading.is_missing,
            )
        )
    return details


def _pairs(claim: TripleClaim) -> list[Pair]:
    return [entailment_of(claim.text, c) for c in claim.citations]


def _supported(claim: TripleClaim, decisions: Mapping[Pair, Decision]) -> bool | None:
    """Whether a statement entails all that it cites; None without verdicts or a citation."""
    verdicts = [decisions.get(pair) for pair in _pairs(claim)]
    defined = [v.entailed for v in verdicts if isinstance(v, Verdict)]
    return all(defined) if defined and len(defined) == len(verdicts) else None
