"""Answers that cite passages, of a frozen context set or of their own."""

from dataclasses import replace

from citeforge.evaluator.measures.compute import Results, compute, not_computed
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.statements.details import answer_details
from citeforge.evaluator.statements.inputs import Inputs, ItemReader
from citeforge.evaluator.statements.reading import SubmissionReader
from citeforge.evaluator.statistics.per_answer import PerAnswerScores
from citeforge.evaluator.submissions.formats import find_format
from citeforge.evaluator.submissions.origin import MismatchDetector
from citeforge.evaluator.submissions.provided_passages import ProvidedPassages
from citeforge.evaluator.submissions.reader import CLOSED_BOOK, OWN
from citeforge.schemas.scores import AnswerDetail, Counts
from citeforge.schemas.submission import SubmissionLine


class PassageReading(SubmissionReader):
    """Keeps numbers of each answer for measures that need no more, and answers for the others."""

    def begin(self) -> None:
        """Prepare the context set."""
        self.context = self.submission.choose_context(self.tools.options.context)
        self.grammar = self.benchmark.grammar
        if self.submission.form == "attrieval":
            self.grammar = replace(self.grammar, base=0)  # its prompts count from 0
        n = len(self.benchmark.query_ids)
        is_frozen = self.context not in (OWN, CLOSED_BOOK)
        table = self.benchmark.context(self.context) if is_frozen else None
        self._provided = (
            ProvidedPassages(self.benchmark, self.is_strict) if self.context == OWN else None
        )
        shown = table is not None or self._provided is not None
        makers = dict.fromkeys(m.numbers for m in self.measures if m.numbers is not None and shown)
        self._scores = {
            make: PerAnswerScores(
                make(self.benchmark, self.grammar, self.protocol, table, self._provided), n
            )
            for make in makers
        }
        self._relevant = None if table is None or not self._scores else table.relevant
        if table is not None and not table.is_judged:
            self._relevant = []  # unlabelled, or hidden: nobody knows which are relevant
        self._sizes = [] if self._relevant is None or table is None else table.sizes
        self._items = None
        is_any_bare = any(m.numbers is None for m in self.measures)
        if self.tools.keeps_answers or not self._scores or is_any_bare:
            self._items = ItemReader(
                self.benchmark, self.context, self.protocol, self.grammar, self.tools
            )
        self._inputs: Inputs | None = None
        self._mismatches = None
        if self.submission.is_anonymous:
            self._mismatches = MismatchDetector(self.grammar, [] if table is None else table.sizes)

    def options_of(self, measure: Measure, options: str | None) -> str | None:
        """Whether another run's facts and verdicts stand in place of our own."""
        verdicts = find_format(self.submission.form).verdicts
        theirs = (v for start, v in verdicts.items() if measure.name.startswith(start))
        return next(theirs, options)

    def add(self, line: int, answer: SubmissionLine) -> None:
        """Read one answer."""
        if not self.places.is_of(line, answer, self.context):
            return
        row = self.places.row(line, answer, self.context)
        if self._provided is not None:
            self._provided.add(answer)
        numbers = None
        for scores in self._scores.values():
            numbers = scores.add(row, answer)
        if self._items is not None:
            item = self._items.add(row, answer)
            if numbers is None:
                inside, beyond, unparsed = self.grammar.cited(answer.output, len(item.passages))
                self.tally.add(answer.output, len(inside) + beyond, beyond, unparsed)
        if numbers is not None:
            n_beyond, n_unparsed = numbers.n_out_of_range, numbers.n_unparsed
            self.tally.add(answer.output, numbers.distinct, n_beyond, n_unparsed)
        if self.is_strict:
            self.tally.listed += self.grammar.has_list(answer.output)
        if self._mismatches is not None:
            self._mismatches.look(row, answer)

    def finish(self) -> None:
        """Missing answers are filled in."""
        if self.tally.n == 0:
            raise self.nothing()
        if self.is_strict:
            for scores in self._scores.values():
                scores.fill()
        if self._items is not None:
            provided = self._provided
            inputs = self._items.inputs(None if provided is None else provided.has_other_text)
            self._inputs = replace(inputs, names=self.submission.names)

    def results(self) -> Results:
        """Measures of numbers first, then those of answers."""
        rows, missing = [], []
        for make in dict.fromkeys(m.numbers for m in self.measures):
            alike = [m for m in self.measures if m.numbers is make]
            if make is None or make in self._scores:
                inputs = self._inputs if make is None else self._scores[make]
                results = compute(inputs, alike, self.tools.judge)
            else:
                why = dict.fromkeys((m.name for m in alike), "no passages were shown")
                results = [], not_computed(why)
            rows += results[0]
            missing += results[1]
        order = {m.name: i for i, m in enumerate(self.measures)}
        return sorted(rows, key=lambda r: order[r.measure.name]), missing

    def counts(self) -> Counts:
        """What the submission consists of."""
        scores = next(iter(self._scores.values()), None)
        n_runs = len(scores.runs if scores is not None else self._items.runs if self._items else ())
        relevant = self.benchmark.relevant_ids if self._relevant is None else self._relevant
        sizes = zip(self._sizes, relevant, strict=False)
        return self.make_counts(
            n_runs,
            len(self.benchmark.query_ids) * n_runs,
            n_no_relevant=sum(not positions for positions in relevant),
            n_all_relevant=sum(0 < size == len(positions) for size, positions in sizes),
        )

    def answers(self) -> Inputs:
        """All answers, as measures see them."""
        assert self._inputs is not None
        return self._inputs

    def grammar_of(self, measure: Measure) -> str:
        """How citations are read."""
        return self.grammar.signature if self.is_strict else f"1,{measure.family}"

    def details(self) -> list[AnswerDetail]:
        """Answers of the first run."""
        return [] if self._inputs is None else answer_details(self._inputs)

    def warnings(self) -> list[str]:
        """What makes it doubtful that the submission answers this benchmark."""
        doubts = super().warnings()
        for source in (self._provided, self._mismatches):
            doubts += [] if source is None else source.warnings()
        return doubts
