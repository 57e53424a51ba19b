"""Workers that stay loaded, and pieces that outlive them.

Ray Data's actors repeat a block without end when it kills them; its ``max_errored_blocks`` leaves
out blocks that raise, and no others. Here a piece has three tries, is named then, and the others
go on.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from citeforge.engines.embedding.embedder import FailedShard
from citeforge.plugins.ray.connection import connect
from citeforge.plugins.ray.options import RayOptions
from citeforge.plugins.ray.share import Share, alive, share_out
from citeforge.plugins.ray.worker import Raised, Started, Work, Worker
from citeforge.schemas.errors import InputError
from citeforge.schemas.version import __version__

T = TypeVar("T")
R = TypeVar("R")

TRIES = 3
"""Workers that a piece may take with it, and starts that may fail one after another."""
_AHEAD = 2
"""Pieces that a worker has been given: one to do, one on its way."""
_LOOK = 5.0
"""Seconds between looks at a cluster that says nothing."""
_PATIENCE = 30.0
"""Seconds without any worker after which that is told."""


@dataclass(eq=False)
class _Piece(Generic[T]):
    index: int
    content: T
    tries: int = 0


@dataclass(eq=False)
class WorkerHandle(Generic[T]):
    """A worker as the driver sees it; of its pieces it does the first."""

    actor: Any
    began: Any
    started: Started | None = None
    pieces: deque[tuple[Any, _Piece[T]]] = field(default_factory=deque)

    @property
    def has_room(self) -> bool:
        suspect = any(piece.tries for _, piece in self.pieces)
        return self.started is not None and not suspect and len(self.pieces) < _AHEAD


@dataclass
class _Queues(Generic[T, R]):
    """Pieces of one call that no worker has.

    Attributes:
        ready: those that are to be done.
        suspects: those at which a worker died, or which raised.
        results: those that are done, or given up.
    """

    ready: deque[_Piece[T]] = field(default_factory=deque)
    suspects: deque[_Piece[T]] = field(default_factory=deque)
    results: deque[tuple[int, R | FailedShard]] = field(default_factory=deque)

    def settle(self, piece: _Piece[T], result: R | Raised) -> None:
        """Keep what a worker replied."""
        if not isinstance(result, Raised):
            self.results.append((piece.index, result))
        else:
            result.raise_for_user()
            self.try_again(piece, result.text)

    def try_again(self, piece: _Piece[T], reason: str) -> None:
        """Suspect a piece, or give it up after some tries."""
        piece.tries += 1
        if piece.tries < TRIES:
            self.suspects.append(piece)
        else:
            self.results.append((piece.index, FailedShard(piece.tries, reason)))


class WorkerPool(Generic[T, R]):
    """Workers of one sort on a cluster; they are started when there is something to do."""

    def __init__(self, options: RayOptions, device: str, work: Work[T, R]) -> None:
        """Connect.

        Args:
            options: which cluster, and how much of it.
            device: where workers compute, ``auto``, ``cpu``, ``cuda``, …
            work: what they are told at their start.

        Raises:
            MissingExtraError: Ray is not installed.
            InputError: no cluster answers, or it has no room for a worker at all.
        """
        self._ray = connect(options)
        self.share: Share = share_out(options, device, alive(self._ray))
        self._work = work
        self._hands: list[WorkerHandle[T]] = []
        self._failed_starts = 0
        self._first: Started | None = None

    def identity(self) -> dict[str, Any]:
        """What results of the workers depend on; starts one when there is none.

        Raises:
            InputError: no worker can be started.
        """
        while self._first is None:
            if not self._hands:
                self._start()
            self._wait([hand.began for hand in self._hands])
        return self._first.identity

    def run(self, pieces: Iterable[T]) -> Iterator[tuple[int, R | FailedShard]]:
        """Results as they come: (index of the piece, result, or why there is none).

        Args:
            pieces: taken one by one, a few ahead of the work.

        Raises:
            InputError: workers cannot be started, or a piece is wrong in itself.
        """
        coming = enumerate(pieces)
        queues = _Queues[T, R]()
        more = True
        while True:
            while more and len(queues.ready) < self.share.workers:
                following = next(coming, None)
                more = following is not None
                if following is not None:
                    queues.ready.append(_Piece(*following))
            self._hand_out(queues.ready, queues.suspects)
            flying = [ref for hand in self._hands for ref, _ in hand.pieces]
            if not (flying or queues.ready or queues.suspects):
                return
            starting = [hand.began for hand in self._hands if hand.started is None]
            for ref in self._wait(flying + starting):
                self._take(ref, queues)
            while queues.results:
                yield queues.results.popleft()

    def run_splitting(
        self, pieces: list[T], split: Callable[[T], list[T]]
    ) -> Iterator[tuple[T, R | FailedShard]]:
        """(piece, result); a piece that is lost is done again in parts, so that one is named.

        Args:
            pieces: all of them.
            split: the parts of a piece, one for each result that it must have.
        """
        while pieces:
            parts: list[T] = []
            for index, result in self.run(pieces):
                each = split(pieces[index])
                result = of_each(result, len(each))
                smaller = each if isinstance(result, FailedShard) else []
                if len(smaller) > 1:
                    parts.extend(smaller)
                else:
                    yield pieces[index], result
            pieces = parts

    def close(self) -> None:
        """Let the workers go."""
        for hand in self._hands:
            with suppress(self._ray.exceptions.RayError):
                self._ray.kill(hand.actor)
        self._hands = []

    def _start(self) -> None:
        # At every start: a call of another sort may have filled the cluster meanwhile.
        make_room(self._ray, self, self.share)
        remote = self._ray.remote(Worker).options(
            **self.share.resources, scheduling_strategy="SPREAD"
        )
        actor = remote.remote(self._work)
        self._hands.append(WorkerHandle(actor, actor.start.remote()))

    def _hand_out(self, ready: deque[_Piece[T]], suspects: deque[_Piece[T]]) -> None:
        """Give pieces to workers: the least busy first; a suspect to one with nothing else."""
        for hand in self._hands:
            if suspects and hand.started is not None and not hand.pieces:
                self._give(hand, suspects.popleft())
        starting = sum(hand.started is None for hand in self._hands)
        while ready:
            free = [hand for hand in self._hands if hand.has_room]
            if suspects or starting:  # let one become idle; leave some for those that come
                free = [hand for hand in free if not hand.pieces]
            if not free:
                break
            self._give(min(free, key=lambda hand: len(hand.pieces)), ready.popleft())
        idle = sum(hand.started is not None and not hand.pieces for hand in self._hands)
        target = min(self.share.workers, len(self._hands) + len(ready) + len(suspects) - starting)
        if not idle:
            while len(self._hands) < target:
                self._start()

    def _give(self, hand: WorkerHandle[T], piece: _Piece[T]) -> None:
        hand.pieces.append((hand.actor.do.remote(piece.content), piece))

    def _wait(self, refs: list[Any]) -> list[Any]:
        """Refs that are settled; those of starts are taken in here."""
        begun, has_warned = time.monotonic(), False
        done: list[Any] = []
        while True:
            done, _ = self._ray.wait(refs, num_returns=1, timeout=_LOOK)
            if done:
                break
            nobody = all(hand.started is None for hand in self._hands)
            if nobody and not has_warned and time.monotonic() - begun > _PATIENCE:
                has_warned = True
                sys.stderr.write(
                    f"waiting for the cluster: a worker takes {self.share.cpus} cores and "
                    f"{self.share.gpus:g} GPUs; see: ray status\n"
                )
        for hand in list(self._hands):
            if hand.started is None and hand.began in done:
                self._take_start(hand)
        return done

    def _take_start(self, hand: WorkerHandle[T]) -> None:
        start: Started | Raised
        try:
            start = self._ray.get(hand.began)
        except self._ray.exceptions.RayError as error:
            start = Raised(reason_of(error))
        if isinstance(start, Started):
            self._failed_starts = 0
            self._first = self._first or start
            self._require_alike(self._first, start)
            hand.started = start
            return
        self._hands.remove(hand)
        self._failed_starts += 1
        start.raise_for_user()
        if self._failed_starts >= TRIES:
            raise InputError(
                f"{TRIES} workers could not be started, the last one so: {start.text}",
                path="Ray",
                allowed="the same citeforge, libraries and models on every machine",
            )

    @staticmethod
    def _require_alike(first: Started, other: Started) -> None:
        """Workers that would give other bytes are no help.

        Raises:
            InputError: names what differs, and where.
        """
        if other.version != __version__:
            raise InputError(
                f"has citeforge {other.version}, and this is {__version__}",
                path=other.host,
                allowed="the same citeforge on every machine",
            )
        mine, theirs = first.identity, other.identity
        differing = sorted(k for k in mine | theirs if mine.get(k) != theirs.get(k))
        if differing:
            differences = ", ".join(
                f"{key} {theirs.get(key)!r} (on {first.host} {mine.get(key)!r})"
                for key in differing
            )
            raise InputError(
                f"computes otherwise: {differences}",
                path=other.host,
                allowed="machines of one sort, or --device and the model's revision set",
            )

    def _take(self, ref: Any, queues: _Queues[T, R]) -> None:
        hand = next((h for h in self._hands if any(r == ref for r, _ in h.pieces)), None)
        if hand is None:
            return  # a start, or a piece of a worker that is known to be dead
        try:
            result = self._ray.get(ref)
        except self._ray.exceptions.RayError:
            self._on_worker_death(hand, queues)
            return
        piece = next(p for r, p in hand.pieces if r == ref)
        hand.pieces.remove((ref, piece))
        queues.settle(piece, result)

    def _on_worker_death(self, hand: WorkerHandle[T], queues: _Queues[T, R]) -> None:
        """A worker is dead: the first piece that it did not finish is suspected, others are not."""
        self._hands.remove(hand)
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(hand.actor)
        innocent: list[_Piece[T]] = []
        suspected = False
        for ref, piece in hand.pieces:
            try:
                result = self._ray.get(ref)
            except self._ray.exceptions.RayError as error:
                if suspected:
                    innocent.append(piece)
                else:
                    queues.try_again(piece, reason_of(error))
                suspected = True
            else:
                queues.settle(piece, result)
        queues.ready.extendleft(reversed(innocent))


def of_each(result: R | FailedShard, n: int) -> R | FailedShard:
    """The reply to a piece of n things, a list of as many; a failure where it is anything else."""
    if isinstance(result, FailedShard) or (isinstance(result, list) and len(result) == n):
        return result
    replied = f"{len(result)} results" if isinstance(result, list) else type(result).__name__
    return FailedShard(1, f"its reply to {n} was {replied}")


_pools: list[WorkerPool[Any, Any]] = []


def make_room(ray: Any, pool: WorkerPool[Any, Any], share: Share) -> None:
    """Let idle workers of other pools of this process go while the cluster is too full for one."""
    if pool not in _pools:
        _pools.append(pool)
    others = [p for p in _pools if p is not pool]
    while others and not _fits(ray.available_resources(), share):
        other = others.pop(0)
        other.close()
        _pools.remove(other)


def _fits(free: dict[str, float], share: Share) -> bool:
    return free.get("CPU", 0) >= share.cpus and free.get("GPU", 0) >= share.gpus


def reason_of(error: Exception) -> str:
    """One line of one of Ray's errors, which are pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ended = [line for line in lines if line.startswith("The actor is dead because")]
    last = [line for line in lines[-1:] if "Error" in line]
    return (ended or last or lines or [type(error).__name__])[0][:200]
