"""Which token a local model writes next, row by row of a batch, and how surely."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from citeforge.engines.llm.records import Request


class ChosenToken(NamedTuple):
    """A token that was written.

    Attributes:
        token: its number.
        log: logarithm of its probability, at temperature 1.
        lead: how far the next best was behind it, in logits.
    """

    token: int
    log: float
    lead: float


class TokenChooser:
    """A logits processor that leaves one token a row, and remembers it.

    At temperature 0 it is the likeliest. Otherwise Gumbel noise times the temperature, drawn by
    the request's own key, is added to the logits: the largest sum is a draw from the distribution
    (the Gumbel-max trick), and no row's draw depends on its neighbours.

    Attributes:
        rows: what was written in each, the ending token included and nothing behind it.
    """

    def __init__(self, requests: Sequence[Request], keys: Sequence[str], end: int) -> None:
        """Take one request a row.

        Args:
            requests: whose temperature counts.
            keys: their keys, 64 hex digits each, of which noise is seeded.
            end: token that ends a row.
        """
        self._heat = [float(r.params.get("temperature") or 0.0) for r in requests]
        self._noise = [
            np.random.Generator(np.random.Philox(key=int(k[:32], 16))) if heat else None
            for k, heat in zip(keys, self._heat, strict=True)
        ]
        self._end = end
        self.rows: list[list[ChosenToken]] = [[] for _ in requests]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """As transformers calls it: ids and logits, shape (rows, vocabulary)."""
        import torch

        sums = scores.clone()
        for row, (heat, noise) in enumerate(zip(self._heat, self._noise, strict=True)):
            if noise is not None:
                drawn = heat * noise.gumbel(size=sums.shape[1])
                sums[row] += torch.from_numpy(drawn.astype(np.float32))
        best = sums.topk(2, dim=1)
        logs = torch.log_softmax(scores.float(), dim=1)
        ids = best.indices[:, 0].tolist()
        leads = (best.values[:, 0] - best.values[:, 1]).tolist()
        for row, (token, lead) in enumerate(zip(ids, leads, strict=True)):
            mine = self.rows[row]
            if not mine or mine[-1].token != self._end:
                mine.append(ChosenToken(token, float(logs[row, token]), lead))
        return sums
