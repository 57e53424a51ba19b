"""Means, ratios and intervals."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from citeforge.evaluator.statistics.estimates import (
    Estimate,
    estimate_value,
    harmonic,
    harmonic_sample,
    mean_sample,
    ratio,
    ratio_sample,
)
from citeforge.evaluator.statistics.intervals import Range

pytestmark = pytest.mark.numeric
NAN = math.nan


def column(*values: float) -> np.ndarray:
    return np.array([values], np.float64)


def test_a_mean_leaves_out_what_is_not_defined() -> None:
    estimate = estimate_value(mean_sample(column(1.0, NAN, 0.5)))
    assert estimate.value == (1.0 + 0.5) / 2
    assert math.isnan(estimate.sd_runs)


def test_the_harmonic_mean_is_of_the_two_means() -> None:
    precision, recall = column(1.0, 0.0, 0.5), column(0.5, NAN, 1.0)
    estimate = estimate_value(harmonic_sample(precision, recall))
    p, r = (1.0 + 0.0 + 0.5) / 3, (0.5 + 1.0) / 2
    assert estimate.value == pytest.approx(2 * p * r / (p + r))


def test_nothing_right_is_zero_and_nothing_defined_is_nothing() -> None:
    zero = estimate_value(harmonic_sample(column(0.0, 0.0), column(0.0, 0.0)))
    none = estimate_value(mean_sample(column(NAN, NAN)))
    assert zero.value == 0
    assert math.isnan(none.value)
    assert none.interval == "none"


def test_runs_are_averaged_and_their_deviation_given() -> None:
    runs = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    estimate = estimate_value(mean_sample(runs))
    # Means of the runs: 0.5, 1, 0; their mean 0.5; their sd sqrt((0 + 0.25 + 0.25) / 2).
    assert estimate.value == (0.5 + 1 + 0) / 3
    assert estimate.sd_runs == pytest.approx(math.sqrt((0 + 0.25 + 0.25) / 2))


def test_one_query_has_no_interval() -> None:
    estimate = estimate_value(mean_sample(column(0.5)))
    assert estimate.value == 0.5
    assert math.isnan(estimate.low)
    assert math.isnan(estimate.high)
    assert estimate.interval == "none"


@pytest.mark.parametrize("n", [30, 200])
def test_measures_of_whole_sets_and_of_nothing_have_no_interval(n: int) -> None:
    values = np.random.default_rng(6).random((1, n))
    whole = replace(mean_sample(values), has_interval=False)
    nothing = mean_sample(np.full((1, n), np.nan))
    for estimate in map(estimate_value, (whole, nothing)):
        assert estimate.interval == "none"
        assert math.isnan(estimate.low)
        assert math.isnan(estimate.high)


SHARE, COUNT = Range(0, 1), Range(0)


def within(values: np.ndarray, what: Range) -> Estimate:
    return estimate_value(replace(mean_sample(values), within=what))


@pytest.mark.parametrize("n, hits", [(30, 12), (30, 0), (30, 30), (500, 499)])
def test_shares_of_queries_have_wilson_s_interval(n: int, hits: int) -> None:
    from scipy.stats import binomtest

    result = within(column(*[1.0] * hits, *[0.0] * (n - hits), NAN), SHARE)
    theirs = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert (result.low, result.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert result.interval == "wilson"


def test_other_shares_count_as_many_queries_as_vary_like_zeros_and_ones() -> None:
    # Mean .5, variance (.0625 · 2 + 0) / 2 = 1/16, standard error √(1/48).
    result = within(column(0.25, 0.5, 0.75), SHARE)
    assert result.stderr == pytest.approx(math.sqrt(1 / 48))
    n = (0.5 * 0.5) / (1 / 48) * 3 / 2  # 18: zeros and ones vary by p (1 − p) / (n − 1)
    q = 4.302652729696142  # Student's t, 2 degrees of freedom
    half = q / (1 + q * q / n) * math.sqrt(0.25 / n + q * q / 4 / n**2)
    assert (result.low, result.high) == pytest.approx((0.5 - half, 0.5 + half))
    # A measure from 1 to 5 has the same interval, stretched.
    marks = within(1 + 4 * column(0.25, 0.5, 0.75), Range(1, 5))
    assert (marks.low, marks.high) == pytest.approx((1 + 4 * result.low, 1 + 4 * result.high))
    # All equal, and no end of the range: as many as .025^(1/3) leaves may have any other value.
    unseen = 1 - 0.025 ** (1 / 3)
    same = within(column(0.5, 0.5, 0.5), SHARE)
    assert (same.low, same.high) == pytest.approx((0.5 - unseen / 2, 0.5 + unseen / 2))


def test_counts_are_corrected_for_skewness() -> None:
    values = np.random.default_rng(3).lognormal(4, 0.5, 60)
    result = within(values[None], COUNT)

    assert result.stderr == pytest.approx(stats.sem(values))
    kappa = float(stats.skew(values)) / math.sqrt(60)
    for end, sign in ((result.low, 1), (result.high, -1)):
        t = (values.mean() - end) / stats.sem(values)
        # Hall's cubic of the t statistic is the quantile of Student's t.
        cubic = t + kappa * t**2 / 3 + kappa**2 * t**3 / 27 + kappa / 6
        assert cubic == pytest.approx(sign * stats.t.ppf(0.975, 59))
    assert result.interval == "skew-t"
    assert result.high - values.mean() > values.mean() - result.low  # a long tail above


def test_differences_have_student_s_interval() -> None:

    values = np.random.default_rng(6).random(40) - 0.5
    padded = np.concatenate([values, np.full(300, np.nan)])
    low, high = stats.t.interval(0.95, 39, values.mean(), stats.sem(values))
    for given, what in ((values, Range()), (padded, Range(-1, 1))):
        result = within(given[None], what)
        assert (result.low, result.high) == pytest.approx((low, high))
        assert result.stderr == pytest.approx(stats.sem(values))
        assert result.interval == "t"


def test_all_runs_of_a_query_move_together() -> None:
    runs = np.tile(np.random.default_rng(5).random(200), (3, 1))  # the same three times
    result = estimate_value(mean_sample(runs))
    assert result.stderr == pytest.approx(runs.mean(axis=0).std(ddof=1) / math.sqrt(200))
    assert result.sd_runs == pytest.approx(runs.mean(axis=1).std(ddof=1))


def test_queries_of_a_cluster_move_together() -> None:
    # Every query twice: the interval of half as many.
    values = np.random.default_rng(5).random(50)
    twice = replace(mean_sample(np.repeat(values, 2)[None]), within=SHARE)
    result = estimate_value(twice, np.repeat(np.arange(50), 2))
    once = within(values[None], SHARE)
    assert (result.low, result.high) == pytest.approx((once.low, once.high))


def test_what_hangs_on_one_query_has_no_interval() -> None:
    e = estimate_value(mean_sample(column(0.5, NAN, NAN)))
    assert (e.value, e.interval) == (0.5, "none")
    e = estimate_value(harmonic_sample(column(0.5, 1.0, 1.0), column(0.5, NAN, NAN)))
    assert e.interval == "none"


def test_intervals_do_not_leave_what_is_possible() -> None:
    from citeforge.evaluator.measures.registry import measures
    from citeforge.evaluator.measures.results import make_entry
    from citeforge.schemas.signature import Signature

    sample = mean_sample(column(0.0, 0.0, 9.0))
    assert estimate_value(replace(sample, within=COUNT)).low < 0
    signature = Signature("Distinct", "strict", "1,strict", "mix", "b@1")
    entry = make_entry(measures()["Distinct"], sample, signature)
    assert (entry.low, entry.interval) == (0, "skew-t")


def test_a_value_beyond_its_range_lies_in_its_interval() -> None:
    """As KaLMA's own code gives precisions of [NA]: 3 right of 2 marks, 1 of 1, 2 of 2 → 1.2."""
    from citeforge.evaluator.measures.registry import measures
    from citeforge.evaluator.measures.results import make_entry
    from citeforge.schemas.signature import Signature

    right, marks = np.array([[3.0, 1.0, 2.0]]), np.array([[2.0, 1.0, 2.0]])
    sample = ratio_sample(np.stack([right, marks], axis=-1))
    signature = Signature("KaLMA.NA.P", "reference", "1,strict", "mix", "b@1")
    entry = make_entry(measures()["KaLMA.NA.P"], sample, signature)
    assert entry.value == pytest.approx(100 * (3 + 1 + 2) / (2 + 1 + 2))
    assert entry.low < entry.value < entry.high
    assert entry.interval == "t"


def test_a_ratio_with_nothing_below_is_undefined() -> None:
    result = ratio(np.array([1.0, 2.0, 0.0]), np.array([2.0, 0.0, 0.0]))
    assert result[0] == 1 / 2
    assert np.isnan(result[1:]).all()
    both = harmonic(np.array([0.0, 0.5, NAN]), np.array([0.0, 0.25, 1.0]))
    assert both[0] == 0
    assert both[1] == 2 * 0.5 * 0.25 / (0.5 + 0.25)
    assert math.isnan(both[2])
