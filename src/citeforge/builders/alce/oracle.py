"""Which few of many passages hold most of the gold (ALCE, appendix G.1)."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet


def oracle(covered: Sequence[AbstractSet[int]], k: int) -> list[int]:
    """Choose passages greedily.

    The k passages with the highest recall of their own are the start; then every other passage, by
    its own recall, takes the place of the one whose replacement raises the recall of the set most,
    if any does. Ties go to the better rank, and of two places to that of the weaker passage. The
    result is not always the best set: one swap at a time may not lead there.

    Args:
        covered: what each passage holds of the query's gold, best rank first.
        k: size of the set, at least 1.

    Returns:
        Positions of the chosen passages, by their own recall, then rank; fewer than k only when
        there are fewer passages.
    """
    order = sorted(range(len(covered)), key=lambda i: (-len(covered[i]), i))
    best_rows = order[:k]
    for new in order[k:]:
        reached = len(_union(covered, best_rows))
        swaps = [
            [*best_rows[:at], new, *best_rows[at + 1 :]] for at in reversed(range(len(best_rows)))
        ]
        best = max(swaps, key=lambda swap: len(_union(covered, swap)))
        if len(_union(covered, best)) > reached:
            best_rows = sorted(best, key=order.index)
    return best_rows


def _union(covered: Sequence[AbstractSet[int]], rows: Sequence[int]) -> set[int]:
    return {unit for i in rows for unit in covered[i]}
