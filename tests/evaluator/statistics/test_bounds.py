"""Gaffke's bound against Clopper & Pearson's, against draws, and where it has to hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.evaluator.statistics.bounds import lower_bound, mean_interval


@pytest.mark.parametrize(("n", "k"), [(30, 30), (30, 29), (30, 15), (100, 99), (3000, 2990)])
def test_zeros_and_ones_have_the_exact_interval(n: int, k: int) -> None:
    from scipy.stats import beta

    low, high = mean_interval(np.array([1.0] * k + [0.0] * (n - k)), 0.0, 1.0)
    # The level is between 2.41 and 2.54 %, which moves an end by less than .001 from 30 values on.
    assert low == pytest.approx(beta.ppf(0.025, k, n - k + 1), abs=1e-3)
    assert high == pytest.approx(beta.ppf(0.975, k + 1, n - k) if k < n else 1.0, abs=1e-3)


@pytest.mark.parametrize("n", [5, 40])
def test_other_values_have_the_quantile_of_random_weights(n: int) -> None:
    values = np.random.default_rng(3).normal(0.1, 0.3, n).clip(-1, 1)
    low = lower_bound(values, np.ones(n), -1.0, 0.025)
    weights = np.random.default_rng(4).exponential(size=(40_000, n + 1))
    means = weights @ np.append(values, -1.0) / weights.sum(axis=1)
    # Binomial(40,000, .025): 1 in 10,000 lies beyond .025 ± .003.
    assert np.mean(means <= low) == pytest.approx(0.025, abs=0.0035)


@given(
    st.lists(st.floats(-1, 1).map(lambda v: round(v, 3)), min_size=2, max_size=60),
    st.floats(0.1, 2.0),
)
def test_the_interval_is_around_the_mean_and_scales(values: list[float], scale: float) -> None:
    d = np.array(values)
    low, high = mean_interval(d, -1.0, 1.0)
    assert -1 <= low < d.mean() + 1e-9 and d.mean() - 1e-9 < high <= 1
    # n equal values allow a loss of 1 − .025^(1/n) of the range below them, no less.
    floor = (d.min() + 1) * (1 - 0.0255 ** (1 / len(d)))
    assert low <= d.mean() - floor * 0.99 + 1e-9
    again = mean_interval(scale * d, -scale, scale)
    assert again == pytest.approx((scale * low, scale * high), abs=1e-6)
    # Repeated values are as good as weights.
    points, counts = np.unique(d, return_counts=True)
    assert mean_interval(points, -1.0, 1.0, weights=counts.astype(float)) == pytest.approx(
        (low, high), abs=1e-9
    )


def test_many_values_that_vary_have_students_interval() -> None:
    values = np.tile([-0.6, 0.6], 10_000)
    low, high = mean_interval(values, -1.0, 1.0)
    half = 1.96 * 0.6 / 20_000**0.5
    assert (low, high) == pytest.approx((-half, half), rel=0.02)
