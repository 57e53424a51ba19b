"""Embedding by the workers of a cluster, a shard at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from citeforge.engines.embedding.embedder import (
    Embedder,
    FailedShard,
    Kind,
    Quantizable,
    Vectors,
)
from citeforge.plugins.ray.options import RayOptions
from citeforge.plugins.ray.pool import WorkerPool
from citeforge.plugins.ray.worker import Worked
from citeforge.schemas.errors import FailuresError
from citeforge.schemas.recipes.base import Chosen

Texts = tuple[pa.Array, Kind]


def _embedding(make: Callable[[], Embedder]) -> Worked[Texts, Vectors]:
    """An embedder in a worker; the model is found, or fetched, there, and loaded when it embeds."""
    embedder = make()
    return Worked(
        embedder.fingerprint, lambda piece: embedder.encode(piece[0].to_pylist(), piece[1])
    )


class ClusterEmbedder:
    """An embedder whose model is in the workers alone.

    A shard is embedded by one worker as it would be here: the same texts in the same batches.
    """

    def __init__(self, make: Callable[[], Embedder], device: str, options: RayOptions) -> None:
        self._make, self._device, self._options = make, device, options
        self._pool: WorkerPool[Texts, Vectors] = WorkerPool(
            options, device, partial(_embedding, make)
        )

    def fingerprint(self) -> dict[str, Any]:
        """That of the workers, which all have the same."""
        return self._pool.identity()

    def encode(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Unit vectors of one list of texts.

        Raises:
            FailuresError: no worker survives it.
        """
        ((_, vectors),) = self.encode_each([pa.array(texts, pa.large_string())], kind)
        if isinstance(vectors, FailedShard):
            raise FailuresError(
                f"{len(texts):,} texts have no vectors: {vectors}", code="counted-failures"
            )
        return vectors

    def encode_each(
        self, pieces: Iterable[pa.Array], kind: Kind
    ) -> Iterator[tuple[int, Vectors | FailedShard]]:
        """Likewise of many lists, in the order in which they are done: (index, vectors)."""
        return self._pool.run((piece, kind) for piece in pieces)


class FastClusterEmbedder(ClusterEmbedder):
    """Likewise in two numbers: float32 that decides, and int8 that nominates."""

    compute: Chosen = "int8"

    def quantized(self, calibration: Sequence[str]) -> ClusterEmbedder:
        """Return the same model in int8; each worker calibrates it on the same passages."""
        make = partial(_quantized, self._make, calibration)
        return ClusterEmbedder(make, self._device, self._options)


def _quantized(make: Callable[[], Embedder], calibration: Sequence[str]) -> Embedder:
    embedder = make()
    assert isinstance(embedder, Quantizable)
    return embedder.quantized(calibration)
