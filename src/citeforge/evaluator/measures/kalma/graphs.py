"""Answers that cite triples of a graph."""

from collections.abc import Mapping
from dataclasses import replace

from citeforge.engines.judge.records import Decision, Pair, Verdict
from citeforge.evaluator.measures.compute import Results, compute
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.kalma.inputs import (
    OWN_PASSAGES,
    KalmaInputs,
    ParsedAnswer,
    TripleClaim,
    no_such_context,
    read_answer,
    read_reference,
    read_shown,
)
from citeforge.evaluator.measures.kalma.judged import entailment_of
from citeforge.evaluator.measures.kalma.reference import SENTENCES
from citeforge.evaluator.statements.reading import SubmissionReader
from citeforge.evaluator.submissions.origin import CitationRange
from citeforge.evaluator.submissions.reader import FULL, OWN
from citeforge.schemas.scores import AnswerDetail, Counts, PassageDetail, StatementDetail
from citeforge.schemas.submission import SubmissionLine


class GraphReading(SubmissionReader):
    """Keeps the citations of each answer, and the answer."""

    splitter = SENTENCES.signature

    def begin(self) -> None:
        """Prepare the graphs."""
        tools = self.tools
        self.context = self.submission.choose_context(tools.options.context)
        if tools.options.context is None and self.context == OWN:
            self.context = FULL  # the line that brings passages is refused when it is read
        if self.context not in self.benchmark.manifest.contexts:
            raise no_such_context(self.context, self.benchmark)
        self._shown, self._relations = read_shown(self.benchmark, self.context)
        self._read = read_answer if self.is_strict else read_reference
        self._runs: dict[int, dict[int, ParsedAnswer]] = {}
        if not self.is_strict:
            self.tools = replace(tools, segmenter=SENTENCES)

    def add(self, line: int, answer: SubmissionLine) -> None:
        """Read one answer."""
        if answer.passages is not None:
            self.places.refuse(line, OWN_PASSAGES)
        if not self.places.is_of(line, answer, self.context):
            return
        row = self.places.row(line, answer, self.context)
        graphs = self._shown[row]
        reading = self._read(row, graphs, answer.output, self._relations)
        self._runs.setdefault(answer.run, {})[row] = reading
        cited = reading.citations
        n_beyond = sum(not graphs.shows(c) for c in cited)
        self.tally.add(answer.output, len(cited), n_beyond, reading.n_unparsed)

    def finish(self) -> None:
        """Missing answers are filled in."""
        if self.tally.n == 0:
            raise self.nothing()
        runs = [self._runs[number] for number in sorted(self._runs)]
        if self.is_strict:
            runs = [{row: run.get(row) or self._missing(row) for row in range(len(self._shown))}
                    for run in runs]  # fmt: skip
        self._inputs = KalmaInputs(
            self.benchmark,
            self.protocol,
            [list(run.values()) for run in runs],
            self._relations,
            self.tools,
        )

    def _missing(self, row: int) -> ParsedAnswer:
        return ParsedAnswer(row, self._shown[row], "", (), 0, 0, is_missing=True)

    def results(self) -> Results:
        """All measures."""
        return compute(self._inputs, self.measures, self.tools.judge)

    def counts(self) -> Counts:
        """What the submission consists of."""
        n_runs = len(self._runs)
        return self.make_counts(n_runs, len(self.benchmark.query_ids) * n_runs)

    def grammar_of(self, measure: Measure) -> str:
        """How citations are read."""
        return self.benchmark.manifest.grammar.name if self.is_strict else "triples,kalma"

    def details(self) -> list[AnswerDetail]:
        """Answers of the first run; triples take the place of passages."""
        return _details(self._inputs) if self._inputs.can_split else []

    def warnings(self) -> list[str]:
        """What makes it doubtful that the submission answers this benchmark."""
        reach = CitationRange()
        for reading in (r for run in self._inputs.runs for r in run):
            keys = {c.compared for c in reading.citations if c.complete}
            reach.add((), len(keys - reading.shown.citable), 0)
        doubts = reach.warnings("triples") if self.submission.is_anonymous else []
        return super().warnings() + doubts

    def n_failed(self) -> int:
        """Questions to judge and LLM that failed."""
        return super().n_failed() + self._inputs.n_failed


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
