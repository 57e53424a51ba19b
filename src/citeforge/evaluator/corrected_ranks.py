"""Compare and rank systems by values that labels corrected."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.measures.registry import direction, find_measure
from citeforge.evaluator.ranks import (
    RankInterval,
    better_by_tests,
    ranks_from,
)
from citeforge.evaluator.statistics.estimates import column, mean_sample
from citeforge.evaluator.statistics.intervals import ALPHA, Range
from citeforge.evaluator.statistics.ppi import (
    LEAST_LABELS,
    Units,
    bound_by_labels,
    compute_interval,
    estimate_ppi,
    t_test,
)
from citeforge.schemas.outputs import UndefinedNumber
from citeforge.schemas.scores import PPI, MeasureScore, ScoreFile
from citeforge.schemas.signature import differing_parts


@dataclass(frozen=True)
class CorrectedDifference:
    """Difference of two systems (second minus first), corrected by labels, as displayed.

    Attributes:
        value: mean paired difference by PPI++.
        low: lower end of its 95 % interval.
        high: upper end.
        p: two-sided p-value (Student's t with Welch's degrees of freedom).
        n_labels: number of queries whose answers by both systems are labelled.
        tuning: weight of the judge, from 0 to 1.
        half: half of Student's t interval, which ``low`` and ``high`` widen where labels of few
            queries differ from the judge.
    """

    value: UndefinedNumber
    low: UndefinedNumber
    high: UndefinedNumber
    p: UndefinedNumber
    n_labels: int
    tuning: float
    half: float = 0.0


def corrected_difference(
    a: MeasureScore, b: MeasureScore, clusters: npt.NDArray[np.int64] | None = None,
    largest_change: float = 0.0,
) -> CorrectedDifference | None:  # fmt: skip
    """Correct two systems' paired difference by people's labels; None if labels do not suffice.

    Answers of both systems to the same queries must be labelled, as ``labels export`` samples them.

    Args:
        a: score of the first system.
        b: score of the second system.
        clusters: cluster of each query, if questions repeat.
        largest_change: largest possible change of a query, as displayed.
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
        return None  # labels of other queries: one system's answer alone gives no difference
    both = (labelled[0] | labelled[1]) & defined
    if both.sum() < LEAST_LABELS:
        return None
    human = a.scale * (by_people[1] - by_people[0])
    if np.ptp(human[both]) == 0:
        return None
    sample = mean_sample(change[None])
    sums = mean_sample(human[None]).sums[0]
    units = Units(sample.sums[0], sums, both, ~(open_[0] | open_[1]), clusters)
    gap = estimate_ppi(units, sample.combine)
    low, high = bound_by_labels(units, gap, largest_change)
    return CorrectedDifference(
        gap.value, low, high, t_test(gap), gap.n_labels, gap.tuning, (gap.high - gap.low) / 2
    )


@dataclass(frozen=True)
class CorrectedRanks:
    """Ranks that systems may have by their corrected values, all at once with 95 % confidence.

    Attributes:
        measure: name of the measure.
        ranks: system to its best and worst rank, in the order of the files.
        paired: whether the same queries were labelled for all systems, so that paired differences
            were corrected.
    """

    measure: str
    ranks: dict[str, RankInterval]
    paired: bool


def corrected_ranks(files: Sequence[ScoreFile]) -> list[CorrectedRanks]:
    """Rank systems on each label-corrected measure of which higher, or lower, is better.

    If the same queries were labelled for all systems, by tests of all corrected differences,
    adjusted by Holm; else by simultaneous intervals (Bonferroni), which need no common queries.
    Systems whose single 95 % intervals do not overlap may still be in either order: each of these
    intervals may miss its value in 5 of 100 cases.
    """
    orders = []
    for name in dict.fromkeys(m.name for f in files for m in f.measures if _is_corrected(m)):
        pairs = [(f, m) for f in files for m in f.measures
                 if m.name == name and _is_corrected(m) and not f.is_control]  # fmt: skip
        systems = [f.system for f, _ in pairs]
        if len(set(systems)) < max(2, len(systems)):
            continue
        if any(differing_parts(pairs[0][1].signature, m.signature) for _, m in pairs):
            continue
        is_higher_better = direction(name)
        if is_higher_better is None:
            continue
        ranks = _rank_paired(pairs)
        paired = ranks is not None
        if ranks is None:
            ranks = rank_by_intervals([_simultaneous_interval(m, len(pairs)) for _, m in pairs])
        if not is_higher_better:  # the last one is the best
            ranks = [(len(pairs) + 1 - high, len(pairs) + 1 - low) for low, high in ranks]
        orders.append(CorrectedRanks(name, dict(zip(systems, ranks, strict=True)), paired))
    return orders


def _is_corrected(entry: MeasureScore) -> bool:
    """Whether a score has a value corrected by people's labels (PPI++), with an interval."""
    c = entry.corrected
    return c is not None and c.method == PPI and c.value is not None and c.df is not None


def _rank_paired(scores: Sequence[tuple[ScoreFile, MeasureScore]]) -> list[RankInterval] | None:
    """Rank systems by paired tests of corrected differences; None if some test is impossible.

    Args:
        scores: (score file, label-corrected score) of each system on one measure.
    """
    first = scores[0][0]
    if any(f.query_ids != first.query_ids for f, _ in scores):
        return None
    clusters = np.array(first.clusters) if first.clusters else None
    size = len(scores)
    sign, p = np.zeros((size, size)), np.ones((size, size))
    for i in range(size):
        for j in range(i + 1, size):
            a, b = scores[i][1], scores[j][1]
            difference: CorrectedDifference | None = corrected_difference(b, a, clusters)
            if difference is None or math.isnan(difference.p):
                return None
            sign[i, j], p[i, j] = difference.value, difference.p
    return ranks_from(better_by_tests(sign, p))


def _simultaneous_interval(entry: MeasureScore, n_systems: int) -> tuple[float, float]:
    """Compute a corrected value's interval (low, high), its confidence adjusted for all systems.

    Args:
        entry: score with a corrected value.
        n_systems: number of systems whose intervals are to cover at once (Bonferroni).
    """
    c, declared = entry.corrected, find_measure(entry.name.partition("[")[0])
    assert c is not None and c.value is not None and c.stderr is not None and c.df is not None
    within = Range() if declared is None else declared.range
    value, stderr = c.value / entry.scale, c.stderr / entry.scale
    return compute_interval(value, stderr, c.df, c.n_labels, within, 1 - ALPHA / n_systems)


def rank_by_intervals(intervals: Sequence[tuple[float, float]]) -> list[RankInterval]:
    """Compute the possible ranks of systems from simultaneous intervals of their values.

    A system is better than another if its interval is wholly above the other's.

    Needs no paired data (Klein, Wright & Wieczorek 2020, Journal of the Royal Statistical Society C
    69): if each interval of m systems holds with 1 − .05 / m, all ranks together hold with 95 %.

    Args:
        intervals: simultaneous (low, high) of each system.
    """
    low, high = np.array(intervals, np.float64).reshape(-1, 2).T
    return ranks_from(low[:, None] > high)
