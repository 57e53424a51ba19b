"""A finished package as the start of another one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.exclusions import short_answers
from citeforge.builders.read import texts_of
from citeforge.builders.verify import load_intact
from citeforge.engines.tables import TableWriter, iter_batches, read_table, shard_paths
from citeforge.schemas.errors import InputError, UnknownValueError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.tables import (
    CONTEXTS,
    CORPUS,
    GOLD,
    IRRELEVANT,
    LABELS,
    MAPPING,
    QUERIES,
    RELEVANT,
    SEEMINGLY_RELEVANT,
    TWINS,
)

Docs = list[dict[str, str]]
"""An ordered context: ``corpus-id`` and ``label`` of each passage."""


@dataclass(frozen=True)
class Base:
    """A package whose passages another benchmark is made of.

    Attributes:
        folder: where it is.
        manifest: its manifest, checked.
    """

    folder: Path
    manifest: Manifest

    @staticmethod
    def open(folder: Path) -> Base:
        """Open a package of passages.

        Raises:
            InputError: not a package, damaged, or one whose contexts hold no passages.
        """
        manifest = load_intact(folder)
        if not shard_paths(folder / "corpus", "corpus"):
            raise InputError(
                f"is a {manifest.kind} benchmark, whose contexts hold no passages",
                path=folder,
                allowed="a benchmark built by build rage, hagrid, alce or twins",
            )
        return Base(folder, manifest)

    @cached_property
    def queries(self) -> pa.Table:
        """Schema QUERIES."""
        return read_table(shard_paths(self.folder / "queries", "queries"), QUERIES)

    @cached_property
    def query_ids(self) -> list[str]:
        """In the order of the benchmark."""
        ids: list[str] = self.queries["_id"].to_pylist()
        return ids

    @cached_property
    def mappings(self) -> dict[str, pa.Table]:
        """Label to table (schema MAPPING)."""
        return {n: read_table(shard_paths(self.folder / "mapping", n), MAPPING) for n in LABELS}

    @cached_property
    def gold(self) -> pa.Table:
        """Schema GOLD."""
        return read_table(shard_paths(self.folder / "gold", "gold"), GOLD)

    def context(self, name: str) -> dict[str, Docs]:
        """Ordered passages of each query.

        Raises:
            UnknownValueError: no such context set.
        """
        if name not in self.manifest.contexts:
            raise UnknownValueError("context", name, self.manifest.contexts)
        table = read_table(shard_paths(self.folder / "contexts", name), CONTEXTS)
        return dict(zip(table["query_id"].to_pylist(), table["docs"].to_pylist(), strict=True))

    @cached_property
    def relevant(self) -> dict[str, list[str]]:
        """Passages judged relevant to each query."""
        return self._by_query(RELEVANT)

    @cached_property
    def negatives(self) -> dict[str, Docs]:
        """Non-relevant passages of each query: seemingly relevant ones by rank, then the others."""
        found: dict[str, Docs] = {q: [] for q in self.query_ids}
        for label in (SEEMINGLY_RELEVANT, IRRELEVANT):
            for query, ids in self._by_query(label).items():
                found[query] += [{"corpus-id": i, "label": label} for i in ids]
        return found

    def _by_query(self, label: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {q: [] for q in self.query_ids}
        table = self.mappings[label]
        pairs = zip(table["query-id"].to_pylist(), table["corpus-id"].to_pylist(), strict=True)
        for query, passage in pairs:
            if passage not in self.twin_ids:
                found[query].append(passage)
        return found

    @cached_property
    def twins(self) -> pa.Table:
        """Schema TWINS; no rows where the package has none."""
        return read_table(shard_paths(self.folder / "twins", "twins"), TWINS)

    @cached_property
    def twin_ids(self) -> frozenset[str]:
        """Passages that are rewrites of others; judgements are about the others."""
        return frozenset(i for i in self.twins["twin_id"].to_pylist() if i)

    @cached_property
    def answers(self) -> dict[str, list[str]]:
        """Gold short answers of each query; empty lists where there are none."""
        found = short_answers(self.queries, self.mappings[RELEVANT], self.gold)
        return dict(zip(self.query_ids, found, strict=True))

    def texts(self, wanted: Iterable[str]) -> dict[str, tuple[str, str]]:
        """(title, text) of passages, streamed from the corpus."""
        return texts_of(shard_paths(self.folder / "corpus", "corpus"), wanted)

    def only(self, table: pa.Table, column: str, kept: Iterable[str]) -> pa.Table:
        """Rows of the kept queries."""
        return table.filter(pc.is_in(table[column], value_set=pa.array(list(kept), pa.string())))

    def write_corpus(
        self, folder: Path, wanted: Iterable[str], extra: pa.Table | None = None
    ) -> tuple[dict[str, str], set[str]]:
        """Write the wanted passages in the order of the corpus, then ``extra`` (schema CORPUS).

        Returns:
            (shards with sha256, ids that the corpus has).
        """
        ids = pa.array(sorted(set(wanted)), pa.string())
        seen: set[str] = set()
        with TableWriter(folder, "corpus", CORPUS) as writer:
            for batch in iter_batches(shard_paths(self.folder / "corpus", "corpus")):
                here = batch.filter(pc.is_in(batch["_id"], value_set=ids))
                seen.update(here["_id"].to_pylist())
                writer.write(here.cast(CORPUS))
            if extra is not None and extra.num_rows:
                writer.write(extra.cast(CORPUS))
        return writer.files, seen
