"""Answers that cite triples: what they were shown, their citations and their statements."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from citeforge.engines.text.segment import Segmenter
from citeforge.evaluator.statements.kalma import NA, SENTENCES, read_brackets, without_brackets
from citeforge.evaluator.statements.split import split_statements
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import by_query
from citeforge.schemas.citations.triples import TripleGrammar
from citeforge.schemas.kg import EMPTY, NAME, Key, Triple, from_row, read_answers
from citeforge.schemas.text import printable


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
        answers: shown triples outside the gold that answer a general question, normalised for
            comparison.
    """

    question: str
    triples: tuple[Triple, ...]
    gold: tuple[tuple[Key, int], ...]
    absent: tuple[Triple, ...]
    blank: tuple[Key, ...] = ()
    equivalents: tuple[frozenset[Key], ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    answers: frozenset[Key] = frozenset()

    @cached_property
    def facts(self) -> tuple[frozenset[Key], ...]:
        """Gold facts, each as the keys of all triples that state it, normalised for comparison.

        Facts that share a triple are one fact.
        """
        facts: list[frozenset[Key]] = []
        for keys in (*self.equivalents, *(frozenset([key]) for key, _ in self.gold)):
            fact = frozenset(key.compared for key in keys)
            meeting = [other for other in facts if other & fact]
            facts = [other for other in facts if not other & fact]
            facts.append(fact.union(*meeting))
        return tuple(facts)

    @cached_property
    def premises(self) -> frozenset[Key]:
        """Keys of shown non-gold triples that the question itself states, normalised.

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
        n_unparsed: brackets that begin like a citation and cannot be read, and those without an id.
        is_missing: whether the submission has no such line.
        malformed: brackets with a shown relation and value that are no citations.
    """

    row: int
    shown: ShownGraphs
    output: str
    citations: tuple[Key, ...]
    n_na: int
    n_unparsed: int
    is_missing: bool = False
    malformed: tuple[str, ...] = ()


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


def read_shown(benchmark: Benchmark, context: str) -> tuple[list[ShownGraphs], frozenset[str]]:
    """Read (graph shown with each query, names of all relations) of a context set.

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
        more = frozenset(key.compared for key in read_answers(about))
        graphs.append(ShownGraphs(question, triples, right, gone, empty, same, names, more))
    return graphs, frozenset(t.relation for s in graphs for t in s.triples)


def _read_blanks(metadata: Mapping[str, Any]) -> dict[str, tuple[Key, ...]]:
    """Map each entity (QID) of a query to its relations that have no value in the graph."""
    empty = metadata.get(EMPTY) or {}
    return {
        qid: tuple(Key(qid, relation, value) for relation, value in empty.get(qid, {}).items())
        for qid in metadata.get("entities") or ()
    }


def read_answer(
    row: int, graphs: ShownGraphs, output: str, relations: Iterable[str]
) -> ParsedAnswer:
    """Parse the cited triples and [NA] marks of one answer by citeforge's grammar.

    Args:
        row: row of its query in the benchmark.
        graphs: graphs that it was shown.
        output: what the system wrote.
        relations: names of all relations of the benchmark.
    """
    grammar = TripleGrammar(graphs.triples, relations)
    parsed = grammar.parse(output)
    cited = tuple(c for bracket in grammar.brackets for c in bracket)
    n_na = sum(m.is_na for m in parsed.markers)
    n_open, malformed = len(parsed.unparsed), tuple(grammar.malformed)
    return ParsedAnswer(row, graphs, output, cited, n_na, n_open, malformed=malformed)


def describe_malformed_brackets(brackets: Sequence[str]) -> str:
    """Describe brackets that hold a shown relation and value and cite none; quote the first."""
    verb = "bracket holds" if len(brackets) == 1 else "brackets hold"
    return (
        f"{len(brackets):,} {verb} a shown relation and value in another form, so nothing is "
        f"cited (first: {printable(brackets[0][:80])}); a citation is [QID, relation: value]"
    )


def read_reference(
    row: int, graphs: ShownGraphs, output: str, relations: Iterable[str] = ()
) -> ParsedAnswer:
    """Parse the cited triples and [NA] marks of one answer as KaLMA's own code does."""
    return ParsedAnswer(row, graphs, output, *read_brackets(output), 0)


def strict_claims(
    answer: ParsedAnswer, relations: Iterable[str], segmenter: Segmenter
) -> list[TripleClaim]:
    """Split an answer into its sentences, each with the triples that it cites (``strict``).

    Args:
        answer: the answer, and the graphs that it was shown.
        relations: names of all relations of the benchmark.
        segmenter: splits text into sentences.
    """
    grammar = TripleGrammar(answer.shown.triples, relations)
    split = split_statements(answer.output, grammar, segmenter, 0)
    return [
        TripleClaim(
            statement.text,
            tuple(c for n in statement.numbers for c in grammar.brackets[n]),
            any(m.is_na for m in statement.markers),
        )
        for statement in split.statements
    ]


def reference_claims(answer: ParsedAnswer) -> list[TripleClaim]:
    """Split an answer into sentences as KaLMA's code does, with the citations inside each."""
    sentences = [answer.output[start:end] for start, end in SENTENCES.split(answer.output)]
    return [
        TripleClaim(without_brackets(text), read_brackets(text)[0], NA in text)
        for text in sentences
    ]
