"""Which token a local model writes next, row by row of a batch, and how surely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from citeforge.engines.llm.records import Request


class Choice:
    """A logits processor that leaves one token a row, and remembers it.

    At temperature 0 it is the likeliest. Otherwise Gumbel noise, drawn by the request's own seed,
    is added to the logits over the temperature: the largest sum is a draw from the distribution
    (the Gumbel-max trick), and no row's draw depends on its neighbours.
    """

    def __init__(self, requests: Sequence[Request], keys: Sequence[str], end: int) -> None:
        """Take one request a row.

        Args:
            requests: whose temperature and seed count.
            keys: their keys, 64 hex digits each, of which noise is seeded.
            end: token that ends a row.
        """
        self._heat = [float(r.params.get("temperature") or 0.0) for r in requests]
        self._noise = [
            np.random.Generator(np.random.Philox(key=int(k[:32], 16))) if heat else None
            for k, heat in zip(keys, self._heat, strict=True)
        ]
        self._end = end
        self._rows: list[list[tuple[int, float, float]]] = [[] for _ in requests]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """As transformers calls it: ids and logits, shape (rows, vocabulary)."""
        import torch

        sums = scores.clone()
        for row, (heat, noise) in enumerate(zip(self._heat, self._noise, strict=True)):
            if noise is not None:
                drawn = noise.gumbel(size=sums.shape[1]).astype(np.float32)
                sums[row] = sums[row] / heat + torch.from_numpy(drawn)
        best = sums.topk(2, dim=1)
        logs = torch.log_softmax(scores.float(), dim=1)
        ids = best.indices[:, 0].tolist()
        margins = (best.values[:, 0] - best.values[:, 1]).tolist()
        for row, (token, margin) in enumerate(zip(ids, margins, strict=True)):
            mine = self._rows[row]
            if not mine or mine[-1][0] != self._end:
                mine.append((token, float(logs[row, token]), margin))
        return sums

    def tokens(self, row: int, most: int) -> tuple[list[int], list[float]]:
        """The first ``most`` tokens of a row with the logarithms of their probabilities, the ending
        one included."""
        found = self._rows[row][:most]
        return [token for token, _, _ in found], [log for _, log, _ in found]

    def margin(self, row: int, most: int) -> float:
        """Least lead of a chosen token over the next best; infinite where nothing was written."""
        return min((m for _, _, m in self._rows[row][:most]), default=float("inf"))
