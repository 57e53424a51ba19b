"""Tests of paired differences, and Holm's correction of their p-values (Holm 1979)."""

import math
from collections.abc import Sequence

import numpy as np

from citeforge.evaluator.statistics.estimates import Floats

PERMUTATIONS = 10_000
MOST_PERMUTATIONS = 200_000
_HOLM_LEVEL = 0.01
_MOST_EXACT = 13
"""Differences whose sign patterns are all looked at: 2 ** 13."""
_NOISE = 1e-9
"""Part of a difference that rounding may account for."""
_SEED = 20240914
_SIGNS_AT_ONCE = 1 << 22


def holm(p_values: Sequence[float] | Floats) -> list[float]:
    """Adjust p-values by Holm's method, from the smallest on; NaN stays NaN.

    Args:
        p_values: p-values in [0, 1] of the tests of one family.

    Returns:
        As many in the same order, each in [0, 1].
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]  # NaN sorts last
    steps = np.minimum(1.0, p[order] * np.arange(len(order), 0, -1))
    adjusted = [math.nan] * len(p)  # one object: records that hold it are equal
    for i, value in zip(order.tolist(), np.maximum.accumulate(steps).tolist(), strict=True):
        adjusted[i] = value
    return adjusted


def paired_t(differences: Floats) -> float:
    """Compute a paired t-test's two-sided p; 1 if all differences are 0, NaN for fewer than 2."""
    from scipy import stats

    if len(differences) < 2:
        return math.nan
    if not differences.any():
        return 1.0
    if np.all(differences == differences[0]):
        return 0.0
    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def count_permutations(n_tests: int) -> int:
    """Compute how many sign patterns to draw so that p-values pass Holm at .01 (capped)."""
    return min(MOST_PERMUTATIONS, max(PERMUTATIONS, math.ceil(n_tests / _HOLM_LEVEL)))


def permutation_tests(
    changes: Sequence[Floats], n_changed: Sequence[int], n_patterns: int = PERMUTATIONS
) -> list[float]:
    """Compute the two-sided p of each measure's permutation test, at least 2^(1 − n_changed).

    All sign patterns where at most 13 differences are not zero. Else the drawn ones and the
    observed; measures over as many queries share the draws, which makes one matrix product of them.

    Args:
        changes: differences of each measure, shape (queries,); NaN where not defined.
        n_changed: queries whose own values differ, of each measure. The changes of ratios are
            linear approximations, which move all queries: no p is smaller than these can give.
        n_patterns: sign patterns to draw.

    Returns:
        p-values; NaN without any difference that is defined.
    """
    values = [1.0 if np.any(~np.isnan(d)) else math.nan for d in changes]
    by_length: dict[int, list[int]] = {}
    for i, d in enumerate(changes):
        there = np.nan_to_num(np.abs(d))
        moving = d[there > _NOISE * there.max(initial=0)]
        if len(moving) > _MOST_EXACT:
            by_length.setdefault(len(d), []).append(i)
        elif len(moving):
            values[i] = _exact_p(moving)
    for n, drawn in by_length.items():
        matrix = np.nan_to_num(np.stack([changes[i] for i in drawn], axis=1))
        bar = _least_extreme(matrix)
        rng = np.random.default_rng([_SEED, n, 1])
        extreme = np.zeros(len(drawn), np.int64)
        step = max(1, _SIGNS_AT_ONCE // max(n, len(drawn)))
        for start in range(0, n_patterns, step):
            size = min(step, n_patterns - start)
            signs = rng.integers(0, 2, (size, n), dtype=np.int8).astype(np.float64) * 2 - 1
            extreme += (np.abs(signs @ matrix) >= bar).sum(axis=0)
        for i, count in zip(drawn, extreme.tolist(), strict=True):
            values[i] = (count + 1) / (n_patterns + 1)
    least = [min(1.0, 2.0 ** (1 - n)) for n in n_changed]
    return [math.nan if math.isnan(p) else max(p, q) for p, q in zip(values, least, strict=True)]


def _exact_p(differences: Floats) -> float:
    """Compute the two-sided p of a permutation test over all 2^n signs of the differences."""
    n = len(differences)
    signs = (np.arange(1 << n)[:, None] >> np.arange(n) & 1) * 2.0 - 1
    return float((np.abs(signs @ differences) >= _least_extreme(differences)).mean())


def _least_extreme(changes: Floats) -> Floats:
    """Compute the smallest sum that is as extreme as the observed one, of each column.

    Sums that are equal on paper differ by rounding: of values, and by the order of addition.
    """
    least: Floats = np.abs(changes.sum(axis=0)) - _NOISE * np.abs(changes).sum(axis=0)
    return least
