"""Means, ratios and intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from citeforge.evaluator import statistics
from citeforge.evaluator.statistics import estimate_all, harmonic_sample, mean_sample

NAN = math.nan


def column(*values: float) -> np.ndarray:
    return np.array([values], np.float64)


def test_a_mean_leaves_out_what_is_not_defined() -> None:
    (estimate,) = estimate_all([mean_sample("m", column(1.0, NAN, 0.5))])
    assert estimate.value == (1.0 + 0.5) / 2
    assert math.isnan(estimate.sd_runs)


def test_the_harmonic_mean_is_of_the_two_means() -> None:
    precision, recall = column(1.0, 0.0, 0.5), column(0.5, NAN, 1.0)
    (estimate,) = estimate_all([harmonic_sample("f", precision, recall)])
    p, r = (1.0 + 0.0 + 0.5) / 3, (0.5 + 1.0) / 2
    assert estimate.value == pytest.approx(2 * p * r / (p + r))


def test_nothing_right_is_zero_and_nothing_defined_is_nothing() -> None:
    zero, none = estimate_all(
        [
            harmonic_sample("f", column(0.0, 0.0), column(0.0, 0.0)),
            mean_sample("m", column(NAN, NAN)),
        ]
    )
    assert (zero.value, zero.low, zero.high) == (0, 0, 0)
    assert math.isnan(none.value)
    assert none.interval == "none"


def test_runs_are_averaged_and_their_deviation_given() -> None:
    runs = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    (estimate,) = estimate_all([mean_sample("m", runs)])
    # Means of the runs: 0.5, 1, 0; their mean 0.5; their sd sqrt((0 + 0.25 + 0.25) / 2).
    assert estimate.value == (0.5 + 1 + 0) / 3
    assert estimate.sd_runs == pytest.approx(math.sqrt((0 + 0.25 + 0.25) / 2))


def test_bootstrap_against_the_formula() -> None:
    values = np.random.default_rng(4).normal(0.4, 0.2, (1, 716))
    (estimate,) = estimate_all([mean_sample("m", values)])
    stderr = values.std(ddof=1) / math.sqrt(716)
    assert estimate.interval == "bootstrap"
    assert estimate.stderr == pytest.approx(stderr, rel=0.05)
    assert estimate.low == pytest.approx(values.mean() - 1.96 * stderr, abs=0.1 * stderr)
    assert estimate.high == pytest.approx(values.mean() + 1.96 * stderr, abs=0.1 * stderr)


def test_the_bootstrap_is_the_same_every_time_and_beside_others() -> None:
    values = np.random.default_rng(4).random((2, 300))
    alone = estimate_all([mean_sample("m", values)])[0]
    beside = estimate_all([mean_sample("x", values**2), mean_sample("m", values)])[1]
    assert alone == beside


def test_the_normal_interval_of_many_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    precision, recall = rng.random((1, 2000)), rng.random((1, 2000)) ** 2
    samples = [mean_sample("p", precision), harmonic_sample("f", precision, recall)]
    boot = estimate_all(samples)
    monkeypatch.setattr(statistics, "BOOTSTRAP_LIMIT", 1000)
    normal = estimate_all(samples)
    assert [e.interval for e in normal] == ["normal", "normal"]
    assert normal[0].stderr == pytest.approx(precision.std(ddof=1) / math.sqrt(2000))
    assert normal[1].value == boot[1].value
    assert normal[1].stderr == pytest.approx(boot[1].stderr, rel=0.05)


def test_one_query_has_no_interval() -> None:
    (estimate,) = estimate_all([mean_sample("m", column(0.5))])
    assert estimate.value == 0.5
    assert math.isnan(estimate.low)
    assert estimate.interval == "none"


def test_intervals_cover() -> None:
    """Of 200 samples from a known distribution about 95 % of the intervals hold its mean."""
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(200):
        values = rng.binomial(1, 0.3, (1, 200)).astype(float)
        (e,) = estimate_all([mean_sample("m", values)], resamples=1000)
        hits += e.low <= 0.3 <= e.high
    # Binomial(200, 0.95) is below 180 with probability 0.0015; the seed is fixed.
    assert hits >= 180
