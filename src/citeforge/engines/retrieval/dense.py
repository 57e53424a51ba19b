"""Dense retrieval: the highest cosines, exactly, in float64 to 6 decimals; ties by id."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.engines.embedding.embedder import Embedder
from citeforge.engines.embedding.vectors import SHARD_ROWS, VectorShard, ensure_shards, unit_vectors
from citeforge.engines.io.corpus import embedding_texts, names_at
from citeforge.engines.io.progress import progress
from citeforge.engines.io.tables import iter_batches
from citeforge.engines.retrieval.records import DEPTH, Rankings, ranked
from citeforge.engines.search.exact import (
    NOMINATION_ERROR,
    FirstStage,
    rescore,
    retrieve_candidates,
)

_RESERVE_NOMINATIONS = 6
"""Nominations beyond what is asked, so that most queries are settled in one pass."""
_MATRIX_ENTRIES = 1 << 23
"""Entries of a nomination matrix (queries times nominations) that are held at once."""


class DenseCorpus:
    """Search by embeddings over a corpus of Parquet shards (schema CORPUS)."""

    def __init__(
        self,
        corpus: list[Path],
        embedder: Embedder,
        folder: Path,
        shard_rows: int = SHARD_ROWS,
        retrieve_candidates: FirstStage = retrieve_candidates,
        query_folder: Path | None = None,
    ) -> None:
        """Embed the passages that ``folder`` has no vectors of yet.

        Args:
            corpus: the shards.
            embedder: turns title and text, and queries, into vectors.
            folder: where vectors are kept.
            shard_rows: passages a shard of vectors.
            retrieve_candidates: what searches them.
            query_folder: where vectors of queries are kept; None for the same folder, which no
                other process may then use.
        """
        self._nominate = retrieve_candidates
        self._corpus, self._embedder, self._folder = corpus, embedder, query_folder or folder
        total = sum(b.num_rows for b in iter_batches(corpus, ["_id"]))
        with progress("embedding passages", total, "passages") as advance:
            self.shards = ensure_shards(
                folder, "passages", embedding_texts(corpus, shard_rows), embedder, "passage",
                advance,
            )  # fmt: skip

    def identity(self) -> dict[str, Any]:
        """The embedder's."""
        return {**self._embedder.fingerprint(), "search": "exact, cosine"}

    def rank(self, queries: Mapping[str, str], depth: int = DEPTH) -> Rankings:
        """The nearest passages; fewer than ``depth`` only when the corpus has fewer."""
        if not queries:
            return {}
        texts = pa.array(list(queries.values()), pa.string())
        with progress("embedding queries", len(texts), "queries") as advance:
            query_shards = ensure_shards(
                self._folder, "queries", iter([texts]), self._embedder, "query", advance
            )
        vectors = unit_vectors(query_shards)
        positions, scores = nearest(self._corpus, self.shards, vectors, depth, self._nominate)
        names, _ = names_at(self._corpus, positions.ravel())
        rows = names.reshape(positions.shape).tolist()
        return {
            query: ranked(query, zip(ids, values, strict=True))
            for query, ids, values in zip(queries, rows, scores.tolist(), strict=True)
        }


def nearest(
    corpus: list[Path],
    shards: Sequence[VectorShard],
    queries: npt.NDArray[np.float32],
    depth: int,
    retrieve_candidates: FirstStage = retrieve_candidates,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Positions and cosines of the nearest passages, best first, ties by id.

    Args:
        corpus: Parquet files of the passages.
        shards: their vectors, in order.
        queries: unit vectors, shape (n queries, dimension).
        depth: how many.
        retrieve_candidates: what searches the vectors.

    Returns:
        Two arrays of shape (n queries, at most depth).
    """
    size = sum(s.rows for s in shards)
    number = min(depth, size)
    where = np.empty((len(queries), number), np.int64)
    cosines = np.empty((len(queries), number), np.float64)
    rows, k = np.arange(len(queries)), number + _RESERVE_NOMINATIONS
    while len(rows) and number:
        k = min(k, size)
        step = max(1, _MATRIX_ENTRIES // k)
        settled = np.zeros(len(rows), np.bool_)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            with progress("searching", size, "passages") as advance:
                floor, positions = retrieve_candidates(queries[part], shards, k, advance)
            flat, query_rows = positions.ravel(), np.repeat(part, k)
            exact = rescore(queries, shards, query_rows, flat)
            _, places = names_at(corpus, flat)
            order = np.lexsort((places, -exact, query_rows)).reshape(-1, k)[:, :number]
            where[part], cosines[part] = flat[order], exact[order]
            # Beyond the weakest nomination anything may lie; what scores above it is certain.
            certain = cosines[part, -1] > floor[:, -1] + NOMINATION_ERROR
            settled[start : start + step] = certain | (k == size)
        rows, k = rows[~settled], 4 * k
    return where, cosines
