"""The embedded LLM in the workers of a cluster; answers are kept here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from citeforge.engines.cluster.lost import FailedShard
from citeforge.engines.cluster.options import ClusterOptions
from citeforge.engines.cluster.pool import WorkerPool
from citeforge.engines.llm.local.offline import ROWS, OfflineLlm
from citeforge.engines.llm.records import Failure, Request, Result

_BATCHES = 2
"""Batches a thread in a piece: few, so that a driver that dies loses few answers."""


@dataclass(frozen=True)
class WritingWork:
    """What a worker that writes is made with: nothing."""

    def load(self) -> WritingWorker:
        """The model is loaded with the first request."""
        return WritingWorker()


class WritingWorker:
    """The embedded LLM in a worker."""

    def __init__(self) -> None:
        self._llm = OfflineLlm()

    def identity(self) -> dict[str, Any]:
        """What answers depend on."""
        return self._llm.identity()

    def do(self, piece: Sequence[Request]) -> list[Result]:
        """One result a request."""
        return self._llm.complete(piece)


class Writers:
    """Workers with the embedded LLM."""

    def __init__(self, options: ClusterOptions) -> None:
        self._pool: WorkerPool[list[Request], list[Result]] = WorkerPool(
            options, "cpu", WritingWork()
        )

    def answers(self, requests: dict[str, Request]) -> Iterator[tuple[str, Result]]:
        """Results as they come.

        Args:
            requests: by key, which comes back.
        """
        # Of like length together, as batches are; an answer depends on its request alone.
        plain = {key: _plain(request) for key, request in requests.items()}
        keys = sorted(plain, key=lambda k: (plain[k].stop, -sum(map(len, plain[k].texts)), k))
        size = ROWS * _BATCHES * self._pool.share.cpus
        size = max(1, min(size, -(-len(keys) // self._pool.share.workers)))
        names = {id(request): key for key, request in plain.items()}
        pieces = [[plain[k] for k in keys[at : at + size]] for at in range(0, len(keys), size)]
        for piece, found in self._pool.run_splitting(pieces, lambda p: [[one] for one in p]):
            results: Sequence[Result] = (
                [Failure("exhausted", str(found))] * len(piece)
                if isinstance(found, FailedShard)
                else found
            )
            for request, result in zip(piece, results, strict=True):
                yield names[id(request)], result


def _plain(request: Request) -> Request:
    """Without what only the driver looks at: it decides what an answer is worth."""
    return replace(request, task="", values={}, needs_text=False)
