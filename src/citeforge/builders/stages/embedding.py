"""Vectors of a corpus and its queries, and the search over them."""

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
    VectorShard,
    ensure_shards,
    unit_vectors,
)
from citeforge.engines.io.corpus import embedding_texts, take_rows, titled
from citeforge.engines.io.progress import progress
from citeforge.engines.io.tables import iter_batches
from citeforge.engines.search.exact import FirstStage, retrieve_candidates
from citeforge.engines.search.two_stage import ExactSearch, TwoStageSearch
from citeforge.schemas.recipes.rage import Mining

_MEASURED_PASSAGES = 200
"""Passages drawn at random on which int8 is compared with float32; it is calibrated on some."""
_EXACT_PER_NOMINATION = 2
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


@dataclass(frozen=True)
class CorpusEmbedding:
    """Embeds a corpus for one build.

    Attributes:
        embedder: makes the vectors that decide.
        corpus: Parquet files of the passages.
        folder: where vectors are kept.
        shard_rows: texts a shard.
        seed: of the draw of passages that int8 is calibrated and measured on.
        retrieve_candidates: what searches vectors in float32.
    """

    embedder: Embedder
    corpus: list[Path]
    folder: Path
    shard_rows: int
    seed: int
    retrieve_candidates: FirstStage = retrieve_candidates

    def of(self, queries: pa.ChunkedArray, mining: Mining) -> Embedded:
        """Vectors of all queries and passages.

        An embedder that has an int8 model embeds by it, and only what is nominated in float32,
        unless nominations could name more than half of the corpus: then int8 would save nothing.
        """
        embedder, texts = self.embedder, pa.concat_arrays(queries.chunks)
        vectors = unit_vectors(self._stored("queries", texts, "query", "embedding queries"))
        size = sum(b.num_rows for b in iter_batches(self.corpus, ["_id"]))
        most_decided = _EXACT_PER_NOMINATION * len(texts) * nominations(mining)
        if not isinstance(embedder, Quantizable) or 2 * most_decided > size:
            shards = self._passages("passages", embedder, size)
            return Embedded(
                [s.key for s in shards],
                lambda: ExactSearch(vectors, shards, self.retrieve_candidates),
            )
        draw = generator(self.seed, "calibration")
        sample = np.sort(np.array(distinct_below(size, _MEASURED_PASSAGES, draw, ()), np.int64))
        measured = titled(take_rows(self.corpus, sample, ["title", "text"])).to_pylist()
        calibration = measured[:: max(1, len(measured) // CALIBRATION)][:CALIBRATION]
        quantized = embedder.quantized(calibration)
        rough = self._passages("nominating", quantized, size)

        def decided(name: str, texts: pa.Array) -> list[VectorShard]:
            return self._stored(name, texts, "passage", "embedding what was nominated")

        return Embedded(
            [[s.key for s in rough], embedder.fingerprint()],
            lambda: TwoStageSearch(self.corpus, vectors, rough, decided, sample),
            quantized.fingerprint(),
        )

    def _passages(self, name: str, embedder: Embedder, size: int) -> list[VectorShard]:
        dtype = embedder.fingerprint().get("dtype")
        stage = f"embedding passages in {dtype}" if dtype else "embedding passages"
        texts = embedding_texts(self.corpus, self.shard_rows)
        with progress(stage, size, "passages") as advance:
            return ensure_shards(self.folder, name, texts, embedder, "passage", advance)

    def _stored(self, name: str, texts: pa.Array, side: Kind, stage: str) -> list[VectorShard]:
        with progress(stage, len(texts), "texts") as advance:
            pieces = pieces_of(texts, self.shard_rows)
            return ensure_shards(self.folder, name, pieces, self.embedder, side, advance)


def pieces_of(texts: pa.Array, rows: int) -> Iterator[pa.Array]:
    """Texts in the pieces that make a shard each."""
    return (texts.slice(i, rows) for i in range(0, len(texts), rows))


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
