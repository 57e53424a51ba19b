"""Exact nearest-neighbour search over vectors on disk.

FAISS nominates, in blocks; its float32 distances change with threads and blocking. Each nominated
pair is then rescored in float64 in a fixed order and rounded, and only that score decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from citeforge.engines.progress import Advance
from citeforge.engines.vectors import VectorShard, gather, iter_blocks
from citeforge.schemas.extras import extras_named

BLOCK_ROWS = 1 << 14
NOMINATION_ERROR = 1e-5
"""Bound on the difference between a nominating float32 score and its float64 rescore."""

_PAIRS = 1 << 9


def nominate(
    queries: npt.NDArray[np.float32],
    shards: Sequence[VectorShard],
    k: int,
    advance: Advance,
    block_rows: int = BLOCK_ROWS,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """The k passages with the highest cosine to each query.

    On unit vectors the order by cosine is the order by L2 distance (RAGE, section 3.1).

    Args:
        queries: unit vectors, shape (n queries, dimension).
        shards: vectors of the corpus, in order.
        k: how many; at most the size of the corpus.
        advance: told the number of passages searched.

    Returns:
        (cosines, positions in the corpus), both of shape (n queries, k), best first.
    """
    knn = _knn()
    n = len(queries)
    best = np.full((n, k), -np.inf, np.float32)
    where = np.full((n, k), -1, np.int64)
    for start, block in iter_blocks(shards, block_rows):
        scores, rows = knn(queries, block, min(k, len(block)))
        both = np.concatenate([best, scores], axis=1)
        positions = np.concatenate([where, rows + start], axis=1)
        order = np.argsort(-both, axis=1, kind="stable")[:, :k]
        best = np.take_along_axis(both, order, axis=1)
        where = np.take_along_axis(positions, order, axis=1)
        advance(len(block))
    return best, where


def _knn() -> Any:
    with extras_named():
        import faiss
    if hasattr(faiss, "StandardGpuResources") and faiss.get_num_gpus() > 0:
        resources = faiss.StandardGpuResources()

        def on_gpu(queries: Any, block: Any, k: int) -> Any:
            return faiss.knn_gpu(resources, queries, block, k, metric=faiss.METRIC_INNER_PRODUCT)

        return on_gpu

    def on_cpu(queries: Any, block: Any, k: int) -> Any:
        return faiss.knn(queries, block, k, metric=faiss.METRIC_INNER_PRODUCT)

    return on_cpu


def rescore(
    queries: npt.NDArray[np.float32],
    shards: Sequence[VectorShard],
    rows: npt.NDArray[np.int64],
    positions: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """Cosines of (query row, passage position) pairs, float64, rounded to 6 decimals.

    Each pair is computed by itself in one order of operations, so that the result depends on
    nothing but the two vectors.
    """
    unique, inverse = np.unique(positions, return_inverse=True)
    vectors = gather(shards, unique)
    scores = np.empty(len(rows), np.float64)
    for start in range(0, len(rows), _PAIRS):
        part = slice(start, start + _PAIRS)
        left = queries[rows[part]].astype(np.float64)
        right = vectors[inverse[part]].astype(np.float64)
        dots = (left * right).sum(axis=1)
        norms = np.sqrt((left * left).sum(axis=1) * (right * right).sum(axis=1))
        scores[part] = np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)
    rounded: npt.NDArray[np.float64] = np.round(scores, 6) + 0.0  # no negative zero
    return rounded
