"""What the workers of a cluster do: embed shards, search shards of vectors, judge pairs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.engines.embedding.vectors import VectorShard, unit_rows
from citeforge.engines.io.progress import Advance
from citeforge.engines.judge.records import Decision, Judge, JudgeFailure, Keep, Pair
from citeforge.engines.models.embedder import (
    Embedder,
    FailedShard,
    Kind,
    Quantizable,
    Vectors,
)
from citeforge.engines.search.exact import Best, Floats, choose_first_stage
from citeforge.plugins.ray.options import RayOptions
from citeforge.plugins.ray.pool import Loaded, Pool
from citeforge.schemas.errors import FailuresError

_PAIRS = 128
"""Pairs per piece: batches of 8 and of 32 are cut in it where they would be cut here."""


def _embedding(make: Callable[[], Embedder]) -> Loaded:
    embedder = make()
    return Loaded(embedder.fingerprint, lambda p: embedder.encode(p[0].to_pylist(), p[1]))


def _quantized(make: Callable[[], Embedder], calibration: Sequence[str]) -> Embedder:
    embedder = make()
    assert isinstance(embedder, Quantizable)
    return embedder.quantized(calibration)


class ClusterEmbedder:
    """An embedder whose model is in the workers alone.

    A shard is embedded by one worker as it would be here: the same texts in the same batches.
    """

    def __init__(self, make: Callable[[], Embedder], device: str, options: RayOptions) -> None:
        self._make, self._device, self._options = make, device, options
        self._pool = Pool(options, device, partial(_embedding, make))

    def fingerprint(self) -> dict[str, Any]:
        """Return the fingerprint of the workers, which all have the same."""
        return self._pool.identity()

    def encode(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Embed one list of texts.

        Raises:
            FailuresError: no worker survives it.
        """
        ((_, vectors),) = self.encode_each([pa.array(texts, pa.large_string())], kind)
        if isinstance(vectors, FailedShard):
            reason = f"{len(texts):,} texts have no vectors: {vectors}"
            raise FailuresError(reason, code="counted-failures")
        return vectors

    def encode_each(
        self, pieces: Iterable[pa.Array], kind: Kind
    ) -> Iterator[tuple[int, Vectors | FailedShard]]:
        """Embed many lists; yield (index, vectors) in the order in which they are done."""
        return self._pool.run((piece, kind) for piece in pieces)


class FastClusterEmbedder(ClusterEmbedder):
    """A cluster embedder that can be made faster in int8."""

    def quantized(self, calibration: Sequence[str]) -> ClusterEmbedder:
        """Return the same in int8; each worker quantises the model for itself."""
        make = partial(_quantized, self._make, calibration)
        return ClusterEmbedder(make, self._device, self._options)


Found = tuple[Floats, npt.NDArray[np.int64]]


def _searching(queries: Floats, k: int, device: str, work: float) -> Loaded:
    # Arrays out of Ray's memory cannot be written to, which torch warns of.
    search = choose_first_stage(queries.copy(), work, device)

    def do(piece: npt.NDArray[np.floating]) -> Found:
        block = unit_rows(piece.astype(np.float32))
        return search(block, min(k, len(block)))

    return Loaded(dict, do)  # candidates are scored again by the driver


def search_shards(
    options: RayOptions,
    device: str,
    queries: Floats,
    shards: Sequence[VectorShard],
    k: int,
    advance: Advance,
) -> Found:
    """:func:`citeforge.engines.search.exact.retrieve_candidates`, by workers.

    Raises:
        FailuresError: no worker survives a shard.
    """
    starts = np.cumsum([0, *(shard.rows for shard in shards)])
    work = 2.0 * queries.size * float(starts[-1]) / (options.workers or 1)
    pool = Pool(options, device, partial(_searching, queries, k, device, work))
    best, early = Best(len(queries), k), dict[int, Found]()
    following = 0  # equal scores are kept in the order in which they are met: the shards'
    for number, hits in pool.run(shard.read() for shard in shards):
        if isinstance(hits, FailedShard):
            reason = f"{shards[number].path}: cannot be searched: {hits}. Run again with --resume"
            raise FailuresError(reason, code="counted-failures")
        early[number] = hits
        while following in early:
            scores, where = early.pop(following)
            best.add(scores, where + starts[following])
            advance(shards[following].rows)
            following += 1
    return best.scores, best.where


def _judging(make: Callable[[], Judge]) -> Loaded:
    judge = make()

    def identity() -> dict[str, Any]:
        facts = {"signature": judge.signature, "comparable": judge.comparable}
        return {"judge": judge.identity(), **facts}

    def do(piece: tuple[bool, Sequence[Pair]]) -> list[Any]:
        only_counts, pairs = piece
        if only_counts:
            return [judge.count_tokens([pair]) for pair in pairs]
        decisions: dict[int, Decision] = {}
        judge.decide(pairs, decisions.update)
        return [decisions[i] for i in range(len(pairs))]

    return Loaded(identity, do)


class ClusterJudge:
    """A judge whose model is in the workers alone; verdicts are kept here.

    Pairs are sorted by length as a local judge sorts them, and handed out in whole batches, so that
    each batch holds the pairs that it would hold here.
    """

    def __init__(
        self, make: Callable[[], Judge], device: str, options: RayOptions, batch: int | None = None
    ) -> None:
        self._pool = Pool(options, device, partial(_judging, make))
        self._size = _PAIRS if batch is None else batch * max(1, _PAIRS // batch)

    @property
    def signature(self) -> str:
        """The judge's signature."""
        return str(self._pool.identity()["signature"])

    @property
    def comparable(self) -> bool:
        """Whether the judge's scores may be set beside published ones."""
        return bool(self._pool.identity()["comparable"])

    def identity(self) -> dict[str, Any]:
        """Return the judge's identity, which is that of all workers."""
        return dict(self._pool.identity()["judge"])

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        """Count tokens of all pairs; None when the judge counts none, or no worker can."""
        counts = self._counts(pairs)
        return None if None in counts else sum(n or 0 for n in counts)

    def _counts(self, pairs: Sequence[Pair]) -> list[int | None]:
        counts: list[int | None] = [None] * len(pairs)
        for rows, result in self._ask(True, pairs, range(len(pairs)), self._size):
            if not isinstance(result, FailedShard):
                counts[rows[0] : rows[-1] + 1] = result
        return counts

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        """Decide every pair; one that no worker survives is a failure, and the others go on."""
        order, lost = list(range(len(pairs))), list[int]()
        if len(pairs) > self._size:  # a worker sorts the pairs of one piece itself
            counts = self._counts(pairs)
            order.sort(key=lambda i: (-(counts[i] or 0), pairs[i]))
        for rows, result in self._ask(False, pairs, order, self._size):
            if isinstance(result, FailedShard):
                lost += rows
            else:
                keep(list(zip(rows, result, strict=True)))
        for (row,), result in self._ask(False, pairs, lost, 1):  # so that one pair is to blame
            failed = isinstance(result, FailedShard)
            keep([(row, JudgeFailure(str(result)) if failed else result[0])])

    def _ask(
        self, only_counts: bool, pairs: Sequence[Pair], rows: Sequence[int], size: int
    ) -> Iterator[tuple[Sequence[int], Any]]:
        """Yield (rows of the pairs, results) of each piece of so many rows."""
        cuts = [rows[at : at + size] for at in range(0, len(rows), size)]
        pieces = ((only_counts, [pairs[i] for i in cut]) for cut in cuts)
        for number, result in self._pool.run(pieces):
            yield cuts[number], result
