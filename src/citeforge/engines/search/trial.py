"""The fastest way of searching, found by doing some of the search in each.

Nothing is searched twice: what each way finds on the way counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from citeforge.engines.search.gemm import GROUP, Best, Floats

PIECE = 1024
"""Passages that are searched in one way before the next has its turn."""
_ROUNDS = 3
"""Turns of each way; the first loads code and is not counted."""
_LEAD = 4
"""Groups of passages a nomination that are searched before any time is taken: as long as little
was found, products keep far more than in the rest of a search."""


class Searcher(Protocol):
    """Adds the best of a block, which begins at a position of the corpus, to the best so far."""

    def search(self, block: Floats, start: int, best: Best) -> None: ...


class Trial:
    """Several ways of searching, and from some block on the fastest of them.

    Attributes:
        chosen: the fastest; None until it is known.
    """

    def __init__(
        self,
        first: Searcher,
        products: Sequence[Searcher],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Take the ways.

        Args:
            first: one that does not mind that nothing was found yet.
            products: others; the first of them is the fastest where few queries are asked.
            clock: seconds.
        """
        self.chosen: Searcher | None = None
        self._first, self._products, self._clock = first, products, clock
        self._ways = [first, *products]
        self._taken: list[list[float]] = [[] for _ in self._ways]

    def search(self, block: Floats, start: int, best: Best) -> None:
        """See :class:`Searcher`."""
        at = 0
        if self.chosen is None:
            at = self._lead(block, start, best)
            while self.chosen is None and len(block) - at >= PIECE:
                self._turn(block[at : at + PIECE], start + at, best)
                at += PIECE
        if at < len(block):
            (self.chosen or self._first).search(block[at:], start + at, best)

    def _lead(self, block: Floats, start: int, best: Best) -> int:
        """Search until every query has its nominations; how many rows that took."""
        if np.isfinite(best.scores[:, -1]).all():
            return 0
        size = min(len(block), _LEAD * GROUP * best.k)
        many = 2 * GROUP * best.k <= size
        (self._products[0] if many else self._first).search(block[:size], start, best)
        return size

    def _turn(self, piece: Floats, start: int, best: Best) -> None:
        """Search a piece in the way whose turn it is; after the last turn, choose."""
        turn = min(range(len(self._ways)), key=lambda way: len(self._taken[way]))
        begun = self._clock()
        self._ways[turn].search(piece, start, best)
        self._taken[turn].append(self._clock() - begun)
        if all(len(taken) == _ROUNDS for taken in self._taken):
            fastest = min(range(len(self._ways)), key=lambda way: min(self._taken[way][1:]))
            self.chosen = self._ways[fastest]
