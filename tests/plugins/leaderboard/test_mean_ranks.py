"""Mean ranks over benchmarks: by hand, against scipy, and in simulations."""

import numpy as np
from scipy import stats

from citeforge.engines.shown import show_number
from citeforge.evaluator.mean_ranks import Column, MeanRank, mean_ranks
from citeforge.evaluator.ranks import rank_intervals, ranks_of_values
from citeforge.evaluator.statistics.estimates import Floats
from citeforge.plugins.leaderboard.ranking import hundredths


def column(*rows: Floats | None) -> Column:
    return Column(tuple(None if r is None else float(np.mean(r)) for r in rows), rows)


def test_by_hand() -> None:
    """The first is better by 1 everywhere, the second and the third are equal; one is absent."""
    base = np.array([0.1, 0.5, 0.3, 0.9])
    both = column(base + 1, base, base.copy(), None)
    # Ranks 1, (2 + 3) / 2 twice, and the last place; what is equal may have either place.
    assert mean_ranks([both]) == [
        MeanRank(1, 1, 1, 0), MeanRank(2.5, 2, 3, 0), MeanRank(2.5, 2, 3, 0), MeanRank(4, 4, 4, 1),
    ]  # fmt: skip
    # On the second benchmark only the last one was scored: the others share places 2, 3 and 4.
    result = mean_ranks([both, column(None, None, None, base)])
    assert result == [
        MeanRank((1 + 3) / 2, (1 + 3) / 2, (1 + 3) / 2, 1),
        MeanRank((2.5 + 3) / 2, (2 + 3) / 2, (3 + 3) / 2, 1),
        MeanRank((2.5 + 3) / 2, (2 + 3) / 2, (3 + 3) / 2, 1),
        MeanRank((4 + 1) / 2, (4 + 1) / 2, (4 + 1) / 2, 1),
    ]
    assert mean_ranks([]) == []
    assert mean_ranks([column(None, None)]) == [MeanRank(1.5, 1.5, 1.5, 1)] * 2


def test_the_means_are_those_of_scipy_and_the_level_is_shared() -> None:
    rng = np.random.default_rng(5)
    boards = [[rng.normal(0.2 * i * s, 1, 60) for i in range(5)] for s in (1, -1, 0.5)]
    result = mean_ranks([column(*rows) for rows in boards])
    places = [stats.rankdata([-r.mean() for r in rows]) for rows in boards]
    assert [m.mean for m in result] == np.mean(places, axis=0).tolist()
    ends = [[e for e in rank_intervals(rows, level=0.05 / 3) if e] for rows in boards]
    assert [m.low for m in result] == [np.mean([e[i][0] for e in ends]) for i in range(5)]
    assert [m.high for m in result] == [np.mean([e[i][1] for e in ends]) for i in range(5)]
    wide = mean_ranks([column(*rows) for rows in boards[:1]])
    assert all(m.low <= m.mean <= m.high for m in [*result, *wide])


def test_what_no_query_tells_may_have_any_place() -> None:
    """A value without values by query, beside two that are told apart."""
    base = np.array([0.1, 0.5, 0.3, 0.9])
    result = mean_ranks([Column((1.3, 0.3, 0.5), (base + 1, base, None))])
    assert result == [MeanRank(1, 1, 2, 0), MeanRank(3, 2, 3, 0), MeanRank(2, 1, 3, 0)]


def test_all_mean_ranks_hold_at_once() -> None:
    """Five systems on three benchmarks, two of equal worth: 95 % of the boards hold all of them."""
    rng = np.random.default_rng(4)
    worth = np.array([[0.0, 0.0, 0.1, 0.2, 0.4], [0.3, 0.1, 0.1, 0.0, 0.2], [0.0] * 5])
    true = np.mean([stats.rankdata(-row) for row in worth], axis=0)
    missed = narrow = 0
    for _ in range(300):
        columns = [column(*(rng.normal(w, 0.3, 50) for w in row)) for row in worth]
        result = mean_ranks(columns)
        missed += any(not m.low <= t <= m.high for m, t in zip(result, true, strict=True))
        narrow += any(m.high - m.low < 4 for m in result)
    assert missed <= 300 * 0.05 + 8  # two standard deviations of a binomial with 5 %
    assert narrow > 250  # they say something


def test_equal_values_share_the_best_of_their_ranks() -> None:
    values = [7, None, 9, 7, 1]
    assert ranks_of_values(values) == [2, None, 1, 2, 4]
    assert ranks_of_values(values, is_higher_better=False) == [2, None, 4, 2, 1]


def test_hundredths_are_rounded_as_figures_are_shown() -> None:
    # 1.115 is a little less than its decimals, but 100 times it is a little more than 111.5.
    assert (show_number(1.115), hundredths(1.115), round(100 * 1.115)) == ("1.11", 111, 112)
    values = np.linspace(-3, 101, 20_001)
    assert [hundredths(v) for v in values] == [round(100 * float(show_number(v))) for v in values]
