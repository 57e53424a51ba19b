"""Nominating on a device of torch: the same products in float32, as many queries as fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from citeforge.engines.search.gemm import Best, Floats
from citeforge.schemas.errors import InputError

_QUERIES = 1 << 14


@dataclass
class TorchSearch:
    """Exact search by matrix products on ``device``.

    Attributes:
        queries: unit vectors, shape (n queries, dimension).
        device: of torch: ``cuda``, ``cuda:1``, ``cpu``, …
        at_once: queries a product; halved when memory runs out.
    """

    queries: Floats
    device: str
    at_once: int = _QUERIES

    def __post_init__(self) -> None:
        self._left = torch.from_numpy(self.queries).to(self.device)

    def search(self, block: Floats, start: int, best: Best) -> None:
        """Add what a block has to the best so far.

        Raises:
            InputError: memory does not suffice for a single query.
        """
        right = torch.from_numpy(block).to(self.device).T
        k = min(best.k, len(block))
        scores = torch.empty((len(self.queries), k))
        where = torch.empty((len(self.queries), k), dtype=torch.int64)
        first = 0
        while first < len(self.queries):
            part = slice(first, first + self.at_once)
            found = self._top(self._left[part], right, k)
            if found is None:
                self._halve()
                continue
            scores[part], where[part] = found
            first = part.stop
        best.add(scores.numpy(), where.numpy() + start)

    def _top(self, left: Any, right: Any, k: int) -> tuple[Any, Any] | None:
        """Scores and rows, best first; None where memory does not suffice."""
        # Products of TensorFloat-32 would be too rough for the bound of nominations.
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        try:
            values, rows = (left @ right).topk(k, dim=1)
            return values.cpu(), rows.cpu()
        except torch.OutOfMemoryError:
            return None
        finally:
            torch.set_float32_matmul_precision(before)

    def _halve(self) -> None:
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()
        if self.at_once == 1:
            raise InputError(
                "memory does not suffice to search one block for one query",
                path=self.device,
                allowed="--device cpu, or a device that nothing else uses",
            )
        self.at_once = min(self.at_once, len(self.queries)) // 2 or 1
