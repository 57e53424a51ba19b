"""Pieces of work done by an actor pool of Ray Data: results as they come, lost pieces by number.

Ray Data places actors, and repeats a piece whose worker dies, without end: its own limit is
deprecated (Ray 2.60). So the tries of each piece are counted; at the fourth one it is left out, and
the others go on.
"""

import pickle
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import pyarrow as pa

from citeforge.engines.models.embedder import FailedShard
from citeforge.plugins.ray.connection import connect, first_line
from citeforge.plugins.ray.options import RayOptions
from citeforge.schemas.errors import CiteforgeError, InputError
from citeforge.schemas.version import __version__

_TRIES = 3
"""Workers that may die of a piece before it is left out."""
_MOST_LOST = 10
"""Pieces that may be left out; where more fail, the fault is hardly theirs, and the run ends."""
_PATIENCE = 30
"""Seconds for which room in a full cluster is awaited without a message."""
_SILENCE_SECONDS = 7200.0
"""Longest time without any result."""
_WINDOW_BYTES = 64 << 20
"""Bytes of pieces per worker that Ray holds at a time; with the next ones, workers start anew."""


class Loaded(NamedTuple):
    """A model in a worker: what results depend on, and what turns a piece into its result."""

    identity: Callable[[], dict[str, Any]]
    do: Callable[[Any], Any]


class Reply(NamedTuple):
    """Result of a piece as it travels back; errors are values, because many cannot be sent."""

    host: str
    identity: dict[str, Any]
    result: Any


class Tries:
    """An actor that outlives workers: it counts those that began each piece."""

    def __init__(self) -> None:
        self._begun: Counter[int] = Counter()

    def begin(self, index: int) -> int:
        """Count one more; return how many have begun the piece."""
        self._begun[index] += 1
        return self._begun[index]


class Worker:
    """The class of the actors; the first piece loads the model."""

    def __init__(self, load: Callable[[], Loaded], begin: Callable[[int], int]) -> None:
        self._load, self._begin = load, begin

    @cached_property
    def _loaded(self) -> Loaded:
        return self._load()

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Replace the piece of a table of one row by its reply."""
        (index,), (piece,) = batch["index"].to_pylist(), batch["piece"].to_pylist()
        reply = pickle.dumps(self.reply(index, pickle.loads(piece)))
        return pa.table({"index": [index], "reply": pa.array([reply], pa.large_binary())})

    def reply(self, index: int, piece: Any) -> Reply:
        """Do a piece; None is one that only loads the model."""
        identity, result, loaded = {"citeforge": __version__}, None, None
        if self._begin(index) > _TRIES:
            return Reply("", {}, FailedShard(_TRIES, "it died; see: ray logs"))
        try:
            loaded = self._loaded
            identity |= loaded.identity()
            result = None if piece is None else loaded.do(piece)
        except CiteforgeError as error:
            result = error
        except Exception as error:  # whatever a model's code may raise; the driver reports it
            lost = FailedShard(1, f"{type(error).__name__}: {error}")
            result = _ended(f"a worker cannot start: {lost}") if loaded is None else lost
        return Reply(socket.gethostname(), identity, result)


class Pool:
    """Actors of one sort; they start with each :meth:`run` and end with it."""

    def __init__(self, options: RayOptions, device: str, load: Callable[[], Loaded]) -> None:
        """Connect.

        Args:
            options: which cluster, and how much of it.
            device: where workers compute, ``auto``, ``cpu``, ``cuda``, …
            load: loads the model in a worker; can be pickled.

        Raises:
            CiteforgeError: see :func:`~citeforge.plugins.ray.connection.connect` and :func:`share`.
        """
        self._ray = connect(options)
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        self._workers, self._cpus, self._gpus = share(options, device, nodes)
        self._load = load
        self._first: Reply | None = None

    def identity(self) -> dict[str, Any]:
        """Return what results of the workers depend on; the first call starts a worker.

        Raises:
            InputError: none can be started.
        """
        if self._first is None:
            for _, lost in self.run([None]):
                if lost is not None:
                    raise _ended(f"a worker cannot start: {lost}")
        assert self._first is not None
        return {k: v for k, v in self._first.identity.items() if k != "citeforge"}

    def run(self, pieces: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield (index of a piece, its result or a ``FailedShard``) as they come.

        Args:
            pieces: taken window by window, so that memory stays bounded.

        Raises:
            CiteforgeError: a piece is wrong in itself, workers cannot start, differ, or lose too
                many pieces.
        """
        n_lost = 0
        for window in self._windows(pieces):
            for index, reply in self._replies(window):
                yield index, self._checked(reply)
                if isinstance(reply.result, FailedShard) and (n_lost := n_lost + 1) > _MOST_LOST:
                    raise _ended(f"{n_lost} pieces failed, the last one so: {reply.result.reason}")

    def _windows(self, pieces: Iterable[Any]) -> Iterator[list[dict[str, Any]]]:
        window, size = list[dict[str, Any]](), 0
        for index, piece in enumerate(pieces):
            window.append({"index": index, "piece": pickle.dumps(piece)})
            size += len(window[-1]["piece"])
            if size >= _WINDOW_BYTES * self._workers:
                yield window
                window, size = [], 0
        if window:
            yield window

    def _replies(self, window: list[dict[str, Any]]) -> Iterator[tuple[int, Reply]]:
        self._await_room()
        data = self._ray.data
        tries = self._ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Tries).remote()
        rows = data.from_items(window, override_num_blocks=len(window))
        rows.context.enable_progress_bars = False
        rows.context.execution_no_progress_timeout_s = _SILENCE_SECONDS
        size = min(self._workers, len(window))
        replies = rows.map_batches(
            Worker,
            fn_constructor_args=(self._load, partial(_begin, tries)),
            batch_size=1,
            batch_format="pyarrow",
            compute=data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=1),
            num_cpus=self._cpus,
            num_gpus=self._gpus,
        )
        errors = data.exceptions
        try:
            for table in replies.iter_batches(batch_size=None, batch_format="pyarrow"):
                for row in table.to_pylist():
                    yield row["index"], pickle.loads(row["reply"])
        except (
            self._ray.exceptions.RayError, errors.SystemException, errors.ExecutionTimeoutError
        ) as error:  # fmt: skip
            raise _ended(f"the workers failed: {first_line(error)}") from error

    def _await_room(self) -> None:
        for _ in range(_PATIENCE):
            free = self._ray.available_resources()
            if free.get("CPU", 0) >= self._cpus and free.get("GPU", 0) >= self._gpus:
                return
            time.sleep(1)
        size = f"{self._cpus} cores and {self._gpus:g} GPUs"
        sys.stderr.write(f"waiting for the cluster: a worker takes {size}; see: ray status\n")

    def _checked(self, reply: Reply) -> Any:
        """Return the result of a worker that computes the same bytes as the first one."""
        if isinstance(reply.result, CiteforgeError):
            raise reply.result
        if isinstance(reply.result, FailedShard):
            return reply.result
        self._first = self._first or reply
        mine = {**self._first.identity, "citeforge": __version__}
        differences = ", ".join(
            f"{key} {reply.identity.get(key)!r} (on {self._first.host} {mine.get(key)!r})"
            for key in sorted(mine | reply.identity)
            if reply.identity.get(key) != mine.get(key)
        )
        if differences:
            raise InputError(
                f"computes differently: {differences}", path=reply.host, code="not-comparable",
                allowed="the same citeforge on machines of one sort, or --device and the model's "
                "revision set",
            )  # fmt: skip
        return reply.result


def _begin(tries: Any, index: int) -> int:
    import ray

    return int(ray.get(tries.begin.remote(index)))


def _ended(message: str) -> InputError:
    allowed = "the same citeforge, libraries and models on every machine, and room for a worker "
    return InputError(
        message, path="Ray", allowed=f"{allowed}(see: ray status). Run again with --resume",
        code="failed-workers",
    )  # fmt: skip


def share(
    options: RayOptions, device: str, nodes: Sequence[dict[str, float]]
) -> tuple[int, int, float]:
    """Share machines out: (workers, cores of each, as many as can be, GPUs of each).

    Args:
        options: what was asked for.
        device: ``cpu`` takes no GPU.
        nodes: resources of each machine, as Ray names them (``CPU``, ``GPU``).

    Raises:
        InputError: no machine can hold a worker.
    """
    gpus = options.gpus
    if gpus is None:
        gpus = float(not device.startswith("cpu") and any(n.get("GPU") for n in nodes))

    def room(cpus: int) -> int:
        by_gpus = [int(n.get("GPU", 0) / gpus) if gpus else sys.maxsize for n in nodes]
        return sum(map(min, by_gpus, (int(n.get("CPU", 0)) // cpus for n in nodes)))

    usual = room(1) if gpus else sum(n.get("CPU", 0) >= 1 for n in nodes)
    workers = min(options.workers or usual, room(1))
    if not workers:
        raise InputError(
            f"no machine of the cluster has {gpus:g} GPUs" if gpus else "no machine has a core",
            path="Ray", allowed="fewer --ray-gpus, or a cluster that has them (see: ray status)",
            code="no-cluster",
        )  # fmt: skip
    most = max(int(n.get("CPU", 0)) for n in nodes)
    return workers, next(c for c in range(most, 0, -1) if room(c) >= workers), gpus
