"""What ``check`` finds in one answer: marks of passages, or citations of triples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from citeforge.evaluator.measures.kalma.inputs import (
    OWN_PASSAGES,
    ShownGraphs,
    read_answer,
    read_shown,
)
from citeforge.evaluator.statements.url_warnings import report_markup, report_warnings
from citeforge.evaluator.submissions.benchmark import Benchmark, ContextTable
from citeforge.evaluator.submissions.origin import CitationRange
from citeforge.evaluator.submissions.spans import span_warnings
from citeforge.schemas.submission import SubmissionLine


class AnswerCheck(Protocol):
    """Looks at the answers of a submission, one after the other."""

    @property
    def reach(self) -> CitationRange:
        """How far the citations seen so far go."""
        ...

    def refused(self, answer: SubmissionLine) -> str | None:
        """Why an answer cannot be scored, or None."""
        ...

    def warnings(self, answer: SubmissionLine, context: str, row: int) -> Iterator[str]:
        """What is odd about the citations of an answer.

        Args:
            answer: not refused.
            context: context set that it answers to.
            row: row of its query.
        """
        ...


class Marks:
    """Answers that cite passages by number."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.reach = CitationRange()
        self._benchmark = benchmark
        self._tables: dict[str, ContextTable] = {}
        self._passages: dict[str, list[list[str]]] = {}

    def refused(self, answer: SubmissionLine) -> str | None:
        """None: answers may bring passages of their own."""
        return None

    def warnings(self, answer: SubmissionLine, context: str, row: int) -> Iterator[str]:
        """Marks that are not read as citations, and numbers beyond the context."""
        report = report_markup(answer)
        if report is not None:
            yield from report_warnings(answer, report)
            return
        shown = len(answer.passages) if answer.passages is not None else self._size(context, row)
        output, grammar = answer.output, self._benchmark.grammar
        parsed = grammar.parse(output, shown)
        for start, end in parsed.unparsed:
            yield f"output: {output[start:end]!r} is not read as a citation"
        first, last = grammar.base, grammar.base + shown - 1
        cited = {n for m in parsed.markers for n in m.numbers}
        beyond = sorted(n for n in cited if not first <= n <= last)
        if answer.passages is None:
            inside = {n - grammar.base + 1 for n in cited.difference(beyond)}
            self.reach.add(inside, len(beyond), shown)
        if beyond:
            numbers = ", ".join(map(str, beyond[:5]))
            yield f"output: cites {numbers}; the context has {first} to {last}"
        if answer.spans:
            yield from span_warnings(answer, self._texts(answer, context, row), grammar.base)

    def _texts(self, answer: SubmissionLine, context: str, row: int) -> list[str]:
        """Texts of the passages shown, for answers that quote them."""
        if answer.passages is not None:
            return [p.text for p in answer.passages]
        if context not in self._passages:
            items = self._benchmark.items(context)
            self._passages[context] = [[p.text for p in item.passages] for item in items]
        return self._passages[context][row]

    def _size(self, context: str, row: int) -> int:
        if context not in self._tables:
            self._tables[context] = self._benchmark.context(context)
        return self._tables[context].sizes[row]


class Triples:
    """Answers that cite triples."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.reach = CitationRange()
        self._benchmark = benchmark
        self._shown: dict[str, tuple[list[ShownGraphs], frozenset[str]]] = {}

    def refused(self, answer: SubmissionLine) -> str | None:
        """Passages of its own cannot be cited."""
        return None if answer.passages is None else OWN_PASSAGES

    def warnings(self, answer: SubmissionLine, context: str, row: int) -> Iterator[str]:
        """Brackets that never close, citations that lack a part, triples that were not shown."""
        if context not in self._shown:
            self._shown[context] = read_shown(self._benchmark, context)
        graphs, relations = self._shown[context]
        shown = graphs[row]
        reading = read_answer(row, shown, answer.output, relations)
        if reading.n_unparsed:
            yield f"output: {reading.n_unparsed} brackets never close"
        complete = [c for c in reading.citations if c.complete]
        incomplete = len(reading.citations) - len(complete)
        if incomplete:
            yield f"output: {incomplete} citations lack a relation or a value"
        self.reach.add((), len({c.key.compared for c in complete} - shown.citable), 0)
        strange = [c for c in complete if not shown.shows(c)]
        if strange:
            c = strange[0]
            yield (
                f"output: cites {len(strange)} triples that were not shown "
                f"(first: {c.qid}, {c.relation}: {c.value})"
            )
