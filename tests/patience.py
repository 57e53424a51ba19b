"""Seconds that are as long on a slow or busy machine as they are on a quick one."""

import time
from collections.abc import Callable
from functools import cache

LOOPS = 2_000_000
REFERENCE = 0.08
"""Seconds that the loop takes where the bounds of the tests were chosen."""


@cache
def slowness() -> float:
    """How many times as long as there a loop takes here, by the clock; 1 at least."""
    begin = time.perf_counter()
    for _ in range(LOOPS):
        pass
    return max(1.0, (time.perf_counter() - begin) / REFERENCE)


def patience(seconds: float) -> float:
    """A bound in seconds, scaled by how slow this machine is."""
    return seconds * slowness()


def until(is_true: Callable[[], object], seconds: float = 60) -> None:
    """Wait for what another thread or process does, however long that takes on this machine."""
    deadline = time.monotonic() + patience(seconds)
    while not is_true():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.02)
