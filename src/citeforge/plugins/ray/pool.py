"""Workers that stay loaded, and pieces that outlive them.

Ray Data's actors repeat a block without end when it kills them; its ``max_errored_blocks`` leaves
out blocks that raise, and no others. Here a piece has three tries, is named then, and the others
go on. A worker has one piece at a time, so that its death tells which piece is to blame. Every
wait ends: who says nothing for too long is taken for dead.
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
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
_LOOK_SECONDS = 5.0
"""Seconds between looks at a cluster that says nothing."""
_PATIENCE_SECONDS = 30.0
"""Seconds without any worker after which that is told."""
_START_SECONDS = 900.0
"""Longest that a worker may take to be placed, to load, and to fetch its model."""
_PIECE_SECONDS = 7200.0
"""Longest that a worker may be silent over a piece."""


@dataclass(eq=False)
class _Piece(Generic[T]):
    index: int
    content: T
    tries: int = 0


@dataclass(eq=False)
class WorkerHandle(Generic[T]):
    """A worker as the driver sees it.

    Attributes:
        actor: Ray's.
        reply: what it is to reply: to its start, or to its piece; None while it is idle.
        piece: what it does; None while it starts, or is idle.
        since: when it was last told something.
    """

    actor: Any
    reply: Any
    piece: _Piece[T] | None = None
    since: float = field(default_factory=time.monotonic)

    @property
    def silence(self) -> str:
        """That it has said nothing for too long; empty while that may still be."""
        longest = _START_SECONDS if self.piece is None else _PIECE_SECONDS
        is_late = time.monotonic() - self.since > longest
        what = "its start" if self.piece is None else "a piece"
        return f"it has said nothing of {what} for {longest:g} s" if is_late else ""


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
        self._workers: list[WorkerHandle[T]] = []
        self._failed_starts = 0
        self._first: Started | None = None

    def identity(self) -> dict[str, Any]:
        """What results of the workers depend on; starts one when there is none.

        Raises:
            InputError: no worker can be started.
        """
        while self._first is None:
            if not self._workers:
                self._start()
            for worker in self._wait():
                self._take_start(self._take(worker))
        return self._first.identity

    def run(self, pieces: Iterable[T]) -> Iterator[tuple[int, R | FailedShard]]:
        """Results as they come: (index of the piece, result, or why there is none).

        Args:
            pieces: taken one by one, a few ahead of the work.

        Raises:
            InputError: workers cannot be started, or a piece is wrong in itself.
        """
        coming = (_Piece(index, content) for index, content in enumerate(pieces))
        ready: deque[_Piece[T]] = deque()
        try:
            while True:
                ready.extend(islice(coming, max(0, self.share.workers - len(ready))))
                for worker in self._workers:
                    if ready and worker.reply is None:
                        worker.piece = ready.popleft()
                        worker.reply = worker.actor.do.remote(worker.piece.content)
                        worker.since = time.monotonic()
                n_pieces = len(ready) + sum(w.piece is not None for w in self._workers)
                while len(self._workers) < min(self.share.workers, n_pieces):
                    self._start()
                if not n_pieces:
                    return
                for worker in self._wait():
                    piece, reply = worker.piece, self._take(worker)
                    if piece is None:
                        self._take_start(reply)
                    elif not isinstance(reply, Raised):
                        yield piece.index, reply
                    else:
                        reply.raise_for_user()
                        piece.tries += 1
                        if piece.tries < TRIES:
                            ready.append(piece)
                        else:
                            yield piece.index, FailedShard(piece.tries, reply.text)
        finally:  # nobody waits for what is still being done
            for worker in [w for w in self._workers if w.piece is not None]:
                self._let_go(worker)

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
                if isinstance(result, FailedShard) and len(each) > 1:
                    parts.extend(each)
                else:
                    yield pieces[index], result
            pieces = parts

    def close(self) -> None:
        """Let the workers go."""
        for worker in list(self._workers):
            self._let_go(worker)

    def _let_go(self, worker: WorkerHandle[T]) -> None:
        self._workers.remove(worker)
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(worker.actor)

    def _start(self) -> None:
        # At every start: a call of another sort may have filled the cluster meanwhile.
        make_room(self._ray, self, self.share)
        remote = self._ray.remote(Worker).options(
            **self.share.resources, scheduling_strategy="SPREAD"
        )
        actor = remote.remote(self._work)
        self._workers.append(WorkerHandle(actor, actor.start.remote()))

    def _wait(self) -> list[WorkerHandle[T]]:
        """Workers that have replied, or have been silent for too long."""
        begun, has_warned = time.monotonic(), False
        waiting = {w.reply: w for w in self._workers if w.reply is not None}
        while True:
            done, _ = self._ray.wait(list(waiting), num_returns=1, timeout=_LOOK_SECONDS)
            settled = [w for reply, w in waiting.items() if reply in done or w.silence]
            if settled:
                return settled
            nobody = all(w.reply is not None and w.piece is None for w in self._workers)
            if nobody and not has_warned and time.monotonic() - begun > _PATIENCE_SECONDS:
                has_warned = True
                sys.stderr.write(
                    f"waiting for the cluster: a worker takes {self.share.cpus} cores and "
                    f"{self.share.gpus:g} GPUs; see: ray status\n"
                )

    def _take(self, worker: WorkerHandle[T]) -> Any:
        """What a worker replied, or how it died; a dead one, or one that did not start, goes."""
        reply: Any
        try:
            reply = self._ray.get(worker.reply, timeout=_PATIENCE_SECONDS)
        except self._ray.exceptions.RayError as error:
            reply = Raised(worker.silence or reason_of(error))
            self._let_go(worker)
        else:
            if worker.piece is None and isinstance(reply, Raised):
                self._let_go(worker)
        worker.reply = worker.piece = None
        return reply

    def _take_start(self, start: Started | Raised) -> None:
        if isinstance(start, Started):
            self._failed_starts = 0
            self._first = self._first or start
            _require_alike(self._first, start)
            return
        self._failed_starts += 1
        start.raise_for_user()
        if self._failed_starts >= TRIES:
            raise InputError(
                f"{TRIES} workers could not be started; the last error: {start.text}",
                path="Ray",
                allowed="the same citeforge, libraries and models on every machine, and room for "
                "a worker (see: ray status)",
                code="failed-workers",
            )


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
            code="wrong-version",
        )
    mine, theirs = first.identity, other.identity
    differences = ", ".join(
        f"{key} {theirs.get(key)!r} (on {first.host} {mine.get(key)!r})"
        for key in sorted(mine | theirs)
        if mine.get(key) != theirs.get(key)
    )
    if differences:
        raise InputError(
            f"computes differently: {differences}",
            path=other.host,
            allowed="machines of one sort, or --device and the model's revision set",
            code="not-comparable",
        )


def of_each(result: R | FailedShard, n: int) -> R | FailedShard:
    """The reply to a piece of n things, a list of as many; a failure where it is anything else."""
    if isinstance(result, FailedShard) or (isinstance(result, list) and len(result) == n):
        return result
    replied = f"{len(result)} results" if isinstance(result, list) else type(result).__name__
    return FailedShard(1, f"its reply to {n} was {replied}")


_pools: list[WorkerPool[Any, Any]] = []


def make_room(ray: Any, pool: WorkerPool[Any, Any], share: Share) -> None:
    """Let idle workers of other pools of this process go while the cluster is too full for one."""

    def has_room() -> bool:
        free = ray.available_resources()
        return bool(free.get("CPU", 0) >= share.cpus and free.get("GPU", 0) >= share.gpus)

    if pool not in _pools:
        _pools.append(pool)
    for other in [p for p in _pools if p is not pool]:
        if has_room():
            return
        other.close()
        _pools.remove(other)


def reason_of(error: Exception) -> str:
    """One line of one of Ray's errors, which are pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ended = [line for line in lines if line.startswith("The actor is dead because")]
    last = [line for line in lines[-1:] if "Error" in line]
    return (ended or last or lines or [type(error).__name__])[0][:200]
