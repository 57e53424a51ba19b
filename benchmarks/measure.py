"""Runs a function in a process of its own; returns its time and peak memory."""

import multiprocessing
import os
import platform
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Measured:
    """What one run took.

    Attributes:
        seconds: wall time of the function, without imports made by `prepare`.
        peak_mb: highest resident memory of its process, in 10**6 bytes.
        result: what it returned.
    """

    seconds: float
    peak_mb: float
    result: Any


def _child(queue: Any, prepare: Callable[..., Any], run: Callable[..., Any], args: Any) -> None:
    state = prepare(*args)
    start = time.perf_counter()
    result = run(state)
    seconds = time.perf_counter() - start
    queue.put(Measured(seconds, _peak_mb(), result))


def _peak_mb() -> float:
    """Highest resident memory of this program (getrusage would count the parent's before exec)."""
    status = Path("/proc/self/status").read_text()
    line = next(x for x in status.splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e6


def measure(prepare: Callable[..., Any], run: Callable[..., Any], *args: Any) -> Measured:
    """Time `run(prepare(*args))` in a fresh process; only `run` is timed."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_child, args=(queue, prepare, run, args))
    process.start()
    while True:
        try:
            found: Measured = queue.get(timeout=1)
            break
        except Exception:
            if not process.is_alive():
                raise RuntimeError(f"{run.__name__} died with {process.exitcode}") from None
    process.join()
    return found


def best(prepare: Callable[..., Any], run: Callable[..., Any], *args: Any, times: int) -> Measured:
    """The fastest of several runs, each in a process of its own."""
    return min((measure(prepare, run, *args) for _ in range(times)), key=lambda m: m.seconds)


def machine(*packages: str) -> str:
    """One line that names processor, cores, Python and package versions."""
    cpu = "unknown processor"
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [x for x in info.read_text().splitlines() if x.startswith("model name")]
        cpu = names[0].split(":")[1].strip() if names else cpu
    libraries = ", ".join(f"{p} {version(p)}" for p in packages)
    return f"{cpu}, {os.cpu_count()} cores, Python {platform.python_version()}, {libraries}"


def vocabulary(seed: int, size: int = 20_000) -> list[str]:
    """Made-up words."""
    rng = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["".join(rng.choices(letters, k=rng.randint(2, 10))) for _ in range(size)]
