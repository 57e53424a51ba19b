"""Judging by the workers of a cluster; the model is only there, verdicts are kept here."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from citeforge.engines.embedding.embedder import FailedShard
from citeforge.engines.judge.records import Decision, Judge, JudgeFailure, Keep, Pair
from citeforge.plugins.ray.options import RayOptions
from citeforge.plugins.ray.pool import WorkerPool, of_each
from citeforge.plugins.ray.worker import Worked

PAIRS = 128
"""Pairs a piece: batches of 8 and of 32 are cut in it where they would be cut here."""
_COUNTED = 1024
"""Likewise where tokens are only counted."""

Asked = tuple[Literal["count", "decide"], Sequence[Pair]]
Told = list[Any]


def _judging(make: Callable[[], Judge]) -> Worked[Asked, Told]:
    """A judge in a worker: tokens of each pair (None where it counts none), or decisions."""
    judge = make()

    def identity() -> dict[str, Any]:
        return {
            "judge": judge.identity(),
            "signature": judge.signature,
            "comparable": judge.comparable,
        }

    def do(piece: Asked) -> Told:
        what, pairs = piece
        if what == "count":
            return [judge.count_tokens([pair]) for pair in pairs]
        decisions: dict[int, Decision] = {}
        judge.decide(pairs, decisions.update)
        return [decisions[i] for i in range(len(pairs))]

    return Worked(identity, do)


class ClusterJudge:
    """A judge whose model is in the workers alone.

    Pairs are sorted by length as a local judge sorts them, and handed out in whole batches, so that
    each batch holds the pairs that it would hold here.
    """

    def __init__(
        self,
        make: Callable[[], Judge],
        device: str,
        options: RayOptions,
        batch_size: int | None = None,
    ) -> None:
        """Connect; a worker is started when something is asked.

        Args:
            make: makes the judge; called in each worker.
            device: where it computes.
            options: which cluster, and how much of it.
            batch_size: pairs a batch, where the user says so.
        """
        self._pool: WorkerPool[Asked, Told] = WorkerPool(options, device, partial(_judging, make))
        self._size = PAIRS if batch_size is None else batch_size * max(1, PAIRS // batch_size)

    @property
    def signature(self) -> str:
        """The judge's."""
        return str(self._pool.identity()["signature"])

    @property
    def comparable(self) -> bool:
        """The judge's."""
        return bool(self._pool.identity()["comparable"])

    def identity(self) -> dict[str, Any]:
        """The judge's; that of all workers."""
        identity: dict[str, Any] = self._pool.identity()["judge"]
        return identity

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        """Tokens of all pairs; None when the judge counts none, or no worker can."""
        counts = self._counts(pairs)
        defined = [n for n in counts if n is not None]
        return sum(defined) if len(defined) == len(counts) else None

    def _counts(self, pairs: Sequence[Pair]) -> list[int | None]:
        pieces: list[Asked] = [
            ("count", pairs[at : at + _COUNTED]) for at in range(0, len(pairs), _COUNTED)
        ]
        counts: list[list[int | None]] = [[None] * len(piece[1]) for piece in pieces]
        for index, result in self._pool.run(pieces):
            result = of_each(result, len(counts[index]))
            if not isinstance(result, FailedShard):
                counts[index] = result
        return [n for part in counts for n in part]

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        """Decide every pair; one that no worker survives is a failure, and the others go on."""
        places = {pair: at for at, pair in enumerate(pairs)}
        counts = self._counts(pairs)
        order = sorted(range(len(pairs)), key=lambda i: (-(counts[i] or 0), pairs[i]))
        pieces: list[Asked] = [
            ("decide", [pairs[i] for i in order[at : at + self._size]])
            for at in range(0, len(order), self._size)
        ]
        for (_, piece), result in self._pool.run_splitting(pieces, _one_by_one):
            decisions = (
                [JudgeFailure(str(result))] * len(piece)
                if isinstance(result, FailedShard)
                else result
            )
            keep([(places[p], d) for p, d in zip(piece, decisions, strict=True)])


def _one_by_one(piece: Asked) -> list[Asked]:
    what, pairs = piece
    return [(what, [pair]) for pair in pairs]
