"""Exact nearest-neighbour search over vectors on disk.

FAISS or matrix products retrieve candidates, in blocks; scores in float32 change with threads and
blocking. Each pair is then rescored in float64 in a fixed order, and only that score decides:
which of the two it was (:func:`choose_block_search`) changes the time and nothing else.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from citeforge.engines.models.vectors import VectorShard, gather, iter_blocks
from citeforge.engines.parallel import in_halves
from citeforge.engines.progress import Advance
from citeforge.schemas.errors import InputError, extras_named

Floats = npt.NDArray[np.float32]
_ON_CPU, _ON_GPU = 1 << 10, 1 << 14
"""Queries per matrix product; on a CPU, scores of more would not stay in the cache."""


class TopScores:
    """Keeps the k highest scores of each query so far, with their positions.

    Attributes:
        scores: shape (n queries, k), best first; -inf where nothing was found yet.
        positions: of the same shape; -1 where nothing was found yet.
    """

    def __init__(self, n_queries: int, k: int) -> None:
        """Start with k scores of minus infinity for each query, before any vector is searched."""
        self.k = k
        self.scores: Floats = np.full((n_queries, k), -np.inf, np.float32)
        self.positions: npt.NDArray[np.int64] = np.full((n_queries, k), -1, np.int64)

    def add(self, scores: Floats, new_positions: npt.NDArray[np.int64]) -> None:
        """Merge new scores (n queries, any number), with positions, into each query's k best.

        Args:
            scores: of further vectors.
            new_positions: their positions.
        """
        both = np.concatenate([self.scores, scores], axis=1)
        positions = np.concatenate([self.positions, new_positions], axis=1)
        order = np.argsort(-both, axis=1, kind="stable")[:, : self.k]
        self.scores = np.take_along_axis(both, order, axis=1)
        self.positions = np.take_along_axis(positions, order, axis=1)


@dataclass
class TorchSearch:
    """Block search by matrix products in torch on ``device``.

    Attributes:
        queries: unit vectors, shape (n queries, dimension).
        device: torch device: ``cuda``, ``cuda:1``, ``cpu``, …
    """

    queries: Floats
    device: str

    def __post_init__(self) -> None:
        """Move the queries' vectors to the device."""
        import torch

        self._torch = torch
        self._left = torch.from_numpy(self.queries).to(self.device)

    def __call__(self, block: Floats, k: int) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Find the k best vectors of a block for each query: (scores, rows in the block).

        Args:
            block: unit vectors.
            k: how many to find; at most the size of the block.

        Raises:
            InputError: memory does not suffice for a single query.
        """
        right = self._torch.from_numpy(block).to(self.device).T

        def search_rows(rows: slice) -> tuple[Any, Any]:
            """Find the k nearest vectors for some rows of queries: (scores, rows of vectors)."""
            values, positions = (self._left[rows] @ right).topk(k, dim=1)
            return values.cpu(), positions.cpu()

        n, at_once = len(self.queries), _ON_CPU if self.device == "cpu" else _ON_GPU
        parts = [slice(start, min(start + at_once, n)) for start in range(0, n, at_once)]
        # Products of TensorFloat-32 would err by more than the bound of candidates.
        before = self._torch.get_float32_matmul_precision()
        self._torch.set_float32_matmul_precision("highest")
        try:
            tops = [top for rows in parts for top in in_halves(search_rows, rows, self.device)]
        finally:
            self._torch.set_float32_matmul_precision(before)
        fitting = [top for top in tops if top is not None]
        if len(fitting) < len(tops):
            raise InputError(
                "out of memory while searching one block for one query",
                path=self.device,
                allowed="--device cpu, or a device that nothing else uses",
                code="out-of-memory",
            )
        scores, rows = (self._torch.cat(pieces).numpy() for pieces in zip(*fitting, strict=True))
        return scores, rows


BLOCK_ROWS = 1 << 14
CANDIDATE_ERROR = 1e-5
"""Bound on the difference between a candidate's float32 score and its float64 rescore."""

_PAIRS = 1 << 9
_OPERATIONS_FOR_TORCH = 4e11
"""Operations of a search (some seconds) from which on it pays to import torch for it."""
_FEW_QUERIES = 4
"""With fewer, a product takes longer than FAISS's scan (benchmarks/results, "Mining")."""
_MANY_QUERIES = 352
"""From here on FAISS multiplies matrices, too, and no slower than torch."""


FirstStage = Callable[
    [Floats, Sequence[VectorShard], int, Advance], tuple[Floats, npt.NDArray[np.int64]]
]
""":func:`retrieve_candidates`, wherever it is done."""


BlockSearch = Callable[[Floats, int], tuple[Floats, npt.NDArray[np.int64]]]
"""(a block, k) to scores and rows of the k best of each query, shape (n queries, k)."""


def retrieve_candidates(
    queries: Floats,
    shards: Sequence[VectorShard],
    k: int,
    advance: Advance,
    block_rows: int = BLOCK_ROWS,
    device: str = "auto",
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Find the k passages with the highest cosine to each query: (cosines, positions).

    On unit vectors the order by cosine is the order by L2 distance (RAGE, section 3.1).

    Args:
        queries: unit vectors, shape (n queries, dimension).
        shards: vectors of the corpus, in order.
        k: how many; at most the size of the corpus.
        advance: called with the number of passages searched.
        block_rows: vectors that are searched at once.
        device: where: ``auto``, ``cpu``, ``cuda``, …

    Returns:
        (cosines, positions in the corpus), both of shape (n queries, k), best first.
    """
    best = TopScores(len(queries), k)
    work = 2.0 * queries.size * sum(s.rows for s in shards)
    search = choose_block_search(queries, work, device)
    start = 0
    for block in iter_blocks(shards, block_rows):
        scores, rows = search(block, min(k, len(block)))
        best.add(scores, rows + start)
        start += len(block)
        advance(len(block))
    return best.scores, best.positions


@dataclass
class Faiss:
    """Block search by ``faiss.knn``, on a GPU if there is one."""

    queries: Floats

    def __post_init__(self) -> None:
        """Import FAISS, and reserve a GPU if there is one."""
        with extras_named():
            import faiss
        self._faiss = faiss
        self._resources = faiss.StandardGpuResources() if has_gpu() else None

    def __call__(self, block: Floats, k: int) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Find the k best vectors of a block for each query: (scores, rows in the block)."""
        metric = self._faiss.METRIC_INNER_PRODUCT
        if self._resources is None:
            return self._faiss.knn(self.queries, block, k, metric=metric)
        return self._faiss.knn_gpu(self._resources, self.queries, block, k, metric=metric)


def has_gpu() -> bool:
    """Whether FAISS is installed for GPUs, and finds one."""
    with extras_named():
        import faiss
    return hasattr(faiss, "StandardGpuResources") and faiss.get_num_gpus() > 0


def choose_block_search(queries: Floats, n_operations: float, device: str = "auto") -> BlockSearch:
    """Choose the first stage's search, torch or FAISS, by device and number of operations.

    A GPU that torch has, or FAISS, comes first. On a CPU torch multiplies for 4 to 351 queries, and
    FAISS searches for all others, or where torch is missing and the work does not pay its import.
    All find the same passages, but for ties and the last digits of float32.

    Args:
        queries: unit vectors.
        n_operations: floating-point operations of the whole search.
        device: where: ``auto``, ``cpu``, ``cuda``, …
    """
    if device not in ("auto", "cpu"):
        return TorchSearch(queries, device)
    if find_spec("torch") is not None and (
        "torch" in sys.modules or n_operations >= _OPERATIONS_FOR_TORCH
    ):
        import torch

        if device == "auto" and torch.cuda.is_available():
            return TorchSearch(queries, "cuda")
        if _FEW_QUERIES <= len(queries) < _MANY_QUERIES and not has_gpu():
            return TorchSearch(queries, "cpu")
    return Faiss(queries)


def rescore(
    queries: npt.NDArray[np.floating],
    shards: Sequence[VectorShard],
    rows: npt.NDArray[np.int64],
    positions: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """Compute cosines of (query row, passage position) pairs in float64.

    Each pair is computed by itself in one order of operations, so that the result depends on
    nothing but the two vectors.

    Args:
        queries: vectors of queries.
        shards: vectors of the corpus, in order.
        rows: queries of the pairs.
        positions: their passages, as positions in the corpus.
    """
    unique, inverse = np.unique(positions, return_inverse=True)
    vectors = gather(shards, unique)
    scores = np.empty(len(rows), np.float64)
    for start in range(0, len(rows), _PAIRS):
        part = slice(start, start + _PAIRS)
        left = queries[rows[part]].astype(np.float64)
        right = vectors[inverse[part]]
        dots = (left * right).sum(axis=1)
        norms = np.sqrt((left * left).sum(axis=1) * (right * right).sum(axis=1))
        scores[part] = np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)
    return scores
