"""Embedding by the workers of a cluster, a shard at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import pyarrow as pa

from citeforge.engines.cluster.lost import FailedShard
from citeforge.engines.cluster.options import ClusterOptions
from citeforge.engines.cluster.pool import WorkerPool
from citeforge.engines.embedding.embedder import Embedder, Kind, Prefixes, Vectors
from citeforge.engines.models.fast.embed import FastEmbedder, Files, SentEmbedder
from citeforge.schemas.errors import FailuresError
from citeforge.schemas.recipes.compute import Chosen

Texts = tuple[pa.Array, Kind]


@dataclass(frozen=True)
class EmbeddingWork:
    """What a worker that embeds is made with; the model is found, or fetched, where it runs."""

    make: Callable[[], Embedder]

    def load(self) -> EmbeddingWorker:
        """Find the model; loaded with the first shard."""
        return EmbeddingWorker(self.make())


class EmbeddingWorker:
    """An embedder in a worker."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def identity(self) -> dict[str, Any]:
        """What vectors depend on."""
        return self._embedder.fingerprint()

    def do(self, piece: Texts) -> Vectors:
        """Unit vectors of a shard's texts."""
        texts, kind = piece
        return self._embedder.encode(texts.to_pylist(), kind)


class ClusterEmbedder:
    """An embedder whose model is in the workers alone.

    A shard is embedded by one worker as it would be here: the same texts in the same batches.
    """

    def __init__(
        self,
        make: Callable[[], Embedder],
        prefixes: Prefixes,
        device: str,
        options: ClusterOptions,
    ) -> None:
        self.prefixes = prefixes
        self._make, self._device, self._options = make, device, options
        self._pool: WorkerPool[Texts, Vectors] = WorkerPool(options, device, EmbeddingWork(make))

    @property
    def compute(self) -> Chosen:
        """``fp32`` or ``bf16``, as the workers' processors can."""
        return "bf16" if self.fingerprint()["dtype"] == "bfloat16" else "fp32"

    def fingerprint(self) -> dict[str, Any]:
        """That of the workers, which all have the same."""
        return self._pool.identity()

    def encode(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Unit vectors of one list of texts.

        Raises:
            FailuresError: no worker survives it.
        """
        ((_, found),) = self.encode_each([pa.array(texts, pa.large_string())], kind)
        if isinstance(found, FailedShard):
            raise FailuresError(f"{len(texts):,} texts have no vectors: {found}")
        return found

    def encode_each(
        self, pieces: Iterable[pa.Array], kind: Kind
    ) -> Iterator[tuple[int, Vectors | FailedShard]]:
        """Likewise of many lists, in the order in which they are done: (index, vectors)."""
        return self._pool.run((piece, kind) for piece in pieces)


@dataclass(frozen=True)
class QuantisingWork:
    """What a worker that quantises is made with."""

    make: Callable[[], FastEmbedder]

    def load(self) -> Quantising:
        """Find the model."""
        return Quantising(self.make())


class Quantising:
    """A worker that makes an int8 model."""

    def __init__(self, embedder: FastEmbedder) -> None:
        self._embedder = embedder

    def identity(self) -> dict[str, Any]:
        """What the model is made from."""
        return self._embedder.fingerprint()

    def do(self, piece: Sequence[str]) -> Files:
        """The model, calibrated on these texts."""
        return self._embedder.quantized(piece).files()


class FastClusterEmbedder(ClusterEmbedder):
    """Likewise for OpenVINO: float32 that decides, and int8 that nominates."""

    compute: Chosen = "int8"

    def quantized(self, calibration: Sequence[str]) -> ClusterEmbedder:
        """The same model in int8: quantised by one worker, and sent to all.

        Raises:
            FailuresError: no worker survives it.
        """
        make = cast(Callable[[], FastEmbedder], self._make)
        pool: WorkerPool[Sequence[str], Files] = WorkerPool(
            self._options, self._device, QuantisingWork(make)
        )
        try:
            ((_, found),) = pool.run([calibration])
        finally:
            pool.close()
        if isinstance(found, FailedShard):
            raise FailuresError(f"the model cannot be quantised: {found}")
        sent = partial(_sent, make, calibration, found)
        return ClusterEmbedder(sent, self.prefixes, self._device, self._options)


def _sent(
    make: Callable[[], FastEmbedder], calibration: Sequence[str], files: Files
) -> SentEmbedder:
    return SentEmbedder(make(), calibration, files)
