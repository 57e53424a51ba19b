"""A finished package as the start of another one."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.rage.exclusions import short_answers
from citeforge.engines.io.tables import TableWriter, iter_batches
from citeforge.package.items import pairs
from citeforge.package.package import Package
from citeforge.schemas.benchmarks.manifest import Manifest
from citeforge.schemas.benchmarks.tables import CORPUS, IRRELEVANT, RELEVANT, SEEMINGLY_RELEVANT
from citeforge.schemas.errors import InputError

Docs = list[dict[str, str]]
"""An ordered context: ``corpus-id`` and ``label`` of each passage."""


class Base(Package):
    """A package whose passages another benchmark is made of."""

    def __init__(self, folder: Path, manifest: Manifest | None = None) -> None:
        """Open a package of passages.

        Raises:
            InputError: not a package, damaged, or one whose contexts hold no passages.
        """
        super().__init__(folder, manifest)
        if not self.corpus:
            raise InputError(
                f"is a {self.manifest.kind} benchmark, whose contexts hold no passages",
                path=folder,
                allowed="a benchmark built by build rage, hagrid, alce or twins",
            )

    def context(self, name: str) -> dict[str, Docs]:
        """Ordered passages of each query.

        Raises:
            UnknownValueError: no such context set.
        """
        return dict(pairs(*self.context_table(name).columns))

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
        for query, passage in pairs(table["query-id"], table["corpus-id"]):
            if passage not in self.twin_ids:
                found[query].append(passage)
        return found

    @cached_property
    def twin_ids(self) -> frozenset[str]:
        """Passages that are rewrites of others; judgements are about the others."""
        return frozenset(i for i in self.twins["twin_id"].to_pylist() if i)

    @cached_property
    def answers(self) -> dict[str, list[str]]:
        """Gold short answers of each query; empty lists where there are none."""
        found = short_answers(self.queries, self.mappings[RELEVANT], self.gold)
        return dict(zip(self.query_ids, found, strict=True))

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
            for batch in iter_batches(self.corpus):
                here = batch.filter(pc.is_in(batch["_id"], value_set=ids))
                seen.update(here["_id"].to_pylist())
                writer.write(here.cast(CORPUS))
            if extra is not None and extra.num_rows:
                writer.write(extra.cast(CORPUS))
        return writer.files, seen
