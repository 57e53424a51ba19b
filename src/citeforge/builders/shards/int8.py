"""Shares of a build in two stages: each embeds roughly, and the build decides.

The int8 model is quantised by the share that comes first and kept in the folder, because another
machine may quantise otherwise. Which passages are embedded in float32 depends on what all queries
nominate together, so that is left to the build which takes the shares.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from citeforge.builders.shards.folder import EMBEDDINGS, NOMINATE, ShardFolder, claim
from citeforge.builders.stages.embedding import NOMINATING, CorpusEmbedding
from citeforge.engines.embedding.embedder import Embedder, Kind
from citeforge.engines.embedding.vectors import PLURALS, VectorShard, require_shards
from citeforge.engines.io.corpus import embedding_texts
from citeforge.engines.io.files import sha256_file, write_bytes
from citeforge.engines.io.progress import progress
from citeforge.engines.models.fast.embed import RoughEmbedder, SentEmbedder
from citeforge.engines.search.exact import FirstStage
from citeforge.schemas.recipes.rage import Mining

_MODEL = "int8"
"""Stage of the folder that holds the quantised model."""


def share_embedder(
    place: ShardFolder, embedding: CorpusEmbedding, n_queries: int, mining: Mining
) -> tuple[str, Embedder] | None:
    """What shares embed passages by.

    Args:
        place: folder of the shards; keeps the quantised model.
        embedding: of the whole build.
        n_queries: of the whole build.
        mining: likewise.

    Returns:
        (first part of the names of shards, embedder); None where float32 embeds everything.

    Raises:
        InputError: other shares nominate by another model, or on another kind of processor.
    """
    if not embedding.has_two_stages(n_queries, mining):
        return None
    quantized, _ = embedding.first_stage()
    assert isinstance(quantized, RoughEmbedder)
    claim(place.root, NOMINATE, {"nominator": quantized.fingerprint()})
    return NOMINATING, _kept(place, quantized)


def _kept(place: ShardFolder, quantized: RoughEmbedder) -> SentEmbedder:
    """The same embedder with the model of the folder; made when no share has made it."""
    key = quantized.fingerprint()
    with place.alone(_MODEL):
        if place.finished(_MODEL, key) is None:
            fresh = place.start(_MODEL)
            for name, content in quantized.files().items():
                write_bytes(fresh / name, content)
            place.finish(_MODEL, key, {p.name: sha256_file(p) for p in fresh.iterdir()}, {})
        files = {p.name: p.read_bytes() for p in place.stage(_MODEL).iterdir()}
    return quantized.sent(files)


class EmbeddedByShares(CorpusEmbedding):
    """What shares embedded; passages that decide are embedded now."""

    def __init__(
        self,
        embedder: Embedder,
        corpus: list[Path],
        folder: Path,
        shards: Path,
        shard_rows: int,
        seed: int,
        retrieve_candidates: FirstStage,
    ) -> None:
        """Take them.

        Args:
            embedder: as of :class:`Embedding`, like the rest.
            corpus: likewise.
            folder: for vectors of the passages that decide.
            shards: folder of the shares.
            shard_rows: likewise.
            seed: likewise.
            retrieve_candidates: likewise.
        """
        super().__init__(embedder, corpus, folder, shard_rows, seed, retrieve_candidates)
        self._shards = shards / EMBEDDINGS

    def _passages(self, name: str, embedder: Embedder) -> list[VectorShard]:
        with progress("checking vectors of passages", self._size, "passages") as advance:
            return require_shards(
                self._shards, name, embedding_texts(self._corpus, self._rows),
                embedder.fingerprint(), "passage", advance,
            )  # fmt: skip

    def _kept(
        self, name: str, texts: pa.Array, embedder: Embedder, side: Kind
    ) -> list[VectorShard]:
        if side == "passage":
            return super()._kept(name, texts, embedder, side)
        pieces = (texts.slice(i, self._rows) for i in range(0, len(texts), self._rows))
        with progress("checking vectors of queries", len(texts), "queries") as advance:
            return require_shards(
                self._shards, PLURALS[side], pieces, embedder.fingerprint(), side, advance
            )
