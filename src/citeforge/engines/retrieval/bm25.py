"""BM25 retrieval by the library bm25s, over title and text."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citeforge.engines.models.vectors import SHARD_ROWS
from citeforge.engines.progress import progress
from citeforge.engines.retrieval.certain import embedding_texts
from citeforge.engines.retrieval.records import DEPTH, Rankings, ranked
from citeforge.engines.tables import iter_batches
from citeforge.schemas.errors import extras_named

_K1, _B = 1.2, 0.75


class Bm25:
    """BM25 in Lucene's variant, k1 = 1.2, b = 0.75, English stop words; ties by id.

    Scores are rounded to 6 decimals. The whole vocabulary is held in memory.
    """

    def __init__(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Index passages for search.

        Args:
            ids: passage ids.
            texts: texts to search, one per passage.
        """
        with extras_named():
            import bm25s
        self._library = bm25s
        self._ids = np.array(ids, dtype=object)
        self._by_id = np.empty(len(ids), np.int64)
        self._by_id[np.argsort(self._ids.astype(str), kind="stable")] = np.arange(len(ids))
        tokens = bm25s.tokenize(list(texts), stopwords="en", show_progress=False)
        self._index: Any = None
        if tokens.vocab:  # without a word there is nothing to find
            self._index = bm25s.BM25(method="lucene", k1=_K1, b=_B)
            self._index.index(tokens, show_progress=False)

    @staticmethod
    def from_corpus(corpus: list[Path]) -> "Bm25":
        """Index the passages of Parquet shards (schema CORPUS)."""
        ids = [i for b in iter_batches(corpus, ["_id"]) for i in b["_id"].to_pylist()]
        texts = (t for chunk in embedding_texts(corpus, SHARD_ROWS) for t in chunk.to_pylist())
        return Bm25(ids, list(texts))

    @staticmethod
    def identity() -> dict[str, Any]:
        """Describe the retriever for manifests: variant, parameters and version."""
        return {
            "name": "bm25",
            "variant": "lucene",
            "k1": _K1,
            "b": _B,
            "stopwords": "en",
            "bm25s": version("bm25s"),
        }

    def rank(
        self, queries: Mapping[str, str], depth: int = DEPTH, includes_unmatched: bool = False
    ) -> Rankings:
        """Rank passages by BM25 for each query, with or without those that share no word with it.

        Args:
            queries: texts by id.
            depth: most passages for each.
            includes_unmatched: whether passages that share no word with the query come last, by id;
                else they are left out.
        """
        rankings: Rankings = {}
        with progress("ranking with BM25", len(queries), "queries") as advance:
            for query, text in queries.items():
                scores = self._scores(text)
                rows = np.arange(len(scores)) if includes_unmatched else np.flatnonzero(scores)
                order = rows[np.lexsort((self._by_id[rows], -scores[rows]))][:depth]
                names, values = self._ids[order].tolist(), scores[order].tolist()
                rankings[query] = ranked(query, zip(names, values, strict=True))
                advance(1)
        return rankings

    def _scores(self, text: str) -> npt.NDArray[np.float64]:
        """Score all passages against a text; shape (passages,)."""
        if self._index is None:
            return np.zeros(len(self._ids))
        words = self._library.tokenize(
            text, stopwords="en", show_progress=False, return_ids=False
        )[0]  # fmt: skip
        indexed = [w for w in words if w in self._index.vocab_dict]
        if not indexed:
            return np.zeros(len(self._ids))
        scores: npt.NDArray[np.float64] = np.round(
            self._index.get_scores(indexed).astype(np.float64), 6
        )
        return scores
