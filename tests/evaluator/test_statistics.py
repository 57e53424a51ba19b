"""Means, ratios and intervals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from citeforge.evaluator import statistics
from citeforge.evaluator.statistics import (
    estimate_all,
    harmonic,
    harmonic_sample,
    mean_sample,
    ratio,
)

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


def test_the_normal_interval_of_several_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "BOOTSTRAP_LIMIT", 100)
    runs = np.random.default_rng(5).random((3, 200))
    (estimate,) = estimate_all([mean_sample("m", runs)])
    # All runs of a query move together: the error is that of the queries' means.
    assert estimate.stderr == pytest.approx(runs.mean(axis=0).std(ddof=1) / math.sqrt(200))
    assert estimate.sd_runs == pytest.approx(runs.mean(axis=1).std(ddof=1))


def test_one_query_has_no_interval() -> None:
    (estimate,) = estimate_all([mean_sample("m", column(0.5))])
    assert estimate.value == 0.5
    assert math.isnan(estimate.low)
    assert math.isnan(estimate.high)
    assert estimate.interval == "none"


@pytest.mark.parametrize("n", [30, 200])
def test_measures_of_whole_sets_and_of_nothing_have_no_interval(n: int) -> None:
    values = np.random.default_rng(6).random((1, n))
    whole = replace(mean_sample("m", values), has_interval=False)
    nothing = mean_sample("nothing", np.full((1, n), np.nan))
    for estimate in estimate_all([whole, nothing, mean_sample("m", values)])[:2]:
        assert estimate.interval == "none"
        assert math.isnan(estimate.low)
        assert math.isnan(estimate.high)


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


def null_changes(rng: np.random.Generator, systems: int, n: int) -> np.ndarray:
    """Precision of a system that ignores labels in one run minus that in another, shape
    (systems, n): it cites the relevant one of 10 passages with chance .7, others with .15, and
    decides 15 % of its citations anew."""
    chance = np.where(np.arange(10) == 0, 0.7, 0.15)
    same = rng.random((systems, n, 10))

    def run() -> np.ndarray:
        fresh = np.where(rng.random(same.shape) < 0.15, rng.random(same.shape), same)
        cited = fresh < chance
        total = cited.sum(-1)
        return np.where(total > 0, cited[..., 0] / np.maximum(total, 1), 0.0)

    return run() - run()


def test_few_queries_have_student_intervals_that_hold_what_they_promise() -> None:
    """Of 1,000 systems without bias on 30 queries about 5 % seem biased (8 % by the bootstrap)."""
    changes = null_changes(np.random.default_rng(20), 1000, 30)
    estimates = estimate_all([mean_sample("m", d[None]) for d in changes])
    assert {e.interval for e in estimates} == {"t"}
    wrong = sum(not e.low <= 0 <= e.high for e in estimates)
    # Binomial(1,000, .05) lies in 30 to 70 with probability .997; the seed is fixed.
    assert 30 <= wrong <= 70


def test_student_interval_against_scipy() -> None:
    from scipy import stats

    values = np.random.default_rng(6).random(40)
    padded = np.concatenate([values, np.full(300, np.nan)])
    for given in (values, padded):
        (e,) = estimate_all([mean_sample("m", given[None])])
        low, high = stats.t.interval(0.95, 39, values.mean(), stats.sem(values))
        assert (e.low, e.high) == pytest.approx((low, high))
        assert e.stderr == pytest.approx(stats.sem(values))
        assert e.interval == "t"
    (e,) = estimate_all([mean_sample("m", np.random.default_rng(6).random((1, 100)))])
    assert e.interval == "bootstrap"


def test_what_hangs_on_one_query_has_no_interval() -> None:
    (e,) = estimate_all([mean_sample("m", column(0.5, NAN, NAN))])
    assert (e.value, e.interval) == (0.5, "none")
    (e,) = estimate_all([harmonic_sample("f", column(0.5, 1.0, 1.0), column(0.5, NAN, NAN))])
    assert e.interval == "none"


def test_intervals_do_not_leave_what_is_possible() -> None:
    from citeforge.evaluator.entries import make_entry
    from citeforge.evaluator.measures.registry import measures
    from citeforge.schemas.signature import Signature

    sample = mean_sample("CiteP", column(1.0, 1.0, 0.0))
    (estimate,) = estimate_all([sample])
    assert estimate.high > 1
    signature = Signature("CiteP", "strict", "1,strict", "mix", "b@1")
    entry = make_entry(measures()["CiteP"], sample, estimate, signature)
    assert (entry.low, entry.high, entry.interval) == (0, 100, "t")


def test_a_ratio_with_nothing_below_is_undefined() -> None:
    found = ratio(np.array([1.0, 2.0, 0.0]), np.array([2.0, 0.0, 0.0]))
    assert found[0] == 1 / 2
    assert np.isnan(found[1:]).all()
    both = harmonic(np.array([0.0, 0.5, NAN]), np.array([0.0, 0.25, 1.0]))
    assert both[0] == 0
    assert both[1] == 2 * 0.5 * 0.25 / (0.5 + 0.25)
    assert math.isnan(both[2])


def test_where_the_kinds_of_intervals_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "BOOTSTRAP_LIMIT", 200)
    values = np.random.default_rng(7).random((1, 201))
    kinds = {
        n: estimate_all([mean_sample("m", values[:, :n])], resamples=50)[0].interval
        for n in (1, 2, 99, 100, 200, 201)
    }
    assert kinds == {
        1: "none", 2: "t", 99: "t", 100: "bootstrap", 200: "bootstrap", 201: "normal",
    }  # fmt: skip
