"""Embedders of local models that embed only texts without vectors in the user's cache."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.engines.files import digest
from citeforge.engines.models.embedder import (
    Distributed,
    Embedder,
    Releasable,
    Role,
    Vectors,
    Watchable,
    vectors_depend_on,
)
from citeforge.engines.models.vector_cache import CachedVectors, VectorCache, digest_each
from citeforge.engines.progress import Advance


@dataclass(eq=False)
class CachedEmbedder:
    """Embedder that takes the vectors of known texts from the cache, and keeps those of others.

    Attributes:
        embedder: computes the vectors of new texts.
        cache: cache of vectors.
    """

    embedder: Embedder
    cache: VectorCache
    _opened: dict[Role, CachedVectors] = field(default_factory=dict, init=False)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        """Fingerprint of the wrapped embedder, computed once, since it reads the model's files."""
        return self.embedder.fingerprint()

    def fingerprint(self) -> dict[str, Any]:
        """Describe everything that a vector depends on, as the wrapped embedder does."""
        return self._facts

    def release(self) -> None:
        """Free the memory of the wrapped embedder's model."""
        if isinstance(self.embedder, Releasable):
            self.embedder.release()

    def encode(self, texts: Sequence[str], kind: Role) -> Vectors:
        """Embed queries or passages (``kind``), or take vectors from the cache, in order."""
        return self.encode_watched(texts, kind, lambda *_: None)

    def encode_watched(self, texts: Sequence[str], kind: Role, advance: Advance) -> Vectors:
        """Embed texts as ``encode`` does; call ``advance`` with the number of texts done.

        Args:
            texts: texts to embed.
            kind: whether they are queries or passages.
            advance: takes the number of texts done.
        """
        request = self._look_up(texts, kind)
        if known := len(texts) - len(request.new):
            advance(known)
        if not request.new:  # a cluster need not start
            return request.complete(np.empty((0, 0), np.float32))
        if isinstance(self.embedder, Watchable):
            return request.complete(self.embedder.encode_watched(request.new, kind, advance))
        made = request.complete(self.embedder.encode(request.new, kind))
        advance(len(request.new))
        return made

    def _look_up(self, texts: Sequence[str], kind: Role) -> "_Request":
        """Look up queries or passages in the cache: their stored vectors, and texts without one.

        Args:
            texts: texts to embed.
            kind: whether they are queries or passages.
        """
        if kind not in self._opened:
            recipe = vectors_depend_on(self._facts, kind)
            self._opened[kind] = self.cache.open(digest(recipe)[:32], recipe["format"])
        stored = self._opened[kind]
        digests = digest_each(texts)
        known, vectors = stored.find(digests)
        new = [texts[i] for i in np.flatnonzero(~known).tolist()]
        return _Request(stored, digests, known, vectors, new)


class CachedCluster(CachedEmbedder):
    """Cached embedder whose new texts are embedded by a cluster, several shards at once."""

    def encode_each(self, shards: Iterable[pa.Array], kind: Role) -> Iterator[tuple[int, Vectors]]:
        """Embed shards of queries or passages; yield (shard number, vectors) as they are done."""
        assert isinstance(self.embedder, Distributed)
        requests: dict[int, _Request] = {}

        def new_texts() -> Iterator[pa.Array]:
            """Yield the new texts of each shard; a shard without any is an empty array."""
            for number, texts in enumerate(shards):
                requests[number] = self._look_up(texts.to_pylist(), kind)
                yield pa.array(requests[number].new, pa.large_string())

        for number, made in self.embedder.encode_each(new_texts(), kind):
            yield number, requests.pop(number).complete(made)


@dataclass(frozen=True)
class _Request:
    """Texts that were looked up in the cache.

    Attributes:
        stored: cached vectors of the model.
        digests: digests of all texts.
        known: whether each text has a vector there.
        vectors: matrix with the known vectors at their rows.
        new: texts without a vector, in order.
    """

    stored: CachedVectors
    digests: npt.NDArray[np.bytes_]
    known: npt.NDArray[np.bool_]
    vectors: npt.NDArray[np.floating]
    new: list[str]

    def complete(self, new_vectors: Vectors) -> Vectors:
        """Cache the vectors of the new texts; return the vectors of all texts, in order.

        Known and new vectors have the precision in which they are stored: results do not depend on
        what the cache had.

        Args:
            new_vectors: vectors of the new texts, in order.
        """
        vectors, dtype = self.vectors, self.vectors.dtype
        if self.new:
            new = new_vectors.astype(dtype)
            self.stored.keep(self.digests[~self.known], new)
            if not vectors.shape[1]:
                vectors = np.empty((len(self.known), new.shape[1]), dtype)
            vectors[~self.known] = new
        # Float16 is for storing alone.
        whole: Vectors = vectors.astype(np.float32) if dtype.itemsize < 4 else vectors
        return whole


def cached_embedder(embedder: Embedder, cache: VectorCache | None) -> Embedder:
    """Wrap a local embedder with a cache of vectors; without a cache, return it unchanged."""
    if cache is None:
        return embedder
    wrapper = CachedCluster if isinstance(embedder, Distributed) else CachedEmbedder
    return wrapper(embedder, cache)
