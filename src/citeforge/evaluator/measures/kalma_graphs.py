"""Measures of submissions that cite triples: what they read, and the details of reports."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from citeforge.engines.judge.records import Decision, Pair, Verdict
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.results import AnswerCounts, ScoredSubmission, compute
from citeforge.evaluator.statements.kalma import SENTENCES, without_brackets
from citeforge.evaluator.statements.triples import (
    ParsedAnswer,
    TripleClaim,
    describe_malformed_brackets,
    read_answer,
    read_reference,
    read_shown,
    reference_claims,
    strict_claims,
)
from citeforge.evaluator.submissions.benchmark import CLOSED_BOOK, FULL, OWN, Benchmark
from citeforge.evaluator.submissions.citation_range import CitationRange
from citeforge.evaluator.submissions.finding import Finding
from citeforge.evaluator.submissions.inputs import SharedResults
from citeforge.evaluator.submissions.submission import Submission
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.kg import Key, Triple
from citeforge.schemas.scores import AnswerDetail, PassageDetail, StatementDetail


@dataclass
class KalmaInputs(SharedResults):
    """A submission, ready to be measured.

    Attributes:
        benchmark: what it answers.
        runs: one list per run; ``strict`` has one parsed answer for every query.
        relations: relation names of the whole benchmark.
        tools: judge and segmenter, which ``reference`` does not use.
        failures: why requests to the LLM failed, or replies cannot be read.
    """

    benchmark: Benchmark
    runs: list[list[ParsedAnswer]]
    relations: frozenset[str]
    tools: ScoringTools = field(default_factory=ScoringTools)
    failures: list[str] = field(default_factory=list)
    _claims: dict[tuple[int, str], list[TripleClaim]] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of arrays of values per answer: (runs, queries)."""
        return len(self.runs), len(self.benchmark.query_ids)

    def items(self) -> Iterator[tuple[int, ParsedAnswer]]:
        """Yield (run, answer) for every answer."""
        for run, readings in enumerate(self.runs):
            for reading in readings:
                yield run, reading

    def claims(self, answer: ParsedAnswer) -> list[TripleClaim]:
        """Split an answer into statements; the same answer is split only once."""
        key = (answer.row, answer.output)
        if key not in self._claims:
            if self.protocol == "reference":
                self._claims[key] = reference_claims(answer)
            else:
                segmenter = self.tools.get_segmenter()
                self._claims[key] = strict_claims(answer, self.relations, segmenter)
        return self._claims[key]

    @property
    def can_split(self) -> bool:
        """Whether answers can be split into statements: a segmenter is there, or none is needed."""
        return self.protocol == "reference" or self.tools.segmenter is not None


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
    malformed: list[str] = []
    for row, answer in submission.answers_to(context):
        parsed = read(row, shown[row], answer.output, relations)
        by_run.setdefault(answer.run, {})[row] = parsed
        malformed += parsed.malformed
        cited = parsed.citations
        n_beyond = sum(not shown[row].is_complete_and_shown(c) for c in cited)
        tally.add(answer, len(cited), n_beyond, parsed.n_unparsed, without_brackets)
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
    results = compute(inputs, measures, tools.judge, has_hidden_gold=benchmark.has_hidden_gold)
    details = _answer_details(inputs) if keeps_details and inputs.can_split else []
    return ScoredSubmission(
        context,
        results,
        tally.counts(benchmark, len(runs), len(benchmark.query_ids) * len(runs)),
        tools,
        benchmark.manifest.grammar.name if is_strict else "triples",
        is_read_by_family=not is_strict,
        warnings=[
            *submission.warnings(),
            *(reach.warnings("triples") if submission.is_anonymous else ()),
            *_failure_warnings(inputs),
            *_bracket_warnings(malformed),
        ],
        details=details,
        n_failed=len(inputs.failures),
        splitter=SENTENCES.signature,
    )


def _failure_warnings(inputs: KalmaInputs) -> list[Finding]:
    """Make a warning if questions to the LLM failed."""
    if not (failures := inputs.failures):
        return []
    message = f"the LLM failed on {count_text(len(failures), 'question')}; the first: {failures[0]}"
    return [Finding("llm-failed", message)]


def _bracket_warnings(brackets: Sequence[str]) -> list[Finding]:
    """Make a warning that brackets hold shown facts in another form; empty if none do."""
    if not brackets:
        return []
    return [Finding("unread-citation", describe_malformed_brackets(brackets))]


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
        position = {t.key.compared: i for i, t in enumerate(graphs.triples)}
        gold = {key.compared for key, _ in graphs.gold}
        same = frozenset[Key]().union(*graphs.facts) - gold
        details.append(
            AnswerDetail(
                query_id=inputs.benchmark.query_ids[reading.row],
                query=graphs.question,
                statements=[
                    StatementDetail(
                        text=claim.text,
                        cited=[
                            position[k] for c in claim.citations if (k := c.compared) in position
                        ],
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
                        else "answers the question, too"
                        if t.key.compared in graphs.answers
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
    """Make a judge's (premise, hypothesis) pair of a statement and each triple that it cites."""
    return [pair_triple(claim.text, c) for c in claim.citations]


def _is_supported(claim: TripleClaim, decisions: Mapping[Pair, Decision]) -> bool | None:
    """Whether a statement entails all triples that it cites; None without verdicts or citations."""
    verdicts = [decisions.get(pair) for pair in _pairs(claim)]
    defined = [v.entailed for v in verdicts if isinstance(v, Verdict)]
    return all(defined) if defined and len(defined) == len(verdicts) else None
