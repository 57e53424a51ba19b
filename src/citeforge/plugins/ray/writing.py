"""A local LLM in the workers of a cluster; answers are kept here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from citeforge.engines.embedding.embedder import FailedShard
from citeforge.engines.llm.records import Failure, Llm, Request, Result
from citeforge.plugins.ray.options import RayOptions
from citeforge.plugins.ray.pool import WorkerPool
from citeforge.plugins.ray.worker import Worked

_BATCHES_PER_THREAD = 2
"""Batches a thread in a piece: few, so that a driver that dies loses few answers."""


def _writing(make: Callable[[], Llm]) -> Worked[list[Request], list[Result]]:
    """An LLM in a worker; its model is loaded with the first request."""
    llm = make()
    return Worked(llm.identity, llm.complete)


class Writers:
    """Workers with an LLM."""

    def __init__(self, options: RayOptions, make: Callable[[], Llm], rows: int) -> None:
        """Connect.

        Args:
            options: which cluster, and how much of it.
            make: makes the LLM; called in each worker.
            rows: requests that it answers together.
        """
        self._rows = rows
        self._pool: WorkerPool[list[Request], list[Result]] = WorkerPool(
            options, "cpu", partial(_writing, make)
        )

    def answers(self, requests: Mapping[str, Request]) -> Iterator[tuple[str, Result]]:
        """Results as they come.

        Args:
            requests: by key, which comes back.
        """
        # Of like length together, as batches are; an answer depends on its request alone.
        plain = {key: _plain(request) for key, request in requests.items()}
        keys = sorted(plain, key=lambda k: (plain[k].stop, -sum(map(len, plain[k].texts)), k))
        size = self._rows * _BATCHES_PER_THREAD * self._pool.share.cpus
        size = max(1, min(size, -(-len(keys) // self._pool.share.workers)))
        names = {id(request): key for key, request in plain.items()}
        pieces = [[plain[k] for k in keys[at : at + size]] for at in range(0, len(keys), size)]
        for piece, outcome in self._pool.run_splitting(pieces, lambda p: [[one] for one in p]):
            results: Sequence[Result] = (
                [Failure("exhausted", str(outcome))] * len(piece)
                if isinstance(outcome, FailedShard)
                else outcome
            )
            for request, result in zip(piece, results, strict=True):
                yield names[id(request)], result


def _plain(request: Request) -> Request:
    """Without what only the driver looks at: it decides what an answer is worth."""
    return replace(request, task="", values={}, needs_text=False)
