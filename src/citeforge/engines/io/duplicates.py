"""Duplicate detection over millions of ids in eight bytes each."""

from array import array
from collections.abc import Iterable

import numpy as np


class DuplicateFinder:
    """Collects 64-bit hashes of ids; equal hashes are candidates, to be compared as text.

    Python's string hash is keyed anew in every process, so nobody can craft collisions; it decides
    nothing but which ids are looked at again.
    """

    def __init__(self) -> None:
        self._hashes = array("q")  # grows where it lies; many small arrays would leave holes

    def add(self, ids: list[str]) -> None:
        """Take in the ids of a block."""
        self._hashes.extend(map(hash, ids))

    def suspects(self) -> frozenset[int]:
        """Hashes that came more than once; forgets them all."""
        if not self._hashes:
            return frozenset()
        hashes = np.frombuffer(self._hashes, np.int64)
        self._hashes = array("q")
        hashes.sort()
        return frozenset(hashes[1:][hashes[1:] == hashes[:-1]].tolist())


def first_duplicate(ids: Iterable[str], suspects: frozenset[int]) -> tuple[str, int, int] | None:
    """First id that comes twice, with both 0-based positions; None when hashes only collided.

    Args:
        ids: all ids again, in the same order.
        suspects: what ``DuplicateFinder.suspects`` gave.
    """
    place_of: dict[str, int] = {}
    for position, name in enumerate(ids):
        if hash(name) in suspects:
            if name in place_of:
                return name, place_of[name], position
            place_of[name] = position
    return None
