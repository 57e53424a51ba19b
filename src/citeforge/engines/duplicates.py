"""Detection of duplicates among millions of ids, with eight bytes of memory per id."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt


class DuplicateFinder:
    """Collects 64-bit hashes of ids; ids with equal hashes are candidates, later compared as text.

    Python's string hash has a new key in every process, so collisions cannot be crafted; it only
    decides which ids are looked at again.
    """

    def __init__(self) -> None:
        """Start without hashes."""
        # Sorted, each longer than the next: an id is merged some log2(ids / block) times.
        self._runs: list[npt.NDArray[np.int64]] = []

    def add(self, ids: list[str]) -> bool:
        """Add the hashes of a block of ids; return whether one of them was seen before.

        Returns:
            Whether the hash of one of them came before.
        """
        if not ids:
            return False
        new = np.sort(np.fromiter(map(hash, ids), np.int64, len(ids)))
        is_repeated = bool((new[1:] == new[:-1]).any())
        for run in self._runs:
            at = np.minimum(np.searchsorted(run, new), len(run) - 1)
            is_repeated = is_repeated or bool((run[at] == new).any())
        while self._runs and len(self._runs[-1]) <= len(new):
            new = _merge_sorted([self._runs.pop(), new])
        self._runs.append(new)
        return is_repeated

    def suspects(self) -> frozenset[int]:
        """Return the hashes that were added more than once, and forget all hashes."""
        if not self._runs:
            return frozenset()
        hashes = _merge_sorted(self._runs)
        self._runs = []
        return frozenset(hashes[1:][hashes[1:] == hashes[:-1]].tolist())


def _merge_sorted(runs: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Merge sorted arrays into one sorted array."""
    hashes = np.concatenate(runs)
    hashes.sort(kind="stable")  # linear, as it finds the runs again
    return hashes


def first_duplicate(ids: Iterable[str], suspects: frozenset[int]) -> tuple[str, int, int] | None:
    """Find the first id that comes twice, with both 0-based positions; None without duplicates.

    Args:
        ids: all ids again, in the same order.
        suspects: result of ``DuplicateFinder.suspects``.
    """
    place_of: dict[str, int] = {}
    for position, name in enumerate(ids):
        if hash(name) in suspects:
            if name in place_of:
                return name, place_of[name], position
            place_of[name] = position
    return None
