"""Nomination by the workers of a cluster: a shard of vectors is searched by one worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from citeforge.engines.cluster.lost import FailedShard
from citeforge.engines.cluster.options import ClusterOptions
from citeforge.engines.cluster.pool import WorkerPool
from citeforge.engines.embedding.vectors import VectorShard, unit_rows
from citeforge.engines.io.progress import Advance
from citeforge.engines.search.exact import Searcher, choose_first_stage
from citeforge.engines.search.gemm import Best, Floats
from citeforge.schemas.errors import FailuresError

Found = tuple[Floats, npt.NDArray[np.int64]]


@dataclass(frozen=True)
class SearchingWork:
    """What a worker that searches is made with.

    Attributes:
        queries: unit vectors, shape (n queries, dimension).
        k: nominations a query.
        device: where it computes.
        work: floating-point operations of a worker's part.
    """

    queries: Floats
    k: int
    device: str
    work: float

    def load(self) -> Searching:
        """How to search is chosen with the first shard."""
        return Searching(self)


class Searching:
    """Queries in a worker."""

    def __init__(self, work: SearchingWork) -> None:
        self._work = work
        self._search: Searcher | None = None

    def identity(self) -> dict[str, Any]:
        """Nothing: what is nominated is scored again by the driver, and only that score decides."""
        return {}

    def do(self, piece: npt.NDArray[np.float16]) -> Found:
        """The best of a shard: (scores, rows in it), best first."""
        work = self._work
        block = unit_rows(piece.astype(np.float32))
        if self._search is None:
            # Arrays out of Ray's memory cannot be written to, which torch warns of.
            self._search = choose_first_stage(work.queries.copy(), work.work, work.device)
        best = Best(len(work.queries), min(work.k, len(block)))
        self._search.search(block, 0, best)
        return best.scores, best.where


@dataclass(frozen=True)
class ClusterSearch:
    """:func:`citeforge.engines.search.exact.retrieve_candidates`, by workers."""

    options: ClusterOptions
    device: str

    def __call__(
        self, queries: Floats, shards: Sequence[VectorShard], k: int, advance: Advance
    ) -> Found:
        """The k passages with the highest cosine to each query; see there.

        Raises:
            FailuresError: no worker survives a shard.
        """
        rows = sum(shard.rows for shard in shards)
        work = 2.0 * len(queries) * rows * queries.shape[1] / (self.options.workers or 1)
        pool: WorkerPool[npt.NDArray[np.float16], Found] = WorkerPool(
            self.options, self.device, SearchingWork(queries, k, self.device, work)
        )
        starts = np.cumsum([0, *(shard.rows for shard in shards)])
        best = Best(len(queries), k)
        try:
            for number, (scores, where) in _in_order(_told(pool, shards)):
                best.add(scores, where + starts[number])
                advance(shards[number].rows)
        finally:
            pool.close()
        return best.scores, best.where


def _told(
    pool: WorkerPool[npt.NDArray[np.float16], Found], shards: Sequence[VectorShard]
) -> Iterator[tuple[int, Found]]:
    for number, found in pool.run(shard.read() for shard in shards):
        if isinstance(found, FailedShard):
            raise FailuresError(
                f"{shards[number].path}: cannot be searched: {found}. Run again with --resume"
            )
        yield number, found


def _in_order(found: Iterator[tuple[int, Found]]) -> Iterator[tuple[int, Found]]:
    """Equal scores are kept in the order in which they are met: that of the shards."""
    early: dict[int, Found] = {}
    following = 0
    for number, one in found:
        early[number] = one
        while following in early:
            yield following, early.pop(following)
            following += 1
