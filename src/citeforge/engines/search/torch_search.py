"""Retrieving candidates by matrix products of torch, on any device it knows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from citeforge.schemas.errors import InputError

Floats = npt.NDArray[np.float32]
_ON_CPU, _ON_GPU = 1 << 10, 1 << 14
"""Queries a product; on a CPU, scores of more would not stay in the cache."""


class Best:
    """The highest scores so far of each query, and where they were found.

    Attributes:
        scores: shape (n queries, k), best first; -inf where nothing was found yet.
        where: positions, of the same shape; -1 likewise.
    """

    def __init__(self, queries: int, k: int) -> None:
        self.k = k
        self.scores: Floats = np.full((queries, k), -np.inf, np.float32)
        self.where: npt.NDArray[np.int64] = np.full((queries, k), -1, np.int64)

    def add(self, scores: Floats, where: npt.NDArray[np.int64]) -> None:
        """Take in further scores, shape (n queries, any number)."""
        both = np.concatenate([self.scores, scores], axis=1)
        places = np.concatenate([self.where, where], axis=1)
        order = np.argsort(-both, axis=1, kind="stable")[:, : self.k]
        self.scores = np.take_along_axis(both, order, axis=1)
        self.where = np.take_along_axis(places, order, axis=1)


@dataclass
class TorchSearch:
    """Exact search by matrix products on ``device``.

    Attributes:
        queries: unit vectors, shape (n queries, dimension).
        device: of torch: ``cuda``, ``cuda:1``, ``cpu``, …
    """

    queries: Floats
    device: str

    def __post_init__(self) -> None:
        import torch

        self._torch = torch
        self._left = torch.from_numpy(self.queries).to(self.device)
        # Queries a product; halved when memory runs out.
        self._at_once = min(len(self.queries), _ON_CPU if self.device == "cpu" else _ON_GPU)

    def search(self, block: Floats, start: int, best: Best) -> None:
        """Add what a block has to the best so far.

        Raises:
            InputError: memory does not suffice for a single query.
        """
        right = self._torch.from_numpy(block).to(self.device).T
        k = min(best.k, len(block))
        tops: list[Any] = []
        first = 0
        while first < len(self.queries):
            top = self._top(self._left[first : first + self._at_once], right, k)
            if top is None:
                self._halve()
            else:
                tops.append(top)
                first += self._at_once
        scores, rows = (self._torch.cat(parts).numpy() for parts in zip(*tops, strict=True))
        best.add(scores, rows + start)

    def _top(self, left: Any, right: Any, k: int) -> tuple[Any, Any] | None:
        """Scores and rows, best first; None where memory does not suffice."""
        # Products of TensorFloat-32 would be too rough for the bound of candidates.
        before = self._torch.get_float32_matmul_precision()
        self._torch.set_float32_matmul_precision("highest")
        try:
            values, rows = (left @ right).topk(k, dim=1)
            return values.cpu(), rows.cpu()
        except self._torch.OutOfMemoryError:
            return None
        finally:
            self._torch.set_float32_matmul_precision(before)

    def _halve(self) -> None:
        if self.device.startswith("cuda"):
            self._torch.cuda.empty_cache()
        if self._at_once == 1:
            raise InputError(
                "memory does not suffice to search one block for one query",
                path=self.device,
                allowed="--device cpu, or a device that nothing else uses",
            )
        self._at_once //= 2
