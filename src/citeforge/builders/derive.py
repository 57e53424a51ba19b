"""A finished package as the base of a derived benchmark."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.builders.package import PackageWriter, copy_corpus
from citeforge.engines.tables import rows_of, rows_with
from citeforge.package.package import Package, short_answers
from citeforge.schemas.errors import InputError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.tables import GOLD, IRRELEVANT, RELEVANT, SEEMINGLY_RELEVANT

Docs = list[dict[str, str]]
"""An ordered context: ``corpus-id`` and ``label`` of each passage."""


def mapped_negatives(negatives: Mapping[str, Docs]) -> list[tuple[str, str]]:
    """List (query id, passage id) of every negative.

    Args:
        negatives: query to its negatives.
    """
    return [(query, doc["corpus-id"]) for query, docs in negatives.items() for doc in docs]


class Base(Package):
    """A finished package whose passages a derived benchmark uses."""

    def __init__(self, folder: Path, manifest: Manifest | None = None) -> None:
        """Open a package to derive another from; its contexts must have passages, not triples.

        Raises:
            InputError: not a package, damaged, or one whose contexts hold no passages.
        """
        super().__init__(folder, manifest)
        if not self.corpus:
            raise InputError(
                f"is a {self.manifest.kind} benchmark, whose contexts have no passages",
                path=folder,
                allowed="a benchmark built by build rage, hagrid, alce or twins",
                code="wrong-kind",
            )

    def shown_passages(self, name: str) -> dict[str, Docs]:
        """Read a context set by its name: map each query to its passages in order.

        Raises:
            UnknownValueError: no such context set.
        """
        return dict(rows_of(self.context_table(name)))

    @cached_property
    def relevant(self) -> dict[str, list[str]]:
        """Ids of the passages judged relevant to each query."""
        return self._passages_by_query(RELEVANT)

    @cached_property
    def negatives(self) -> dict[str, Docs]:
        """Non-relevant passages of each query: seemingly relevant ones, then irrelevant ones."""
        docs_of: dict[str, Docs] = {q: [] for q in self.query_ids}
        for label in (SEEMINGLY_RELEVANT, IRRELEVANT):
            for query, ids in self._passages_by_query(label).items():
                docs_of[query] += [{"corpus-id": i, "label": label} for i in ids]
        return docs_of

    def _passages_by_query(self, label: str) -> dict[str, list[str]]:
        """List the ids of each query's passages with a relevance label, without LLM rewrites."""
        ids_of: dict[str, list[str]] = {q: [] for q in self.query_ids}
        table = self.mappings[label]
        for query, passage in rows_of(table, "query-id", "corpus-id"):
            if passage not in self.twin_ids:
                ids_of[query].append(passage)
        return ids_of

    @cached_property
    def twin_ids(self) -> frozenset[str]:
        """Ids of twins (LLM-written versions of passages)."""
        return frozenset(i for i in self.twins["twin_id"].to_pylist() if i)

    @cached_property
    def answers(self) -> dict[str, list[str]]:
        """Gold short answers of each query; empty lists if there are none."""
        answers = short_answers(self.queries, self.mappings[RELEVANT], self.gold)
        return dict(zip(self.query_ids, answers, strict=True))

    def facts(self) -> dict[str, Any]:
        """Describe this package for the ``config`` of a derived one: its hash, kind and recipe."""
        made_of = {"kind": self.manifest.kind, "config": self.manifest.config}
        return {"benchmark_hash": self.manifest.benchmark_hash, "made_of": made_of}

    def add_judged(
        self,
        writer: PackageWriter,
        queries: Iterable[str],
        mappings: Mapping[str, pa.Table],
        shown_ids: Iterable[str],
        extra_passages: pa.Table | None = None,
    ) -> None:
        """Write corpus, judgements (``mappings``), gold of a benchmark derived from this package.

        Args:
            writer: writer of its package.
            queries: its queries.
            mappings: its judgements by label, schema MAPPING.
            shown_ids: passages that its contexts show.
            extra_passages: passages that this benchmark lacks, schema CORPUS.
        """
        passages = {i for t in mappings.values() for i in t["corpus-id"].to_pylist()} | {*shown_ids}
        if extra_passages is not None:
            passages.difference_update(extra_passages["_id"].to_pylist())
        writer.add_shards(
            "corpus", "corpus", copy_corpus(writer.folder, self.corpus, passages, extra_passages)
        )
        for label, table in mappings.items():
            writer.add("mapping", label, table)
        writer.add("gold", "gold", rows_with(self.gold, "query_id", queries).cast(GOLD))
