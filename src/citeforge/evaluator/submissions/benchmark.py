"""A benchmark as the evaluator sees it: queries, their contexts, and which lines answer them."""

import json
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.tables import rows_of
from citeforge.package.package import Package
from citeforge.package.public_halves import read_public_halves
from citeforge.schemas.errors import InputError, UsageError, suggestion
from citeforge.schemas.manifest import SECRET
from citeforge.schemas.submission import SubmissionLine
from citeforge.schemas.tables import CONTEXTS, RELEVANT, UNJUDGED
from citeforge.schemas.text import printable

OWN = "own"
"""Context of lines that bring their passages."""
CLOSED_BOOK = "none"
"""Context of systems that were shown nothing."""
FULL = "full"
"""The set that is scored where a benchmark has one of that name and the lines name several."""
_OWN_PASSAGES = "a kalma benchmark shows triples, and answers can cite no passages"
"""Why a line with passages cannot be scored there."""
_HIDDEN_GOLD = (
    "brings passages of its own, and the gold of this benchmark is hidden: which of them the "
    "scores count as relevant would tell its labels; cite the passages shown, and leave this out"
)
MOST_RUNS = 1000
"""Every run answers all queries, so that each one costs memory for all of them."""
MOST_RUNS_HIDDEN = 5
"""The limit where gold is hidden: passages cited in many runs would reveal labels."""


def short_hash(value: object) -> str:
    """Shorten a hash, or a wrong value in place of one, to 16 printable characters."""
    return f"{ascii(str(value)[:16])[1:-1]}…"


@dataclass(frozen=True)
class ContextTable:
    """One context set in flat arrays; row i belongs to query i of the benchmark.

    Attributes:
        name: name of the set.
        offsets: row i shows passages ``offsets[i]:offsets[i + 1]`` of the flat arrays.
        passage_ids: ids of all shown passages.
        is_relevant: whether each shown passage is relevant to its query.
        is_labelled: whether any of them is known to be relevant or not.
    """

    name: str
    offsets: npt.NDArray[np.int64]
    passage_ids: pa.Array
    is_relevant: npt.NDArray[np.bool_]
    is_labelled: bool

    @cached_property
    def sizes(self) -> list[int]:
        """Number of passages shown for each query."""
        sizes: list[int] = np.diff(self.offsets).tolist()
        return sizes

    @cached_property
    def relevant(self) -> list[frozenset[int]]:
        """0-based positions of the relevant passages of each query."""
        rows = np.repeat(np.arange(len(self.sizes)), self.sizes)
        hits = np.flatnonzero(self.is_relevant)
        positions = hits - self.offsets[rows[hits]]
        by_row: list[list[int]] = [[] for _ in self.sizes]
        for row, position in zip(rows[hits].tolist(), positions.tolist(), strict=True):
            by_row[row].append(position)
        return [frozenset(f) for f in by_row]

    def ids_of(self, row: int) -> list[str]:
        """Get the ids of the passages shown for one query, in order."""
        start, end = int(self.offsets[row]), int(self.offsets[row + 1])
        ids: list[str] = self.passage_ids.slice(start, end - start).to_pylist()
        return ids


class Benchmark(Package):
    """A benchmark as the evaluator sees it.

    Attributes:
        also_known: hashes that submissions may name besides its own: that of the half without gold.
    """

    also_known: frozenset[str] = frozenset()

    @property
    def known_hashes(self) -> tuple[str, ...]:
        """Hashes that submissions may name: of this package, its public half, or the whole package.

        The half without labels shows the same contexts as the whole.
        """
        manifest = self.manifest
        halves = read_public_halves(self.folder) if SECRET in manifest.files else ()
        return (manifest.benchmark_hash, manifest.answer_hash, *self.also_known, *halves)

    def require_hash(self, named_hash: object, path: Path, line: int) -> None:
        """Raise an error if answers name the hash of another build of the benchmark; None is fine.

        Raises:
            InputError: the hash named is none of :attr:`known_hashes`.
        """
        if named_hash is not None and named_hash not in self.known_hashes:
            raise InputError(
                f"answers another build of this benchmark (hash {short_hash(named_hash)}, expected "
                f"{short_hash(self.manifest.answer_hash)})",
                path=path, line=line, field="benchmark_hash",
                allowed="answers to this build, or score them with the build that they name",
                code="wrong-benchmark",
            )  # fmt: skip

    @property
    def has_hidden_gold(self) -> bool:
        """Whether the labels of this benchmark are published nowhere."""
        manifest = self.manifest
        is_half = bool(self.also_known or manifest.config.get("hidden_gold"))
        return is_half or manifest.has_hidden_labels

    @property
    def is_public_half(self) -> bool:
        """Whether this is a published half without labels, opened without its gold half."""
        return bool(self.manifest.config.get("hidden_gold")) and not self.also_known

    @property
    def why_no_labels(self) -> str:
        """Reason, as text, why relevance of the passages shown is unknown."""
        if self.is_public_half:
            return "the labels of this benchmark are hidden; give its gold half with --gold"
        return "the benchmark has no relevance judgements"

    @property
    def data_set(self) -> str:
        """ALCE data set of the benchmark's source: ``asqa``, ``qampari``, ``eli5``; else empty."""
        source = next(iter(self.manifest.sources), None)
        return "" if source is None else source.rules.get("data set", "")

    @property
    def most_runs(self) -> int:
        """Largest number of runs that a submission may have."""
        return MOST_RUNS_HIDDEN if self.has_hidden_gold else MOST_RUNS

    def limited_to(self, queries: Iterable[str]) -> "Benchmark":
        """Copy the benchmark, limited to some of its queries."""
        part = Benchmark(self.folder, self.manifest)
        part.also_known = self.also_known
        part.query_subset = frozenset(queries)
        return part

    @cached_property
    def _by_normal_form(self) -> dict[str, str]:
        """Map from normalised query ids (Unicode, white space) to the ids as they are."""
        return {question_key(query).casefold(): query for query in self.query_ids}

    def unknown_query(self, query: str) -> str:
        """Write the error text for an unknown query id, with its look-alike or the first ids."""
        twin = self._by_normal_form.get(question_key(query).casefold())
        if twin is not None:
            return f"{printable(query)} is not in the benchmark{suggestion(query, [twin])}"
        if (subset := self.query_subset) is not None:
            among = f"or not among the {len(subset):,} of its queries that are scored"
            return f"{printable(query)} is not in the benchmark, {among}"
        first = ", ".join(map(printable, self.query_ids[:3]))
        more = ", …" if len(self.query_ids) > 3 else ""
        return f"{printable(query)} is not in the benchmark, whose queries are {first}{more}"

    def context(self, name: str) -> ContextTable:
        """Read a context set: the passages shown for each query, and which are relevant.

        Raises:
            UnknownValueError: no such set.
            InputError: its rows are not those of the queries.
        """
        if self.has_graphs and name in self.manifest.contexts:
            raise UsageError(
                f"{self.manifest.name} shows triples, not passages; use kalma measures",
                code="wrong-kind",
            )
        if self.kind.facts.tables["contexts"] != CONTEXTS:
            return self._context_of_items(name)
        table = self.context_table(name).combine_chunks()
        docs = table["docs"].combine_chunks()
        flat = docs.flatten()
        # Comparing and to_numpy import pandas, where it is installed: a third of a second.
        offsets = np.zeros(len(docs) + 1, np.int64)
        np.cumsum(np.from_dlpack(docs.value_lengths()), out=offsets[1:])
        labels = flat.field("label").dictionary_encode(null_encoding="encode")
        names = labels.dictionary.to_pylist()
        relevant = np.array([n == RELEVANT for n in names], np.bool_)[
            np.from_dlpack(labels.indices)
        ]
        is_labelled = any(n not in (UNJUDGED, None) for n in names)
        return ContextTable(name, offsets, flat.field("corpus-id"), relevant, is_labelled)

    def _context_of_items(self, name: str) -> ContextTable:
        """Build a context set from the benchmark's items, for kinds with tables of their own."""
        rows = [item.passages for item in self.items(name)]
        passages = [p for row in rows for p in row]
        return ContextTable(
            name,
            np.cumsum([0, *map(len, rows)]),
            pa.array([p.id for p in passages], pa.string()),
            np.array([p.is_relevant for p in passages], np.bool_),
            any(p.label not in (None, UNJUDGED) for p in passages),
        )

    @cached_property
    def clusters(self) -> npt.NDArray[np.int64] | None:
        """Cluster number of each query, by equal questions or shared entities; None if all differ.

        Queries of a cluster are no independent draws: HAGRID has several rows of some questions.
        Two queries are also in one cluster if others connect them.
        """
        queries = self.queries
        texts = [" ".join(t.split()).casefold() for t in queries["text"].to_pylist()]
        root: dict[str, str] = {}  # entities and texts, each with one that it goes with

        def find(name: str) -> str:
            """Find the representative of the cluster of a text or entity (union-find)."""
            while root.setdefault(name, name) != name:
                name = root[name]
            return name

        if self.kind.facts.shows == "triples":
            for text, metadata in zip(texts, queries["metadata"].to_pylist(), strict=True):
                for entity in json.loads(metadata or "{}").get("entities") or ():
                    root[find(entity)] = find(text)
        found = [find(text) for text in texts]
        numbers = {name: i for i, name in enumerate(dict.fromkeys(found))}
        if len(numbers) == len(texts):
            return None
        return np.array([numbers[name] for name in found])

    @cached_property
    def unanswerable(self) -> npt.NDArray[np.bool_]:
        """Mask of the queries that nothing in the benchmark answers."""
        mark, absent = self.kind.facts.unanswerable, set[str]()
        if mark is not None:
            rows = rows_of(self.table(mark.config, mark.split), "_id", mark.column)
            absent = {query for query, value in rows if value == mark.value}
        return np.array([query in absent for query in self.query_ids], np.bool_)

    @cached_property
    def relevant_ids(self) -> list[list[str]]:
        """Ids of each query's relevant passages, in the order of the source (HAGRID's quotes)."""
        ids: list[list[str]] = [[] for _ in self.query_ids]
        mapping = self.mappings[RELEVANT]
        for query, passage in rows_of(mapping, "query-id", "corpus-id"):
            ids[self.row_of[query]].append(passage)
        return ids

    @cached_property
    def short_answers(self) -> dict[tuple[str, str], list[str]]:
        """Short answers by (query, relevant passage), for pairs whose mapping lists them."""
        mapping = self.mappings[RELEVANT]
        labelled = mapping.filter(pc.is_valid(mapping["short_answers"]))
        rows = rows_of(labelled, "query-id", "corpus-id", "short_answers")
        return {(query, passage): json.loads(answers) for query, passage, answers in rows}


class LineIndex:
    """Index of a submission's lines by context set, run and query; refuses wrong ones."""

    def __init__(self, path: Path, benchmark: Benchmark) -> None:
        """Make an empty index from (context set, run, query) to the line that answers it."""
        self._path, self._benchmark = path, benchmark
        self._lines: defaultdict[tuple[str, int], array[int]] = defaultdict(
            lambda: array("Q", bytes(8 * len(benchmark.query_ids)))
        )
        self._runs: set[int] = set()

    @property
    def missing(self) -> dict[tuple[str, int], list[int]]:
        """Map each (context set, run) that has lines to the rows of the queries without a line."""
        return {
            context_and_run: [row for row, line in enumerate(lines) if not line]
            for context_and_run, lines in sorted(self._lines.items())
        }

    def row(self, line: int, answer: SubmissionLine, context: str) -> int:
        """Find the query row that a line answers; raise an error for invalid or duplicate answers.

        Raises:
            InputError: an unknown query, a negative run, a run too many, a second line for the
                same query, context and run, or passages of its own where the benchmark takes none.
        """
        if answer.passages is not None and self._benchmark.has_graphs:
            self._refuse(line, "passages", _OWN_PASSAGES, "wrong-kind")
        if answer.passages is not None and self._benchmark.has_hidden_gold:
            self._refuse(line, "passages", _HIDDEN_GOLD, "hidden-gold")
        row = self._benchmark.row_of.get(answer.query_id)
        if row is None:
            unknown = self._benchmark.unknown_query(answer.query_id)
            self._refuse(line, "query_id", unknown, "unknown-query")
        if answer.run < 0:
            self._refuse(line, "run", f"{answer.run} is negative", "out-of-range")
        if answer.run not in self._runs:
            if len(self._runs) == self._benchmark.most_runs:
                self._refuse(
                    line,
                    "run",
                    f"more than {len(self._runs):,} runs; `run` numbers the repetitions of the "
                    "whole benchmark, not its lines",
                    "too-large",
                )
            self._runs.add(answer.run)
        lines = self._lines[context, answer.run]
        if lines[row]:
            where = f"context {context}, run {answer.run}; first at line {lines[row] - 1}"
            self._refuse(
                line,
                "query_id",
                f"duplicate answer to {printable(answer.query_id)} ({where})",
                "duplicate-id",
            )
        lines[row] = line + 1  # 0 stands for none
        return row

    def is_about(self, line_number: int, answer: SubmissionLine, context: str) -> bool:
        """Whether an answer is to a context set; answers to other sets are checked as duplicates.

        So ``check`` and ``score`` have one verdict on a file.

        Raises:
            InputError: it names a set that the benchmark does not have, or :meth:`row` of its own
                set raises.
        """
        if answer.passages is not None and (context != CLOSED_BOOK or answer.context is not None):
            is_refused = self._benchmark.has_graphs or self._benchmark.has_hidden_gold  # by `row`
            return context == OWN or is_refused
        if answer.context is None or answer.context == context:
            return True
        is_closed_book = answer.context == CLOSED_BOOK and not self._benchmark.has_graphs
        if answer.context not in self._benchmark.manifest.contexts and not is_closed_book:
            sets = ", ".join(self._benchmark.manifest.contexts)
            self._refuse(
                line_number,
                "context",
                f"{printable(answer.context)} is unknown; one of {sets}",
                "unknown-context",
            )
        self.row(line_number, answer, answer.context)
        return False

    def _refuse(self, line: int, field: str, message: str, code: str) -> NoReturn:
        """Raise an InputError that names a line and the field at fault."""
        raise InputError(
            message, path=self._path, line=line, field=field, allowed="see: citeforge check",
            code=code,
        )  # fmt: skip


def question_key(text: str) -> str:
    """Normalise a question or an id for comparison: NFC, white space squeezed, no outer quotes."""
    return " ".join(unicodedata.normalize("NFC", text).split()).strip('"')
