"""Shares of a build in two stages: each embeds roughly, and the build decides.

The int8 model is quantised by the share that comes first and kept in the folder, because another
machine may quantise otherwise. Which passages are embedded in float32 depends on what all queries
nominate together, so that is left to the build which takes the shares.
"""

from __future__ import annotations

from citeforge.builders.stages.embedding import NOMINATING, CorpusEmbedding
from citeforge.builders.stages.shards import NOMINATE, ShardFolder, claim
from citeforge.engines.embedding.embedder import Embedder, Quantized
from citeforge.engines.io.files import sha256_file, write_bytes
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
    assert isinstance(quantized, Quantized)
    claim(place.root, NOMINATE, {"nominator": quantized.fingerprint()})
    return NOMINATING, _stored_model(place, quantized)


def _stored_model(place: ShardFolder, quantized: Quantized) -> Embedder:
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
