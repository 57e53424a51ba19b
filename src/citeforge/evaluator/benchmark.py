"""A benchmark as the evaluator sees it: queries, and the context of each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.read import texts_of
from citeforge.builders.verify import load_intact
from citeforge.engines.tables import read_table, shard_paths
from citeforge.schemas.errors import InputError, UnknownValueError, UsageError
from citeforge.schemas.grammar import Grammar
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.tables import CONTEXTS, MAPPING, QUERIES, RELEVANT


@dataclass(frozen=True)
class ContextTable:
    """One context set in flat arrays; row i belongs to query i of the benchmark.

    Attributes:
        name: name of the set.
        offsets: row i shows passages ``offsets[i]:offsets[i + 1]`` of the flat arrays.
        passage_ids: ids of all shown passages.
        is_relevant: whether each shown passage is relevant to its query.
    """

    name: str
    offsets: npt.NDArray[np.int64]
    passage_ids: pa.Array
    is_relevant: npt.NDArray[np.bool_]

    @cached_property
    def sizes(self) -> list[int]:
        """Passages shown for each query."""
        sizes: list[int] = np.diff(self.offsets).tolist()
        return sizes

    @cached_property
    def relevant(self) -> list[frozenset[int]]:
        """0-based positions of the relevant passages of each query."""
        rows = np.repeat(np.arange(len(self.sizes)), self.sizes)
        hits = np.flatnonzero(self.is_relevant)
        positions = hits - self.offsets[rows[hits]]
        found: list[list[int]] = [[] for _ in self.sizes]
        for row, position in zip(rows[hits].tolist(), positions.tolist(), strict=True):
            found[row].append(position)
        return [frozenset(f) for f in found]

    def ids_of(self, row: int) -> list[str]:
        """Ids of the passages shown for one query, in order."""
        start, end = int(self.offsets[row]), int(self.offsets[row + 1])
        ids: list[str] = self.passage_ids.slice(start, end - start).to_pylist()
        return ids


class Benchmark:
    """A package whose files were checked against its manifest.

    Attributes:
        folder: where it is.
        manifest: its manifest.
        query_ids: queries in order.
        also_known: hashes that submissions may name besides its own: that of the half without gold.
    """

    also_known: frozenset[str] = frozenset()

    def __init__(self, folder: Path) -> None:
        """Open a package.

        Raises:
            InputError: not a package, or a file differs from its recorded sha256.
        """
        self.folder = folder
        self.manifest: Manifest = load_intact(folder)
        split = "specific" if self.manifest.kind == "kalma" else "queries"
        self.queries = read_table(shard_paths(folder / "queries", split), QUERIES)
        self.query_ids: list[str] = self.queries["_id"].to_pylist()

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Row of each query id."""
        return {name: row for row, name in enumerate(self.query_ids)}

    @property
    def grammar(self) -> Grammar:
        """The citation grammar that the prompts of this benchmark asked for."""
        return Grammar(self.manifest.grammar.base)

    @property
    def label(self) -> str:
        """``name@`` and the first 8 digits of the hash, as in signatures."""
        return f"{self.manifest.name}@{self.manifest.benchmark_hash[:8]}"

    def context(self, name: str) -> ContextTable:
        """Read one context set.

        Raises:
            UnknownValueError: no such set.
            InputError: its rows are not those of the queries.
        """
        if name not in self.manifest.contexts:
            raise UnknownValueError("context", name, self.manifest.contexts)
        if self.manifest.kind == "kalma":
            raise UsageError("the contexts of a kalma benchmark hold triples; use kalma measures")
        table = read_table(shard_paths(self.folder / "contexts", name), CONTEXTS).combine_chunks()
        if not pc.all(pc.equal(table["query_id"], self.queries["_id"])).as_py():
            raise InputError("does not have the queries of the benchmark", path=name)
        docs = table["docs"].combine_chunks()
        flat = docs.flatten()
        offsets = np.zeros(len(docs) + 1, np.int64)
        np.cumsum(docs.value_lengths().to_numpy(), out=offsets[1:])
        relevant = pc.equal(flat.field("label"), RELEVANT).to_numpy(zero_copy_only=False)
        return ContextTable(name, offsets, flat.field("corpus-id"), relevant)

    @cached_property
    def relevant_ids(self) -> list[list[str]]:
        """Relevant passages of each query, in the order of the source (HAGRID's quotes)."""
        mapping = read_table(shard_paths(self.folder / "mapping", RELEVANT), MAPPING)
        found: list[list[str]] = [[] for _ in self.query_ids]
        for query, passage in zip(
            mapping["query-id"].to_pylist(), mapping["corpus-id"].to_pylist(), strict=True
        ):
            found[self.row_of[query]].append(passage)
        return found

    def texts(self, wanted: Iterable[str]) -> dict[str, tuple[str, str]]:
        """(title, text) of passages by id; for formats that give ids alone."""
        return texts_of(shard_paths(self.folder / "corpus", "corpus"), wanted)

    @cached_property
    def short_answers(self) -> dict[tuple[str, str], list[str]]:
        """Short answers of (query, relevant passage) pairs that have a list of them."""
        mapping = read_table(shard_paths(self.folder / "mapping", RELEVANT), MAPPING)
        known = mapping.filter(pc.is_valid(mapping["short_answers"]))
        return {
            (query, passage): json.loads(answers)
            for query, passage, answers in zip(
                known["query-id"].to_pylist(),
                known["corpus-id"].to_pylist(),
                known["short_answers"].to_pylist(),
                strict=True,
            )
        }
