"""Simultaneous rank intervals: by hand, against scipy pair by pair, and in simulations."""

import itertools

import numpy as np
import pytest
from scipy import stats

from citeforge.evaluator.ranks import rank_intervals, rank_text
from citeforge.evaluator.statistics.estimates import Floats
from citeforge.evaluator.statistics.significance import holm

pytestmark = pytest.mark.numeric


def slowly(columns: list[Floats]) -> list[tuple[int, int]]:
    """One test after the other, by scipy."""
    pairs = list(itertools.combinations(range(len(columns)), 2))
    tests = []
    for i, j in pairs:
        change = columns[i] - columns[j]
        tests.append(stats.ttest_1samp(change[~np.isnan(change)], 0.0))
    adjusted = holm([float(t.pvalue) for t in tests])
    better = np.zeros((len(columns), len(columns)), bool)
    for (i, j), test, p in zip(pairs, tests, adjusted, strict=True):
        if p < 0.05:
            better[(i, j) if test.statistic > 0 else (j, i)] = True
    n = len(columns)
    return [(1 + int(better[:, i].sum()), n - int(better[i].sum())) for i in range(n)]


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_pair_by_pair(holes: float) -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(0, 1, 80)
    columns = [base + rng.normal(0.15 * i, 0.7, 80) for i in (3, 0, 1, 5, 2, 5)]
    for column in columns:
        column[rng.random(80) < holes] = np.nan
    result = rank_intervals(columns)
    assert result == slowly(columns)
    assert len(set(result)) > 2


def test_by_hand() -> None:
    # The second is better by 1 everywhere, the third has no value, the fourth equals the first.
    first = np.array([0.1, 0.5, 0.3, 0.9])
    result = rank_intervals([first, first + 1, None, first.copy()])
    assert result == [(2, 3), (1, 1), None, (2, 3)]
    assert [rank_text(r) for r in result] == ["2–3", "1", "–", "2–3"]
    assert rank_intervals([first]) == [(1, 1)]
    assert rank_intervals([]) == []


def test_clusters_count_once() -> None:
    # Each query six times over: what looks certain of 48 rows is not of 8 questions.
    rng = np.random.default_rng(3)
    one, two = rng.normal(0, 1, 8), rng.normal(0.6, 1, 8)
    rows = [np.repeat(x, 6) for x in (one, two)]
    clusters = np.repeat(np.arange(8), 6)
    assert rank_intervals(rows) == [(2, 2), (1, 1)]
    assert rank_intervals(rows, clusters) == rank_intervals([one, two]) == [(1, 2), (1, 2)]


def test_all_ranks_hold_at_once() -> None:
    """Six systems of equal worth: at most 5 % of the leaderboards may tell any two apart."""
    rng = np.random.default_rng(2)
    apart = 0
    for _ in range(400):
        base = rng.beta(2, 2, 40)
        columns = [base + rng.normal(0, 0.2, 40) for _ in range(6)]
        apart += rank_intervals(columns) != [(1, 6)] * 6
    # Binomial(400, .05): 1 in 1,000 lies above .087.
    assert apart / 400 <= 0.087
