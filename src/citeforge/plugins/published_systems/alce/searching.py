"""Passages of a query that a system may search: its candidates, and which of them it was shown."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from citeforge.engines.embedding.embedder import Embedder
from citeforge.engines.io.tables import write_table
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.engines.retrieval.dense import DenseCorpus
from citeforge.engines.retrieval.records import Retriever
from citeforge.package.items import Item, Passage
from citeforge.schemas.benchmarks.tables import CORPUS
from citeforge.systems.llm.system import Setting


class DensePassages(DenseCorpus):
    """Search by vectors of a few passages in memory, which are kept as long as the object."""

    def __init__(self, ids: Sequence[str], texts: Sequence[str], embedder: Embedder) -> None:
        """Embed passages.

        Args:
            ids: of the passages.
            texts: what the embedder reads, one a passage.
            embedder: turns them, and queries, into vectors.
        """
        self._scratch = tempfile.TemporaryDirectory(prefix="citeforge-")
        folder = Path(self._scratch.name)
        rows = [
            {"_id": name, "title": "", "text": text, "metadata": None}
            for name, text in zip(ids, texts, strict=True)
        ]
        write_table(folder, "corpus", pa.Table.from_pylist(rows, schema=CORPUS))
        super().__init__(sorted(folder.glob("*.parquet")), embedder, folder / "vectors")


@dataclass
class Shelf:
    """The candidates of one query.

    Attributes:
        passages: by their ids.
        shown: those that a search has brought, in the order of their first showing; citations
            count them.
    """

    passages: dict[str, Passage]
    retriever: Retriever
    shown: list[Passage] = field(default_factory=list)

    def search(self, words: str) -> int | None:
        """Place among ``shown`` of the passage that fits best; None where none does."""
        ranking = self.retriever.rank({"": words}, 1)[""]
        if not ranking:
            return None
        best = self.passages[ranking[0].docid]
        if best not in self.shown:
            self.shown.append(best)
        return self.shown.index(best)


class CandidatePool:
    """Candidates of every query: those that the package names, else the best of its corpus."""

    def __init__(
        self, setting: Setting[Any], depth: int, how: Literal["bm25", "dense"], embedder: str
    ) -> None:
        """Prepare; the corpus is indexed only where the package names no candidates.

        Args:
            setting: of the system.
            depth: candidates a query.
            how: what a search among them ranks by.
            embedder: for ``dense``.
        """
        self._benchmark, self._depth, self._how = setting.benchmark, depth, how
        self._embedder_name = embedder
        self._embedder: Embedder | None = None
        self._ids_of = self._candidates(setting)
        self._texts = self._benchmark.texts({i for ids in self._ids_of.values() for i in ids})
        self._indexes: dict[str, Retriever] = {}

    def _candidates(self, setting: Setting[Any]) -> dict[str, list[str]]:
        """Ids by query."""
        if "candidates" in self._benchmark.splits:
            candidates = self._benchmark.candidates()
            return {
                query: [r.docid for r in rows[: self._depth]] for query, rows in candidates.items()
            }
        questions = dict(
            zip(self._benchmark.query_ids, self._benchmark.questions(setting.context), strict=True)
        )
        rankings = Bm25.of(self._benchmark.corpus).rank(questions, self._depth)
        return {query: [r.docid for r in rows] for query, rows in rankings.items()}

    def of(self, item: Item) -> Shelf:
        """The candidates of a query, of which nothing is shown yet."""
        ids = self._ids_of[item.query_id]
        if item.query_id not in self._indexes:
            self._indexes[item.query_id] = self._index(ids)
        passages = {i: Passage(i, *self._texts[i]) for i in ids}
        return Shelf(passages, self._indexes[item.query_id])

    def _index(self, ids: Sequence[str]) -> Retriever:
        texts = [" ".join(self._texts[i]).strip() for i in ids]
        if self._how == "bm25":
            return Bm25(ids, texts)
        if self._embedder is None:
            from citeforge.engines.embedding.embed import make_embedder

            self._embedder = make_embedder(self._embedder_name)
        return DensePassages(ids, texts, self._embedder)
