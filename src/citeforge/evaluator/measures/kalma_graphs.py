"""Reader of submissions that cite triples: each answer with its citations and its shown graph."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from citeforge.engines.judge.records import Decision, Pair, Verdict
from citeforge.evaluator.measures.declared import Measure, MeasureOf
from citeforge.evaluator.measures.kalma_reference import (
    NA,
    SENTENCES,
    read_brackets,
    without_brackets,
)
from citeforge.evaluator.measures.reading import AnswerCounts, ScoredSubmission, answers_to, compute
from citeforge.evaluator.statements.split import split_statements
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.citation_range import CitationRange
from citeforge.evaluator.submissions.finding import Finding
from citeforge.evaluator.submissions.inputs import SharedResults
from citeforge.evaluator.submissions.reader import CLOSED_BOOK, FULL, OWN
from citeforge.evaluator.submissions.submission import Submission
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.package.items import by_query
from citeforge.schemas.citations.triples import TripleGrammar
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.kg import EMPTY, NAME, Key, Triple, from_row
from citeforge.schemas.scores import AnswerDetail, PassageDetail, StatementDetail


@dataclass(frozen=True)
class ShownGraphs:
    """Question, shown graph and gold facts of one query in one context set.

    Attributes:
        question: text of the question.
        triples: the shown graph.
        gold: minimum knowledge set, with the round of each.
        absent: triples that were removed from the graph.
        blank: relations that the published graphs show with an empty value: (QID, relation, value).
        equivalents: gold facts that other triples state, too, each with the keys of these.
        names: QID to name of the entities that the question is about.
    """

    question: str
    triples: tuple[Triple, ...]
    gold: tuple[tuple[Key, int], ...]
    absent: tuple[Triple, ...]
    blank: tuple[Key, ...] = ()
    equivalents: tuple[frozenset[Key], ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def facts(self) -> tuple[frozenset[Key], ...]:
        """Gold facts, each as the keys of all triples that state it, normalised for comparison."""
        facts: list[frozenset[Key]] = []
        for keys in (*self.equivalents, *(frozenset([key]) for key, _ in self.gold)):
            fact = frozenset(key.compared for key in keys)
            meeting = [other for other in facts if other & fact]
            facts = [other for other in facts if not other & fact]
            facts.append(fact.union(*meeting))
        return tuple(facts)

    @cached_property
    def premises(self) -> frozenset[Key]:
        """Shown non-gold triples that the question itself states, normalised for comparison.

        They connect two of its entities ("his father Alois Hitler").
        """
        links = {t.key.compared for t in self.triples if t.connects(self.names)}
        return frozenset(links.difference(*self.facts))

    @cached_property
    def citable(self) -> frozenset[Key]:
        """Keys that citations may name (shown triples, entity names), normalised for comparison."""
        names = {Key(t.qid, NAME, t.name) for t in self.triples}
        return frozenset(k.compared for k in {*names, *(t.key for t in self.triples)})

    @cached_property
    def verbatim(self) -> frozenset[Key]:
        """Citations that KaLMA's own code accepts, compared letter by letter.

        Name and QID are two of its relations, and a relation may have an empty value.
        """
        names = {Key(t.qid, NAME, t.name) for t in self.triples}
        ids = {Key(t.qid, "qid", t.qid) for t in self.triples}
        return frozenset({*names, *ids, *self.blank, *(t.key for t in self.triples)})

    def is_complete_and_shown(self, citation: Key) -> bool:
        """Whether a citation is complete and names a shown triple or entity."""
        return citation.complete and citation.compared in self.citable


@dataclass(frozen=True)
class ParsedAnswer:
    """One answer with its citations parsed.

    Attributes:
        row: row of its query.
        shown: what it was shown.
        output: what the system wrote.
        citations: in order.
        n_na: number of [NA] marks.
        n_unparsed: brackets that begin like a citation and cannot be read.
        is_missing: whether the submission has no such line.
    """

    row: int
    shown: ShownGraphs
    output: str
    citations: tuple[Key, ...]
    n_na: int
    n_unparsed: int
    is_missing: bool = False


@dataclass(frozen=True)
class TripleClaim:
    """A statement with the triples that it cites.

    Attributes:
        text: without citations.
        citations: in order.
        is_na: whether it carries an [NA].
    """

    text: str
    citations: tuple[Key, ...]
    is_na: bool


@dataclass
class KalmaInputs(SharedResults):
    """A submission, ready to be measured.

    Attributes:
        benchmark: what it answers.
        runs: one list per run; ``strict`` has one parsed answer for every query.
        relations: relation names of the whole benchmark.
        tools: judge and segmenter, which ``reference`` does not use.
        n_failed: replies of the LLM that cannot be read, and failures.
        first_failure: why the first of them failed; empty without one.
    """

    benchmark: Benchmark
    runs: list[list[ParsedAnswer]]
    relations: frozenset[str]
    tools: ScoringTools = field(default_factory=ScoringTools)
    n_failed: int = 0
    first_failure: str = ""
    _claims: dict[tuple[int, str], list[TripleClaim]] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of runs, and number of queries."""
        return len(self.runs), len(self.benchmark.query_ids)

    def count_failure(self, why: str) -> None:
        """Count a request to the LLM that failed, and keep the first reason."""
        self.n_failed += 1
        self.first_failure = self.first_failure or why

    def claims(self, reading: ParsedAnswer) -> list[TripleClaim]:
        """Split an answer into statements; the same answer is split only once."""
        key = (reading.row, reading.output)
        if key not in self._claims:
            claims = _reference_claims if self.protocol == "reference" else _strict_claims
            self._claims[key] = claims(self, reading)
        return self._claims[key]

    @property
    def can_split(self) -> bool:
        """Whether answers can be split into statements: a segmenter is there, or none is needed."""
        return self.protocol == "reference" or self.tools.segmenter is not None


@dataclass(frozen=True)
class GraphMeasure(MeasureOf[KalmaInputs]):
    """A measure of answers that cite triples."""

    reads = "triples"


ComputeGraphs = Callable[[KalmaInputs], Sample]
"""Computes a measure of answers that cite triples."""


def _strict_claims(inputs: KalmaInputs, reading: ParsedAnswer) -> list[TripleClaim]:
    """Split an answer into its sentences, each with the triples that it cites (``strict``)."""
    assert inputs.tools.segmenter is not None
    grammar = TripleGrammar(reading.shown.triples, inputs.relations)
    split = split_statements(reading.output, grammar, inputs.tools.segmenter, 0)
    return [
        TripleClaim(
            statement.text,
            tuple(c for n in statement.numbers for c in grammar.brackets[n]),
            any(m.is_na for m in statement.markers),
        )
        for statement in split.statements
    ]


def _reference_claims(inputs: KalmaInputs, reading: ParsedAnswer) -> list[TripleClaim]:
    """Split an answer into sentences as KaLMA's code does, with the citations inside each."""
    sentences = [reading.output[start:end] for start, end in SENTENCES.split(reading.output)]
    return [
        TripleClaim(without_brackets(text), read_brackets(text)[0], NA in text)
        for text in sentences
    ]


def read_shown(benchmark: Benchmark, context: str) -> tuple[list[ShownGraphs], frozenset[str]]:
    """Read the graph shown with each query in a context set, and the set's relation names.

    Raises:
        InputError: the table is damaged.
    """
    queries = benchmark.queries_of(context)
    gold = by_query(benchmark.gold.to_pylist())
    absent = by_query(benchmark.absent(context).to_pylist())
    metadata = [json.loads(m or "{}") for m in queries["metadata"].to_pylist()]
    blank = [_read_blanks(m) for m in metadata]
    anywhere = {qid: keys for mine in blank for qid, keys in mine.items()}
    table = benchmark.context_table(context)
    graphs = []
    for question, query, about, mine, rows in zip(
        queries["text"].to_pylist(),
        table["query_id"].to_pylist(),
        metadata,
        blank,
        table["triples"].to_pylist(),
        strict=True,
    ):
        triples = tuple(from_row(t) for t in rows)
        # A graph of another query (``retrieval_…``) brings what is blank there.
        blanks = {**anywhere, **mine}
        centres = dict.fromkeys(t.qid for t in triples)
        empty = tuple(key for qid in centres for key in blanks.get(qid, ()))
        right = tuple((from_row(r).key, r["round"]) for r in gold.get(query, []))
        same = tuple(
            frozenset(from_row(t).key for t in (r, *r["equivalents"]))
            for r in gold.get(query, [])
            if r["equivalents"]
        )
        gone = tuple(from_row(r) for r in absent.get(query, []) if r["why"] == "gold")
        names = dict(zip(about.get("entities") or (), about.get("names") or (), strict=False))
        graphs.append(ShownGraphs(question, triples, right, gone, empty, same, names))
    return graphs, frozenset(t.relation for s in graphs for t in s.triples)


def _read_blanks(metadata: Mapping[str, Any]) -> dict[str, tuple[Key, ...]]:
    """Map each entity (QID) of a query to the relations that its graph shows without a value."""
    empty = metadata.get(EMPTY) or {}
    return {
        qid: tuple(Key(qid, relation, value) for relation, value in empty.get(qid, {}).items())
        for qid in metadata.get("entities") or ()
    }


def read_answer(
    row: int, graphs: ShownGraphs, output: str, relations: Iterable[str]
) -> ParsedAnswer:
    """Parse the cited triples and [NA] marks of one answer by citeforge's grammar."""
    grammar = TripleGrammar(graphs.triples, relations)
    parsed = grammar.parse(output)
    cited = tuple(c for bracket in grammar.brackets for c in bracket)
    n_na = sum(m.is_na for m in parsed.markers)
    return ParsedAnswer(row, graphs, output, cited, n_na, len(parsed.unparsed))


def read_reference(
    row: int, graphs: ShownGraphs, output: str, relations: Iterable[str] = ()
) -> ParsedAnswer:
    """Parse the cited triples and [NA] marks of one answer as KaLMA's own code does."""
    return ParsedAnswer(row, graphs, output, *read_brackets(output), 0)


def read_triples(
    submission: Submission, measures: Sequence[Measure], tools: ScoringTools
) -> ScoredSubmission:
    """Read a submission that cites triples and compute its measures."""
    benchmark, is_strict = submission.benchmark, tools.is_strict
    context = submission.choose_context(tools.options.context)
    if tools.options.context is None and context == OWN:
        context = FULL  # the line that brings passages is refused when it is read
    if context not in benchmark.manifest.contexts:
        raise _context_error(context, benchmark)
    keeps_details = tools.keeps_answers
    if not is_strict:
        tools = replace(tools, segmenter=SENTENCES)
    shown, relations = read_shown(benchmark, context)
    read = read_answer if is_strict else read_reference
    by_run: dict[int, dict[int, ParsedAnswer]] = {}
    tally, reach = AnswerCounts(), CitationRange()
    for row, answer in answers_to(context, submission):
        parsed = read(row, shown[row], answer.output, relations)
        by_run.setdefault(answer.run, {})[row] = parsed
        cited = parsed.citations
        n_beyond = sum(not shown[row].is_complete_and_shown(c) for c in cited)
        tally.add(answer, len(cited), n_beyond, parsed.n_unparsed)
        complete = {c.compared for c in cited if c.complete}
        reach.add((), len(complete - shown[row].citable), 0)
    runs = [by_run[number] for number in sorted(by_run)]
    if is_strict:
        runs = [
            {
                row: run.get(row) or ParsedAnswer(row, graphs, "", (), 0, 0, is_missing=True)
                for row, graphs in enumerate(shown)
            }
            for run in runs
        ]
    inputs = KalmaInputs(benchmark, [list(run.values()) for run in runs], relations, tools)
    of_graphs = [m for m in measures if isinstance(m, GraphMeasure)]
    results = compute(inputs, of_graphs, tools.judge, has_hidden_gold=benchmark.has_hidden_gold)
    details = _answer_details(inputs) if keeps_details and inputs.can_split else []
    return ScoredSubmission(
        context,
        results,
        tally.counts(benchmark, len(runs), len(benchmark.query_ids) * len(runs)),
        tools,
        lambda measure: benchmark.manifest.grammar.name if is_strict else "triples,kalma",
        warnings=[
            *submission.warnings(),
            *(reach.warnings("triples") if submission.is_anonymous else ()),
            *_failure_warnings(inputs),
        ],
        details=details,
        n_failed=inputs.n_failed,
        splitter=SENTENCES.signature,
    )


def _failure_warnings(inputs: KalmaInputs) -> list[Finding]:
    """Make a warning if questions to the LLM failed."""
    if not inputs.n_failed:
        return []
    message = f"the LLM failed on {inputs.n_failed:,} questions; the first: {inputs.first_failure}"
    return [Finding("llm-failed", message)]


def _context_error(context: str, benchmark: Benchmark) -> UsageError:
    """Make the error for a context set that cannot be scored."""
    names = list(benchmark.manifest.contexts)
    if context in (OWN, CLOSED_BOOK):
        what = "passages of its own" if context == OWN else "no graph"
        return UsageError(
            f"context {context!r}: answers to {what} cite no triples of {benchmark.manifest.name}; "
            f"one of {', '.join(names)}",
            code="wrong-kind",
        )
    return UnknownValueError("context", context, names)


def _answer_details(inputs: KalmaInputs) -> list[AnswerDetail]:
    """List the first run's answers, split into statements, for reports; triples as passages."""
    answers = [(reading, inputs.claims(reading)) for reading in inputs.runs[0]]
    pairs = [pair for _, claims in answers for claim in claims for pair in _pairs(claim)]
    decisions = {} if inputs.tools.judge is None else inputs.tools.judge.ask(pairs)
    details = []
    for reading, claims in answers:
        graphs = reading.shown
        place = {t.key.compared: i for i, t in enumerate(graphs.triples)}
        gold = {key.compared for key, _ in graphs.gold}
        same = frozenset[Key]().union(*graphs.facts) - gold
        details.append(
            AnswerDetail(
                query_id=inputs.benchmark.query_ids[reading.row],
                query=graphs.question,
                statements=[
                    StatementDetail(
                        text=claim.text,
                        cited=[place[k] for c in claim.citations if (k := c.compared) in place],
                        wrong=sum(not graphs.is_complete_and_shown(c) for c in claim.citations),
                        supported=_is_supported(claim, decisions),
                    )
                    for claim in claims
                ],
                passages=[
                    PassageDetail(
                        id=t.qid,
                        title=t.name,
                        text=f"{t.relation}: {t.value}",
                        label="minimum knowledge"
                        if t.key.compared in gold
                        else "also minimum knowledge"
                        if t.key.compared in same
                        else "said by the question"
                        if t.key.compared in graphs.premises
                        else None,
                    )
                    for t in graphs.triples
                ],
                is_missing=reading.is_missing,
            )
        )
    return details


def pair_triple(text: str, triple: Triple | Key) -> Pair:
    """Make the judge's pair for a triple: premise is the statement, hypothesis the triple."""
    return Pair(text, f"{triple.relation}: {triple.value}")


def _pairs(claim: TripleClaim) -> list[Pair]:
    """Make the judge's pairs for a statement and each triple that it cites."""
    return [pair_triple(claim.text, c) for c in claim.citations]


def _is_supported(claim: TripleClaim, decisions: Mapping[Pair, Decision]) -> bool | None:
    """Whether a statement entails all triples that it cites; None without verdicts or citations."""
    verdicts = [decisions.get(pair) for pair in _pairs(claim)]
    defined = [v.entailed for v in verdicts if isinstance(v, Verdict)]
    return all(defined) if defined and len(defined) == len(verdicts) else None
