"""Answers with the graph that was shown, the minimum knowledge set, and what was absent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from citeforge.engines.segment import Segmenter
from citeforge.engines.tables import read_table, shard_paths
from citeforge.evaluator.benchmark import Benchmark
from citeforge.evaluator.statements import Statement, split_statements
from citeforge.evaluator.submission import Places
from citeforge.schemas.errors import InputError
from citeforge.schemas.kg import (
    KG_ABSENT,
    KG_CONTEXTS,
    KG_GOLD,
    Key,
    Triple,
    from_row,
    question_form,
)
from citeforge.schemas.submission import SubmissionLine
from citeforge.schemas.tables import QUERIES
from citeforge.schemas.triples import TripleCitation, TripleGrammar


@dataclass(frozen=True)
class Shown:
    """What one query is about, in one context set.

    Attributes:
        question: text of the question.
        triples: the shown graph.
        gold: minimum knowledge set, with the round of each.
        absent: triples that were removed from the graph.
    """

    question: str
    triples: tuple[Triple, ...]
    gold: tuple[tuple[Key, int], ...]
    absent: tuple[Triple, ...]

    @cached_property
    def keys(self) -> frozenset[Key]:
        """What may be cited."""
        return frozenset(t.key for t in self.triples)


@dataclass(frozen=True)
class Reading:
    """One answer, read.

    Attributes:
        row: row of its query.
        shown: what it was shown.
        output: what the system wrote.
        brackets: citations, bracket by bracket.
        n_na: number of [NA] marks.
        n_unparsed: brackets that begin like a citation and cannot be read.
        is_missing: whether the submission has no such line.
    """

    row: int
    shown: Shown
    output: str
    brackets: tuple[tuple[TripleCitation, ...], ...]
    n_na: int
    n_unparsed: int
    is_missing: bool = False

    @property
    def citations(self) -> list[TripleCitation]:
        """All citations in order."""
        return [c for bracket in self.brackets for c in bracket]


@dataclass(frozen=True)
class Claim:
    """A statement with the triples that it cites.

    Attributes:
        text: without citations.
        citations: in order.
        is_na: whether it carries an [NA].
    """

    text: str
    citations: tuple[TripleCitation, ...]
    is_na: bool


@dataclass
class KalmaInputs:
    """A submission, ready to be measured.

    Attributes:
        benchmark: what it answers.
        protocol: ``strict`` or ``reference``.
        runs: one list a run; ``strict`` has one reading for every query.
        segmenter: splits sentences; None when no measure needs it.
        relations: relation names of the whole benchmark.
        n_truncated: answers that were cut at the token limit.
    """

    benchmark: Benchmark
    protocol: str
    runs: list[list[Reading]]
    segmenter: Segmenter | None
    relations: frozenset[str]
    n_truncated: int = 0
    _claims: dict[tuple[int, str], list[Claim]] = field(default_factory=dict)

    def claims(self, reading: Reading) -> list[Claim]:
        """Statements of an answer, cut once."""
        known = (reading.row, reading.output)
        if known not in self._claims:
            assert self.segmenter is not None
            self._claims[known] = read_claims(reading, self.segmenter, self.relations)
        return self._claims[known]


def read_claims(
    reading: Reading, segmenter: Segmenter, relations: Iterable[str] = ()
) -> list[Claim]:
    """Statements with their citations: markers are cut out first, as elsewhere (METRICS 0)."""
    grammar = TripleGrammar(reading.shown.triples, relations)
    found = split_statements(reading.output, grammar, segmenter, 0)
    brackets = grammar.brackets

    def claim(statement: Statement) -> Claim:
        cited = [c for n in statement.numbers for c in brackets[n]]
        return Claim(statement.text, tuple(cited), any(m.is_na for m in statement.markers))

    return [claim(s) for s in found.statements]


def read_shown(benchmark: Benchmark, context: str) -> tuple[list[Shown], frozenset[str]]:
    """What each query shows in a context set, and all relation names of the set.

    Raises:
        InputError: the table is damaged.
    """
    folder = benchmark.folder
    queries = read_table(shard_paths(folder / "queries", question_form(context)), QUERIES)
    questions = queries["text"].to_pylist()
    gold: dict[str, list[tuple[Key, int]]] = {q: [] for q in benchmark.query_ids}
    for row in read_table(shard_paths(folder / "gold", "gold"), KG_GOLD).to_pylist():
        gold[row["query_id"]].append((from_row(row).key, row["round"]))
    absent: dict[str, list[Triple]] = {q: [] for q in benchmark.query_ids}
    for row in read_table(shard_paths(folder / "absent", context), KG_ABSENT).to_pylist():
        if row["why"] == "gold":
            absent[row["query_id"]].append(from_row(row))
    table = read_table(shard_paths(folder / "contexts", context), KG_CONTEXTS)
    shown = [
        Shown(
            question,
            tuple(from_row(t) for t in triples),
            tuple(dict.fromkeys(gold[query])),
            tuple(absent[query]),
        )
        for question, query, triples in zip(
            questions, table["query_id"].to_pylist(), table["triples"].to_pylist(), strict=True
        )
    ]
    return shown, frozenset(t.relation for s in shown for t in s.triples)


def read_kalma(
    path: Path,
    answers: Iterable[tuple[int, SubmissionLine]],
    benchmark: Benchmark,
    context: str,
    protocol: str,
    segmenter: Segmenter | None,
) -> KalmaInputs:
    """Read a submission for one context set.

    Raises:
        InputError: an unreadable line, or an unknown or duplicate key.
    """
    shown, relations = read_shown(benchmark, context)
    runs: dict[int, dict[int, Reading]] = {}
    places = Places(path, benchmark)
    for line, answer in answers:
        if not places.is_of(line, answer, context):
            continue
        row = places.row(line, answer, context)
        reading = read_answer(row, shown[row], answer.output, relations)
        runs.setdefault(answer.run, {})[row] = reading
    if not runs:
        raise InputError("holds no answer to this context set", path=path, allowed=context)
    ordered = []
    for number in sorted(runs):
        mine = runs[number]
        if protocol == "strict":
            mine = {
                row: mine.get(row) or Reading(row, s, "", (), 0, 0, is_missing=True)
                for row, s in enumerate(shown)
            }
        ordered.append(list(mine.values()))
    return KalmaInputs(benchmark, protocol, ordered, segmenter, relations, places.n_truncated)


def read_answer(row: int, shown: Shown, output: str, relations: Iterable[str]) -> Reading:
    """Citations and marks of one answer."""
    grammar = TripleGrammar(shown.triples, relations)
    parsed = grammar.parse(output)
    return Reading(
        row,
        shown,
        output,
        tuple(tuple(b) for b in grammar.brackets),
        sum(m.is_na for m in parsed.markers),
        len(parsed.unparsed),
    )
