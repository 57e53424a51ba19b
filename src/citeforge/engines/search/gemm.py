"""Nominating by matrix products: all scores of a block at once, and only the few that matter kept.

A product in bfloat16, where the processor has it, takes a quarter of the time of one in float32.
Its error is bounded, so that a passage it cannot rule out is scored again in float32, and the
nominations are those of float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from citeforge.engines.models.parallel import one_thread_each

Precision = Literal["float32", "bfloat16"]
Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

GROUP = 64
"""Neighbouring passages of which only the greatest score is looked at first."""
_QUERIES = 1024
"""Queries a product; scores of more would not stay in the processor's cache."""
_ROUNDING = 2.0**-8
"""Most that rounding to bfloat16 (8 significant bits) changes a number, as a share of it."""
_SUMS = 2.0**-24
"""Likewise for each addition in float32."""
_CONVERTED = 1 << 12
"""Passages that one thread rounds at a time."""
_CROWD = 64
"""Passages a query that a product in bfloat16 may leave open; beyond, float32 takes less time."""


class Best:
    """The highest scores so far of each query, and where they were found.

    Attributes:
        scores: shape (n queries, k), best first; -inf where nothing was found yet.
        where: positions, of the same shape; -1 likewise.
    """

    def __init__(self, queries: int, k: int) -> None:
        self.k = k
        self.scores: Floats = np.full((queries, k), -np.inf, np.float32)
        self.where: Rows = np.full((queries, k), -1, np.int64)

    def add(self, scores: Floats, where: Rows) -> None:
        """Take in further scores, shape (n queries, any number)."""
        both = np.concatenate([self.scores, scores], axis=1)
        places = np.concatenate([self.where, where], axis=1)
        order = np.argsort(-both, axis=1, kind="stable")[:, : self.k]
        self.scores = np.take_along_axis(both, order, axis=1)
        self.where = np.take_along_axis(places, order, axis=1)

    def add_pairs(self, rows: Rows, scores: Floats, where: Rows) -> None:
        """Take in scores of (query row, position) pairs, in any order.

        Threads may do so at once for different queries.
        """
        touched, first = np.unique(rows, return_inverse=True)
        k, n = self.k, len(touched)
        owner = np.concatenate([np.repeat(np.arange(n), k), first])
        both = np.concatenate([self.scores[touched].ravel(), scores])
        places = np.concatenate([self.where[touched].ravel(), where])
        order = np.lexsort((-both, owner))
        starts = np.searchsorted(owner[order], np.arange(n))
        best = order[starts[:, None] + np.arange(k)]
        self.scores[touched], self.where[touched] = both[best], places[best]


class Gemm:
    """Scores by matrix products, one a block and some of the queries, each on one thread."""

    def __init__(self, queries: Floats, precision: Precision) -> None:
        """Prepare.

        Args:
            queries: unit vectors, shape (n queries, dimension).
            precision: of the products; scores that are kept are of float32 either way.
        """
        import torch

        self.queries, self.precision = queries, precision
        self._torch = torch
        self._step = min(_QUERIES, max(1, -(-len(queries) // torch.get_num_threads())))
        self._wide = torch.from_numpy(queries)
        self._rooms: list[Any] = []
        self._rounded: _Rounded | None = None

    def search(self, block: Floats, start: int, best: Best) -> None:
        """Add what a block has to ``best``.

        Args:
            block: unit vectors, shape (n passages, dimension).
            start: position of the first.
            best: of all queries.
        """
        wide = _padded(block)
        rounded: _Rounded | None = None
        if self.precision == "bfloat16":
            rounded = self._rounded = self._rounded or _Rounded(self._wide, block)
            rounded.take(self._torch.from_numpy(wide))

        def search(first: int) -> None:
            part = slice(first, first + self._step)
            candidates = None if rounded is None else self._open(part, wide, rounded, best)
            rows, scores, columns = candidates or self._block_candidates(part, wide, best)
            real = columns < len(block)
            best.add_pairs(rows[real] + first, scores[real], columns[real] + start)

        for _ in one_thread_each(search, range(0, len(self.queries), self._step)):
            pass

    def _block_candidates(self, part: slice, wide: Floats, best: Best) -> tuple[Rows, Floats, Rows]:
        """Query rows, scores and columns of the block that may be among the k best."""
        with self._product(self._wide[part], self._torch.from_numpy(wide)) as scores:
            groups, tops = _grouped(scores)
            floor = best.scores[part, -1]
            if not np.isfinite(floor).all():
                floor = np.maximum(floor, _kth(tops, best.k))
            rows, columns = _reaching(groups, tops, self._torch.from_numpy(floor))
            values: Floats = scores.numpy()[rows, columns]
        return rows, values, columns

    def _open(
        self, part: slice, wide: Floats, rounded: _Rounded, best: Best
    ) -> tuple[Rows, Floats, Rows] | None:
        """Likewise, by a product in bfloat16; None where it leaves too many open."""
        error = rounded.error(part)
        with self._product(rounded.queries[part], rounded.block) as scores:
            groups, tops = _grouped(scores)
            floor = best.scores[part, -1] - rounded.offset[part]
            if not np.isfinite(floor).all():
                least = _kth(tops, best.k)
                floor = np.maximum(floor, least - error - _ROUNDING * np.abs(least))
            # Rounding keeps the order: what reaches the floor reaches it when both are rounded.
            lowest = self._torch.from_numpy(floor - error).to(scores.dtype)
            rows, columns = _reaching(groups, tops, lowest)
            if len(rows) > _CROWD * len(scores):
                return None
        return rows, _dots(self.queries[part], rows, wide, columns), columns

    @contextmanager
    def _product(self, left: Any, right: Any) -> Iterator[Any]:
        """Scores of all pairs, in memory that is used again.

        Taking fresh memory for every product would cost as much as filling it.
        """
        size = len(left) * len(right)
        try:
            room = self._rooms.pop()
        except IndexError:
            room = self._torch.empty(0, dtype=self._torch.float32)
        if len(room) < size * left.itemsize // 4:
            room = self._torch.empty(size * left.itemsize // 4, dtype=self._torch.float32)
        shaped = room.view(left.dtype)[:size].view(len(left), len(right))
        yield self._torch.mm(left, right.T, out=shaped)
        self._rooms.append(room)


class _Rounded:
    """Queries and a block in bfloat16, the block around the mean of the first one.

    Vectors of a language model lie in a cone: what is left without their mean is shorter, and so
    is what rounding changes.

    Attributes:
        queries: shape (n queries, dimension).
        block: shape (n passages, dimension), without the mean.
        offset: what the mean adds to the scores of each query.
    """

    def __init__(self, queries: Any, first: Floats) -> None:
        import torch

        self._torch = torch
        self.queries = queries.bfloat16()
        self._moved: Floats = (queries - self.queries.float()).norm(dim=1).numpy()
        self._mean = torch.from_numpy(first.mean(axis=0))
        self.offset: Floats = (queries @ self._mean).numpy()
        self._longest = 1.0
        self.block: Any = None

    def take(self, block: Any) -> None:
        """Round a block of unit vectors."""
        if self.block is None or len(self.block) != len(block):
            self.block = self._torch.empty(block.shape, dtype=self._torch.bfloat16)

        def take(first: int) -> float:
            rest = block[first : first + _CONVERTED] - self._mean
            self.block[first : first + _CONVERTED] = rest
            return float(self._torch.linalg.vector_norm(rest, dim=1).max())

        self._longest = max(one_thread_each(take, range(0, len(block), _CONVERTED)))

    def error(self, part: slice) -> Floats:
        """Most that a score of each query differs from the one in float32.

        By Cauchy and Schwarz: what rounding moved the query by (measured), what it moved the
        passage by (at most), and the sums.
        """
        dimension = self.queries.shape[1]
        share = self._moved[part] * (1 + _ROUNDING) + _ROUNDING + 2 * dimension * _SUMS
        bound: Floats = (1.01 * self._longest * share + dimension * _SUMS).astype(np.float32)
        return bound


def _grouped(scores: Any) -> tuple[Any, Any]:
    """Scores in groups of neighbours, and the greatest of each."""
    groups = scores.view(len(scores), -1, GROUP)
    return groups, groups.amax(2)


def _kth(tops: Any, k: int) -> Floats:
    """What k passages of each row reach, a group each; -inf where there are not so many groups."""
    if k > tops.shape[1]:
        return np.full(len(tops), -np.inf, np.float32)
    least: Floats = tops.topk(k)[0][:, -1].float().numpy()
    return least


def _reaching(groups: Any, tops: Any, floor: Any) -> tuple[Rows, Rows]:
    """Rows and columns of all scores that reach the floor of their row."""
    rows, hit = (tops >= floor[:, None]).nonzero(as_tuple=True)
    among, inside = (groups[rows, hit] >= floor[rows][:, None]).nonzero(as_tuple=True)
    return rows[among].numpy(), (hit[among] * GROUP + inside).numpy()


def _padded(block: Floats) -> Floats:
    """The block with its last vector repeated until groups are full."""
    missing = -len(block) % GROUP
    return np.concatenate([block, np.repeat(block[-1:], missing, axis=0)]) if missing else block


_PAIRS = 1 << 14


def _dots(queries: Floats, rows: Rows, block: Floats, columns: Rows) -> Floats:
    products = np.empty(len(rows), np.float32)
    for at in range(0, len(rows), _PAIRS):
        piece = slice(at, at + _PAIRS)
        np.einsum("ij,ij->i", queries[rows[piece]], block[columns[piece]], out=products[piece])
    return products
