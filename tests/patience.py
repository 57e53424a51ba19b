"""Seconds that are as long on a slow or busy machine as they are on a quick one."""

import time
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
