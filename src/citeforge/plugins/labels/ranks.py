"""Differences and order of systems by corrected values."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.measures.registry import direction, find_measure
from citeforge.evaluator.reports.corrections import CorrectedDifference
from citeforge.evaluator.reports.ranks import (
    LEVEL,
    RankInterval,
    better_by_tests,
    rank_text,
    ranks_from,
)
from citeforge.evaluator.statistics.estimates import column, mean_sample
from citeforge.evaluator.statistics.intervals import Range
from citeforge.plugins.labels.ppi import (
    LEAST_LABELS,
    Units,
    interval_of,
    powered,
    t_test,
)
from citeforge.schemas.scores import MeasureScore, ScoreFile
from citeforge.schemas.signature import differing_parts


def corrected_difference(
    a: MeasureScore, b: MeasureScore, clusters: npt.NDArray[np.int64] | None = None
) -> CorrectedDifference | None:
    """Compare two systems' corrected values by query; None if labels do not allow it.

    Both systems' answers to the same queries must be labelled (``labels export`` samples so).

    Args:
        a: first system's entry.
        b: second system's.
        clusters: cluster of each query, where questions repeat.
    """
    first, second = a.corrected, b.corrected
    if first is None or second is None or not (first.human and second.human):
        return None
    judged = [column(c.linear_judged or m.per_query) for m, c in ((a, first), (b, second))]
    change = a.scale * (judged[1] - judged[0])
    n = len(change)
    by_people = [column(c.linear_human or c.human) for c in (first, second)]
    labelled = [np.isin(np.arange(n), c.labelled) for c in (first, second)]
    open_ = [m | np.isnan(v) for m, v in zip(labelled, by_people, strict=True)]
    defined = ~np.isnan(change)
    open_ = [o & defined for o in open_]
    if ((labelled[0] & open_[1] & ~labelled[1]) | (labelled[1] & open_[0] & ~labelled[0])).any():
        return None  # other queries were labelled: the answers of one alone are no difference
    both = (labelled[0] | labelled[1]) & defined
    if both.sum() < LEAST_LABELS:
        return None
    human = a.scale * (by_people[1] - by_people[0])
    if np.ptp(human[both]) == 0:
        return None
    sample = mean_sample(change[None])
    sums = mean_sample(human[None]).sums[0]
    units = Units(sample.sums[0], sums, both, ~(open_[0] | open_[1]), clusters)
    gap = powered(units, sample.combine)
    return CorrectedDifference(gap.value, gap.low, gap.high, t_test(gap), gap.n_labels, gap.tuning)


@dataclass(frozen=True)
class CorrectedRanks:
    """Ranks that systems may have by their corrected values, all at once with 95 % confidence.

    Attributes:
        measure: name.
        ranks: system to its best and worst rank, in the order of the files.
        paired: whether the same queries were labelled of all, so that differences were corrected
            as differences.
    """

    measure: str
    ranks: dict[str, RankInterval]
    paired: bool


def corrected_ranks(files: Sequence[ScoreFile]) -> list[CorrectedRanks]:
    """Rank systems by each measure that labels corrected and that has a direction.

    Where the same queries were labelled of all systems: tests of all corrected differences,
    adjusted by Holm. Else by intervals that hold all corrected values at once (Bonferroni), which
    need nothing in common. Systems whose intervals of a single value do not overlap may still be
    in either order here: each of those may be wrong in 5 of 100 cases.
    """
    orders = []
    for name in dict.fromkeys(m.name for f in files for m in f.measures):
        pairs = [(f, m) for f in files for m in f.measures
                 if m.name == name and _is_corrected(m) and not f.is_control]  # fmt: skip
        if len({f.system for f, _ in pairs}) < 2 or len({f.system for f, _ in pairs}) < len(pairs):
            continue
        if any(differing_parts(pairs[0][1].signature, m.signature) for _, m in pairs):
            continue
        is_higher_better = direction(name)
        if is_higher_better is None:
            continue
        ranks = _by_differences(pairs)
        paired = ranks is not None
        if ranks is None:
            ranks = ranks_of_intervals([_simultaneous(m, len(pairs)) for _, m in pairs])
        if not is_higher_better:  # who would be last is first
            ranks = [(len(pairs) + 1 - high, len(pairs) + 1 - low) for low, high in ranks]
        systems = [f.system for f, _ in pairs]
        orders.append(CorrectedRanks(name, dict(zip(systems, ranks, strict=True)), paired))
    return orders


def _is_corrected(entry: MeasureScore) -> bool:
    """Whether labels corrected a score (PPI++) and gave it an interval."""
    c = entry.corrected
    return c is not None and c.method == "ppi++" and c.value is not None and c.df is not None


def _by_differences(pairs: Sequence[tuple[ScoreFile, MeasureScore]]) -> list[RankInterval] | None:
    """Rank systems by paired differences; None where one cannot be computed."""
    first = pairs[0][0]
    if any(f.query_ids != first.query_ids for f, _ in pairs):
        return None
    clusters = np.array(first.clusters) if first.clusters else None
    size = len(pairs)
    sign, p = np.zeros((size, size)), np.ones((size, size))
    for i in range(size):
        for j in range(i + 1, size):
            a, b = pairs[i][1], pairs[j][1]
            difference: CorrectedDifference | None = corrected_difference(b, a, clusters)
            if difference is None or math.isnan(difference.p):
                return None
            sign[i, j], p[i, j] = difference.value, difference.p
    return ranks_from(better_by_tests(sign, p))


def _simultaneous(entry: MeasureScore, systems: int) -> tuple[float, float]:
    """Compute a corrected value's interval at a level that holds for all systems together."""
    c, declared = entry.corrected, find_measure(entry.name.partition("[")[0])
    assert c is not None and c.value is not None and c.stderr is not None and c.df is not None
    within = Range() if declared is None else declared.range
    value, stderr = c.value / entry.scale, c.stderr / entry.scale
    return interval_of(value, stderr, c.df, c.n_labels, within, 1 - LEVEL / systems)


def ranks_of_intervals(intervals: Sequence[tuple[float, float]]) -> list[RankInterval]:
    """Compute possible ranks from simultaneous intervals of unpaired systems.

    A system is better than another where its interval is wholly above the other's.

    For systems of which nothing is paired (Klein, Wright & Wieczorek 2020, Journal of the Royal
    Statistical Society C 69): where each interval of m systems holds with 1 − .05 / m,
    so do all ranks together with 95 %, whatever the systems have in common.

    Args:
        intervals: (low, high) of each system, simultaneous ones.
    """
    low, high = np.array(intervals, np.float64).reshape(-1, 2).T
    return ranks_from(low[:, None] > high)


def correction_notes(results: Iterable[ScoreFile]) -> list[str]:
    """List how each corrected value was made, for the notes below a report."""
    lines = []
    for r in results:
        for m in r.measures:
            if (c := m.corrected) is None:
                continue
            if c.method == "ppi++":
                lines.append(
                    f"corrected: {r.system}, {m.name}: PPI++ with {c.n_labels:,} labelled answers, "
                    f"weight of the judge {c.tuning or 0:.2f}; labels alone "
                    f"{c.labels_value or 0:.2f} [{c.labels_low or 0:.2f}, {c.labels_high or 0:.2f}]"
                )
            else:
                lines.append(
                    f"corrected: {r.system}, {m.name}: Rogan–Gladen, with error rates of the judge "
                    "on other answers; it holds where the judge errs here as it did there"
                )
    return lines


def order_notes(results: Sequence[ScoreFile]) -> list[str]:
    """List the ranks that corrected values allow, for the notes below a report."""
    return [
        f"ranks by {order.measure} corrected (at once, 95 %"
        + ("" if order.paired else "; other queries were labelled of each")
        + "): "
        + ", ".join(f"{system} {rank_text(ranks)}" for system, ranks in order.ranks.items())
        for order in corrected_ranks(results)
    ]
