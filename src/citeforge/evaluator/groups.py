"""Systems that do not differ significantly from the best of their group."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from citeforge.evaluator.compare import paired_t
from citeforge.schemas.scores import MeasureScore

LEVEL = 0.05


def significance_groups(entries: Sequence[MeasureScore | None]) -> list[int]:
    """Groups of systems that do not differ significantly from the best of their group.

    From the top: a system joins the group unless a paired t-test over queries tells it from the
    group's best at p < .05; then it opens the next group. Not adjusted for the number of systems.

    Args:
        entries: one measure of each system, over the same queries.

    Returns:
        Groups from 1; 0 where there is no value.
    """
    known = [
        (i, e) for i, e in enumerate(entries) if e is not None and e.value is not None
    ]  # fmt: skip
    known.sort(key=lambda x: (-(x[1].value or 0.0), x[0]))
    columns = {i: np.array([math.nan if v is None else v for v in e.per_query]) for i, e in known}
    groups = [0] * len(entries)
    group, leader = 0, -1
    for i, _ in known:
        if leader < 0:
            group, leader = 1, i
        elif len(columns[i]) == len(columns[leader]):
            change = columns[leader] - columns[i]
            change = change[~np.isnan(change)]
            if paired_t(change) < LEVEL:
                group, leader = group + 1, i
        groups[i] = group
    return groups
