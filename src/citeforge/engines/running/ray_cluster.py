"""A Ray cluster, and blocks of work that an actor pool of Ray Data computes on it.

Ray Data repeats a block whose worker dies, without end: its own limit is deprecated (Ray 2.60). So
an actor counts the workers that began each block; a run ends when one block killed three.
"""

import logging
import os
import pickle
import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import pyarrow as pa

from citeforge.engines.keys import error_line, one_line
from citeforge.engines.posix import usable_processors
from citeforge.schemas.errors import CiteforgeError, InputError, extras_named, require
from citeforge.schemas.recipes.ray import RayOptions
from citeforge.schemas.version import __version__

_ALLOWED = (
    "expected HOST:PORT as `ray start --head` prints it; or neither --ray-address nor RAY_ADDRESS"
)
_ATTEMPTS = 3
"""Workers that one block may kill."""
_WINDOW_BYTES = 64 << 20
"""Bytes of blocks per worker that Ray holds at a time; with the next ones, workers start anew."""
LoadedModel = tuple[dict[str, Any], Callable[..., Any]]
"""(facts about a model that its results depend on, function that computes a block's result)"""


def require_reachable(address: str | None) -> str | None:
    """Check that a Ray cluster answers; return its address, or None for a Ray on this machine.

    Raises:
        CiteforgeError: Ray is not installed, or nothing answers.
    """
    require("ray")
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address == "local":
        return None
    host, _, port = address.rpartition(":")
    try:  # Ray itself would try for minutes
        socket.create_connection((host.strip("[]"), int(port)), 5).close()
    except (OSError, ValueError, OverflowError) as error:
        reason = "no Ray cluster answers within 5 s"
        raise InputError(reason, path=address, allowed=_ALLOWED, code="no-cluster") from error
    return address


def connect(address: str | None) -> Any:
    """Connect this process to a Ray cluster, unless it is connected; return the module ``ray``.

    Raises:
        CiteforgeError: there is no cluster, or it refuses this process.
    """
    address = require_reachable(address)
    cluster: dict[str, Any] = {"address": address}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is None:  # starts a Ray on loopback only; "local" never joins one that runs
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # read by the import
        cluster = {"address": "local", "_node_ip_address": "127.0.0.1", "include_dashboard": False}
        # More of the store goes to disk.
        cluster |= {"num_cpus": usable_processors(), "object_store_memory": 512 << 20}
    elif "RAY_AUTH_TOKEN" in os.environ or (Path.home() / ".ray" / "auth_token").is_file():
        os.environ.setdefault("RAY_AUTH_MODE", "token")  # as `ray start` does
    with extras_named():
        import ray
        import ray.data
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**cluster, log_to_driver=False, logging_level="ERROR", ignore_reinit_error=True)
    except Exception as error:  # a Ray that does not start in time raises nothing more special
        path, reason = address or "a Ray on this machine", f"cannot be used: {one_line(str(error))}"
        raise InputError(reason, path=path, allowed=_ALLOWED, code="no-cluster") from error
    finally:
        if current_thread() is main_thread():  # Ray sets a handler that exits without a word
            signal.signal(signal.SIGTERM, handler)
    return ray


def divide_machines(
    n_wanted: int | None, device: str, n_machines: int, resources: dict[str, float]
) -> tuple[int, int, float]:
    """Divide a cluster among workers: (number of workers, CPU cores of each, GPUs of each).

    Args:
        n_wanted: number of workers that the user named; None for one per GPU, else one per machine.
        device: device of a worker.
        n_machines: number of machines with a core.
        resources: number of ``CPU`` and ``GPU`` of the whole cluster.
    """
    n_cpus = max(1, int(resources.get("CPU", 0)))
    n_gpus = 0 if device.startswith("cpu") else int(resources.get("GPU", 0))
    workers = min(n_wanted or n_gpus or n_machines, n_cpus)
    cores = max(1, n_cpus // n_machines // ceil(workers / n_machines))
    return workers, cores, 1 / ceil(workers / n_gpus) if n_gpus else 0.0


@dataclass
class Pool:
    """Workers with one model, which ``make`` loads in each; they start and end with each run."""

    make: Callable[[], Any]
    device: str
    options: RayOptions

    def load(self) -> LoadedModel:
        """Load the model in a worker: (its description, the function that computes a block)."""
        return {}, self.make()

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Description of the model that the first worker loaded; other workers' must be equal."""
        ((_, facts),) = self.run([("the model", None)])
        return dict(facts)

    def run(self, blocks: Iterable[tuple[str, Any]]) -> Iterator[tuple[int, Any]]:
        """Compute blocks of work in Ray workers; yield (block number, result) as they are done.

        Args:
            blocks: (name for errors, arguments) of each piece of work.

        Raises:
            CiteforgeError: there is no cluster, workers cannot start or differ, or a block cannot
                be done or costs three workers.
        """
        ray = connect(self.options.address)
        machines = sum(n["Alive"] and n["Resources"].get("CPU", 0) >= 1 for n in ray.nodes()) or 1
        workers, cores, gpus = divide_machines(
            self.options.workers, self.device, machines, ray.cluster_resources()
        )
        actor = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(AttemptCounter)
        attempts = actor.remote()
        for window in make_windows(blocks, _WINDOW_BYTES * workers):
            rows = ray.data.from_items(window, override_num_blocks=len(window))
            rows.context.enable_progress_bars = False
            rows.context.execution_no_progress_timeout_s = 7200
            size = min(workers, len(window))
            results = rows.map_batches(
                Worker,
                fn_constructor_args=(self, __version__, lambda n: ray.get(attempts.add.remote(n))),
                compute=ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=1),
                num_cpus=cores, num_gpus=gpus, batch_size=1, batch_format="pyarrow",
            )  # fmt: skip
            try:
                for batch in results.iter_batches(batch_size=1, batch_format="pyarrow"):
                    (row,) = batch.to_pylist()
                    if isinstance(result := pickle.loads(row["result"]), CiteforgeError):
                        raise result
                    yield row["number"], result
            except CiteforgeError:
                raise
            except Exception as error:  # Ray Data has several bases of errors
                raise _worker_error("Ray", f"the workers failed: {one_line(str(error))}") from error


def make_windows(blocks: Iterable[tuple[str, Any]], limit: int) -> Iterator[list[dict[str, Any]]]:
    """Pickle blocks of work into rows, and group these into lists of about ``limit`` bytes.

    Args:
        blocks: (name for errors, arguments) of each piece of work.
        limit: bytes of a list.
    """
    window, size = list[dict[str, Any]](), 0
    for number, (name, block) in enumerate(blocks):
        window.append({"number": number, "name": name, "block": pickle.dumps(block)})
        size += len(window[-1]["block"])
        if size >= limit:
            yield window
            window, size = [], 0
    if window:
        yield window


class AttemptCounter(Counter[int]):
    """Ray actor that counts how many workers began each block; it outlives them."""

    def add(self, number: int) -> int:
        """Count another worker that begins block ``number``; return how many have begun it."""
        self[number] += 1
        return self[number]


class Worker:
    """Ray actor of a pool, which computes blocks; the first block loads the model."""

    def __init__(self, pool: Pool, version: str, add_attempt: Callable[[int], int]) -> None:
        """Store the pool, the driver's citeforge version, and the counter of attempts."""
        self._pool, self._version, self._add_attempt = pool, version, add_attempt

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Compute the block in a one-row table; return a table with its result or the error.

        A block that has ended several workers is not tried again.
        """
        (row,) = batch.to_pylist()
        try:
            if self._add_attempt(row["number"]) > _ATTEMPTS:
                raise _worker_error(row["name"], f"{_ATTEMPTS} workers died of it; see: ray logs")
            (facts, do), block = self._loaded, pickle.loads(row["block"])
            result = facts if block is None else do(*block)
        except CiteforgeError as error:
            result = error
        except Exception as error:  # whatever a model's code may raise; the driver reports it
            result = _worker_error(row["name"], error_line(error))
        reply = pa.array([pickle.dumps(result)], pa.large_binary())
        return pa.table({"number": batch["number"], "result": reply})

    @cached_property
    def _loaded(self) -> LoadedModel:
        """Load the model; raise an error if its description differs from other workers'.

        Returns:
            (description of the model, function that computes a block).
        """
        facts, do = self._pool.load()
        mine, others = (__version__, facts), (self._version, vars(self._pool).get("facts", facts))
        if mine != others:
            raise InputError(
                f"computes by {mine}, others by {others}", path=socket.gethostname(),
                allowed="the same citeforge on machines of one sort", code="not-comparable",
            )  # fmt: skip
        return facts, do


def _worker_error(name: str, message: str) -> InputError:
    """Make the error for a block of work, or for Ray itself, that failed in the workers."""
    return InputError(
        message, path=name, code="failed-workers",
        allowed="the same citeforge, libraries and models on every machine, and memory for a "
        "worker. Run again, a build with --resume, which keeps what is done",
    )  # fmt: skip
