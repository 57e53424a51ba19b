"""Vectors of a corpus and its queries, and the search over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from citeforge.builders.rage.mining import nominations
from citeforge.engines.draws import distinct_below, generator
from citeforge.engines.embedding.embedder import CALIBRATION, Embedder, Kind, Quantizable
from citeforge.engines.embedding.precomputed import PrecomputedVectors, passage_shards, query_rows
from citeforge.engines.embedding.vectors import (
    PLURALS,
    VectorShard,
    ensure_shards,
    require_shards,
    unit_vectors,
)
from citeforge.engines.io.corpus import embedding_texts, take_rows, titled
from citeforge.engines.io.progress import progress
from citeforge.engines.io.tables import iter_batches
from citeforge.engines.search.exact import FirstStage, retrieve_candidates
from citeforge.engines.search.two_stage import ExactSearch, Rows, TwoStageSearch
from citeforge.schemas.recipes.rage import Mining

NOMINATING = "nominating"
"""First part of the names of shards of rough vectors."""
_MEASURED = 200
"""Passages drawn at random on which int8 is compared with float32; it is calibrated on some."""
_DECIDED = 2
"""Passages a query that get exact vectors, as a multiple of its first nominations."""


@dataclass(frozen=True)
class Embedded:
    """Vectors, as far as they are made before mining.

    Attributes:
        key: all that lists made from them depend on.
        search: makes the search over them.
        first_stage: fingerprint of the model that nominates, when it is not the one that decides.
    """

    key: Sequence[Any]
    search: Callable[[], ExactSearch | TwoStageSearch]
    first_stage: dict[str, Any] = field(default_factory=dict)


class CorpusEmbedding:
    """Embeds a corpus for one build."""

    def __init__(
        self,
        embedder: Embedder,
        corpus: list[Path],
        folder: Path,
        shard_rows: int,
        seed: int,
        retrieve_candidates: FirstStage = retrieve_candidates,
        shares: Path | None = None,
    ) -> None:
        """Say what is embedded, and where vectors are kept.

        Args:
            embedder: makes the vectors that decide.
            corpus: Parquet files of the passages.
            folder: where vectors are kept.
            shard_rows: texts a shard.
            seed: of the draw of passages that int8 is calibrated and measured on.
            retrieve_candidates: what searches vectors in float32.
            shares: where shares of the build have embedded all queries and passages; passages that
                decide are embedded now.
        """
        self._nominate = retrieve_candidates
        self._embedder, self._corpus, self._folder = embedder, corpus, folder
        self._rows, self._seed, self._shares = shard_rows, seed, shares
        self._size = sum(b.num_rows for b in iter_batches(corpus, ["_id"]))

    def of(self, queries: pa.ChunkedArray, mining: Mining) -> Embedded:
        """Vectors of all queries and passages.

        An embedder that has an int8 model embeds by it, and only what is nominated in float32,
        unless nominations could name more than half of the corpus: then int8 would save nothing.
        """
        texts = pa.concat_arrays(queries.chunks)
        query_vectors = self._stored_vectors("queries", texts, self._embedder, "query")
        vectors = unit_vectors(query_vectors)
        if self.has_two_stages(len(texts), mining):
            return self._two_stages(vectors)
        shards = self._passages("passages", self._embedder)
        return Embedded(
            [s.key for s in shards], lambda: ExactSearch(vectors, shards, self._nominate)
        )

    def has_two_stages(self, n_queries: int, mining: Mining) -> bool:
        """Whether int8 nominates and float32 decides."""
        decided = _DECIDED * n_queries * nominations(mining)
        return isinstance(self._embedder, Quantizable) and 2 * decided <= self._size

    def first_stage(self) -> tuple[Embedder, Rows]:
        """What embeds all passages roughly, and the passages on which it is measured."""
        draw = generator(self._seed, "calibration")
        sample = np.sort(np.array(distinct_below(self._size, _MEASURED, draw, ()), np.int64))
        texts = titled(take_rows(self._corpus, sample, ["title", "text"])).to_pylist()
        assert isinstance(self._embedder, Quantizable)
        calibration = texts[:: max(1, len(texts) // CALIBRATION)][:CALIBRATION]
        return self._embedder.quantized(calibration), sample

    def _two_stages(self, vectors: np.ndarray) -> Embedded:
        embedder = self._embedder
        quantized, sample = self.first_stage()
        shards = self._passages(NOMINATING, quantized)

        def decided(name: str, texts: pa.Array) -> list[VectorShard]:
            return self._stored_vectors(name, texts, embedder, "passage")

        def search() -> TwoStageSearch:
            return TwoStageSearch(self._corpus, vectors, shards, decided, sample)

        key = [[s.key for s in shards], embedder.fingerprint()]
        return Embedded(key, search, quantized.fingerprint())

    def _passages(self, name: str, embedder: Embedder) -> list[VectorShard]:
        texts = embedding_texts(self._corpus, self._rows)
        if self._shares is not None:
            return self._of_shares(name, texts, self._size, embedder, "passage")
        dtype = embedder.fingerprint().get("dtype")
        stage = f"embedding passages in {dtype}" if dtype else "embedding passages"
        with progress(stage, self._size, "passages") as advance:
            return ensure_shards(self._folder, name, texts, embedder, "passage", advance)

    def _stored_vectors(
        self, name: str, texts: pa.Array, embedder: Embedder, side: Kind
    ) -> list[VectorShard]:
        pieces = (texts.slice(i, self._rows) for i in range(0, len(texts), self._rows))
        if side == "query" and self._shares is not None:
            return self._of_shares(name, pieces, len(texts), embedder, side)
        stage = "embedding queries" if side == "query" else "embedding what was nominated"
        with progress(stage, len(texts), "texts") as advance:
            return ensure_shards(self._folder, name, pieces, embedder, side, advance)

    def _of_shares(
        self, name: str, texts: Iterator[pa.Array], total: int, embedder: Embedder, side: Kind
    ) -> list[VectorShard]:
        assert self._shares is not None
        with progress(f"checking vectors of {PLURALS[side]}", total, PLURALS[side]) as advance:
            made_by = embedder.fingerprint()
            return require_shards(self._shares, name, texts, made_by, side, advance)


def from_others(
    precomputed: tuple[PrecomputedVectors, PrecomputedVectors],
    corpus: list[Path],
    all_queries: Sequence[str],
    queries: Sequence[str],
    folder: Path,
    rows: int,
) -> Embedded:
    """Vectors that were made elsewhere.

    Args:
        precomputed: of passages and of queries.
        corpus: Parquet files of the passages.
        all_queries: queries of the source.
        queries: those of the build.
        folder: for what is not read where it lies.
        rows: vectors a shard.

    Raises:
        InputError: they are not of these passages or queries, or no vectors.
    """
    total = sum(b.num_rows for b in iter_batches(corpus, ["_id"]))
    ids = (b["_id"] for b in iter_batches(corpus, ["_id"], rows=rows))
    with progress("checking vectors", total, "vectors") as advance:
        shards = passage_shards(precomputed[0], ids, total, folder, advance)
    vectors = query_rows(precomputed[1], all_queries, queries)
    key = [*(s.key for s in shards), precomputed[1].sha256]
    return Embedded(key, lambda: ExactSearch(vectors, shards))


def of_shards(passages: list[VectorShard], queries: list[VectorShard]) -> Embedded:
    """Vectors that are all there."""
    vectors = unit_vectors(queries)
    return Embedded([s.key for s in passages], lambda: ExactSearch(vectors, passages))
