"""Answers with the graph that was shown, the minimum knowledge set, and what was absent."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from citeforge.evaluator.measures.kalma.reference import (
    SENTENCES,
    has_na,
    read_brackets,
    without_brackets,
)
from citeforge.evaluator.statements.split import strict_statements
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.tools import Tools
from citeforge.package.items import by_query
from citeforge.schemas.benchmarks.kg import EMPTY, NAME, Key, Triple, from_row
from citeforge.schemas.citations.triples import TripleGrammar


@dataclass(frozen=True)
class ShownGraphs:
    """What one query is about, in one context set.

    Attributes:
        question: text of the question.
        triples: the shown graph.
        gold: minimum knowledge set, with the round of each.
        absent: triples that were removed from the graph.
        blank: relations that the published graphs show with an empty value: (QID, relation, value).
    """

    question: str
    triples: tuple[Triple, ...]
    gold: tuple[tuple[Key, int], ...]
    absent: tuple[Triple, ...]
    blank: tuple[Key, ...] = ()

    @cached_property
    def citable(self) -> frozenset[Key]:
        """What may be cited, as keys are compared: triples, and names of their centres."""
        names = {Key(t.qid, NAME, t.name) for t in self.triples}
        return frozenset(k.compared for k in {*names, *(t.key for t in self.triples)})

    @cached_property
    def verbatim(self) -> frozenset[Key]:
        """What KaLMA's code finds in its graphs, letter by letter: name and QID are two of their
        relations, and a relation may have an empty value."""
        names = {Key(t.qid, NAME, t.name) for t in self.triples}
        ids = {Key(t.qid, "qid", t.qid) for t in self.triples}
        return frozenset({*names, *ids, *self.blank, *(t.key for t in self.triples)})

    def shows(self, citation: Key) -> bool:
        """Whether a citation names something shown, a complete one."""
        return citation.complete and citation.compared in self.citable


@dataclass(frozen=True)
class ParsedAnswer:
    """One answer, read.

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
class KalmaInputs:
    """A submission, ready to be measured.

    Attributes:
        benchmark: what it answers.
        runs: one list a run; ``strict`` has one reading for every query.
        relations: relation names of the whole benchmark.
        tools: judge and segmenter, which ``reference`` does not use.
        n_failed: replies of the LLM that say nothing, and failures.
    """

    benchmark: Benchmark
    runs: list[list[ParsedAnswer]]
    relations: frozenset[str]
    tools: Tools = field(default_factory=Tools)
    n_failed: int = 0
    _claims: dict[tuple[int, str], list[TripleClaim]] = field(default_factory=dict)

    @property
    def protocol(self) -> str:
        """``strict`` or ``reference``."""
        return self.tools.options.protocol

    def claims(self, reading: ParsedAnswer) -> list[TripleClaim]:
        """Statements of an answer, cut once."""
        key = (reading.row, reading.output)
        if key not in self._claims:
            claims = _reference_claims if self.protocol == "reference" else _strict_claims
            self._claims[key] = claims(self, reading)
        return self._claims[key]

    @property
    def can_split(self) -> bool:
        """Whether answers can be cut into statements."""
        return self.protocol == "reference" or self.tools.segmenter is not None


def _strict_claims(inputs: KalmaInputs, reading: ParsedAnswer) -> list[TripleClaim]:
    """Statements with their citations: see docs/definitions.md#statements."""
    assert inputs.tools.segmenter is not None
    grammar = TripleGrammar(reading.shown.triples, inputs.relations)
    split = strict_statements(reading.output, grammar, inputs.tools.segmenter, 0)
    return [
        TripleClaim(
            statement.text,
            tuple(c for n in statement.numbers for c in grammar.brackets[n]),
            any(m.is_na for m in statement.markers),
        )
        for statement in split.statements
    ]


def _reference_claims(inputs: KalmaInputs, reading: ParsedAnswer) -> list[TripleClaim]:
    """Sentences as KaLMA's code sees them, each with the citations that it holds whole."""
    sentences = [reading.output[start:end] for start, end in SENTENCES.split(reading.output)]
    return [
        TripleClaim(without_brackets(text), read_brackets(text)[0], has_na(text))
        for text in sentences
    ]


def read_shown(benchmark: Benchmark, context: str) -> tuple[list[ShownGraphs], frozenset[str]]:
    """What each query shows in a context set, and all relation names of the set.

    Raises:
        InputError: the table is damaged.
    """
    queries = benchmark.queries_of(context)
    gold = by_query(benchmark.gold.to_pylist())
    absent = by_query(benchmark.absent(context).to_pylist())
    blank = [_blank(m) for m in queries["metadata"].to_pylist()]
    anywhere = {qid: keys for mine in blank for qid, keys in mine.items()}
    table = benchmark.context_table(context)
    graphs = []
    for question, query, mine, rows in zip(
        queries["text"].to_pylist(),
        table["query_id"].to_pylist(),
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
        gone = tuple(from_row(r) for r in absent.get(query, []) if r["why"] == "gold")
        graphs.append(ShownGraphs(question, triples, right, gone, empty))
    return graphs, frozenset(t.relation for s in graphs for t in s.triples)


def _blank(metadata: str | None) -> dict[str, tuple[Key, ...]]:
    """Relations without a value that the graphs of a query show, by QID of its graphs."""
    content = json.loads(metadata or "{}")
    empty = content.get(EMPTY) or {}
    return {
        qid: tuple(Key(qid, relation, value) for relation, value in empty.get(qid, {}).items())
        for qid in content.get("entities") or ()
    }


def read_answer(
    row: int, graphs: ShownGraphs, output: str, relations: Iterable[str]
) -> ParsedAnswer:
    """Citations and marks of one answer."""
    grammar = TripleGrammar(graphs.triples, relations)
    parsed = grammar.parse(output)
    cited = tuple(c for bracket in grammar.brackets for c in bracket)
    n_na = sum(m.is_na for m in parsed.markers)
    return ParsedAnswer(row, graphs, output, cited, n_na, len(parsed.unparsed))


def read_reference(
    row: int, graphs: ShownGraphs, output: str, relations: Iterable[str] = ()
) -> ParsedAnswer:
    """The same as KaLMA's own code reads it."""
    return ParsedAnswer(row, graphs, output, *read_brackets(output), 0)
