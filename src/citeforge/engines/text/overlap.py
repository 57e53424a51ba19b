"""Literal overlap of two texts, measured by hashed runs of five words (shingles)."""

import re
from zlib import crc32

import numpy as np
import numpy.typing as npt

Shingles = npt.NDArray[np.uint64]

WIDTH = 5
"""Words of a shingle: long enough that two texts share few by chance."""
_WORD = re.compile(r"\w+")
_MIX = np.array([0x9E3779B97F4A7C15 * (2 * i + 1) & (2**64 - 1) for i in range(WIDTH)], np.uint64)


def shingles(text: str) -> Shingles:
    """Hash each run of five words in a text, or a shorter text whole: sorted, distinct hashes.

    Case and all but letters and digits are no difference. Linear in the text; the same everywhere.
    """
    words = _WORD.findall(text.lower())
    if not words:
        return np.empty(0, np.uint64)
    hashes = np.fromiter((crc32(w.encode()) + 1 for w in words), np.uint64, len(words))
    hashes ^= hashes << np.uint64(32)
    width = min(WIDTH, len(words))
    runs = np.lib.stride_tricks.sliding_window_view(hashes, width)
    mixed = (runs * _MIX[:width]).sum(axis=1, dtype=np.uint64)
    return np.unique(mixed ^ (mixed >> np.uint64(29)))


def shared(first: Shingles, second: Shingles) -> float:
    """Compute the overlap coefficient: share of the smaller set of shingles that is in both."""
    least = min(len(first), len(second))
    if least == 0:
        return 0.0
    return len(np.intersect1d(first, second, assume_unique=True)) / least
