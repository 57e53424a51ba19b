"""Nomination by the workers of a cluster: a shard of vectors is searched by one worker."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from citeforge.engines.embedding.embedder import FailedShard
from citeforge.engines.embedding.vectors import VectorShard, unit_rows
from citeforge.engines.io.progress import Advance
from citeforge.engines.search.exact import Best, BlockSearch, Floats, choose_first_stage
from citeforge.plugins.ray.options import RayOptions
from citeforge.plugins.ray.pool import WorkerPool
from citeforge.plugins.ray.worker import Worked
from citeforge.schemas.errors import FailuresError

Found = tuple[Floats, npt.NDArray[np.int64]]


def _searching(
    queries: Floats, k: int, device: str, work: float
) -> Worked[npt.NDArray[np.float16], Found]:
    """Unit vectors of queries in a worker: a shard to its best (scores, rows), best first.

    Results depend on nothing else: what is nominated is scored again by the driver.
    """

    @cache
    def search() -> BlockSearch:
        # Arrays out of Ray's memory cannot be written to, which torch warns of.
        return choose_first_stage(queries.copy(), work, device)

    def do(piece: npt.NDArray[np.float16]) -> Found:
        block = unit_rows(piece.astype(np.float32))
        return search()(block, min(k, len(block)))

    return Worked(dict, do)


@dataclass(frozen=True)
class ClusterSearch:
    """:func:`citeforge.engines.search.exact.retrieve_candidates`, by workers."""

    options: RayOptions
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
            self.options, self.device, partial(_searching, queries, k, self.device, work)
        )
        starts = np.cumsum([0, *(shard.rows for shard in shards)])
        best = Best(len(queries), k)
        early: dict[int, Found] = {}
        following = 0  # equal scores are kept in the order in which they are met: the shards'
        try:
            for number, hits in pool.run(shard.read() for shard in shards):
                if isinstance(hits, FailedShard):
                    path = shards[number].path
                    raise FailuresError(
                        f"{path}: cannot be searched: {hits}. Run again with --resume",
                        code="counted-failures",
                    )
                early[number] = hits
                while following in early:
                    scores, where = early.pop(following)
                    best.add(scores, where + starts[following])
                    advance(shards[following].rows)
                    following += 1
        finally:
            pool.close()
        return best.scores, best.where
