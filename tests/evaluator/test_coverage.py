"""A small part of `make coverage`: intervals of simulated benchmarks cover."""

import pytest
from benchmarks.coverage import (
    authorship,
    cascade_coverage,
    corrected_coverage,
    null_rejections,
    rates_coverage,
    raw_coverage,
)
from benchmarks.crossed import CROSSED, crossed_coverage
from benchmarks.gate import POLICIES, two_systems, verdicts
from benchmarks.simulated import world


@pytest.mark.slow
@pytest.mark.parametrize("judge", [(0.95, 0.95), (0.6, 0.7)])
@pytest.mark.parametrize(("n", "least"), [(20, 0.7), (100, 0.86)])
def test_corrected_intervals_cover(judge: tuple[float, float], n: int, least: float) -> None:
    result = corrected_coverage([world(judge, 0.6, 3, 20_000)], 100, 50, n, 4)
    # Binomial(20, .95) and (100, .95): 1 in 10,000 lies below .7, and .86.
    assert min(covered for covered, *_ in result.values()) >= least
    # A judge never makes the interval wider than the labels alone do; a good one, narrower.
    widths = [width for *_, width in result.values()]
    assert max(widths) <= 1.0
    assert (max(widths) < 0.9) == (judge[0] > 0.9)


@pytest.mark.parametrize("repeats", [False, True])
def test_raw_intervals(repeats: bool) -> None:
    result = [world((0.95, 0.95), level, 1, 20_000, repeats) for level in (0.5, 0.9)]
    # Binomial(300, .95): 1 in 10,000 lies below .897.
    assert min(raw_coverage(result, 30, 300, 2).values()) >= 0.897


@pytest.mark.parametrize(
    "name",
    [
        "2 runs that differ",
        "3 runs that differ",
        "3 repeats that differ",
        "3 judges",
        "3 runs, 3 repeats",
    ],
)
def test_intervals_over_runs_repeats_and_judges(name: str) -> None:
    levels, moves = CROSSED[name]
    # Binomial(300, .95): 1 in 10,000 lies below .897.
    assert crossed_coverage(levels, moves, 30, 300, 11) >= 0.897


def test_p_values_under_the_null() -> None:
    shares = null_rejections(world((0.95, 0.95), 0.6, 1, 20_000), 30, 100, 5)
    # 100 families: 1 in 1,000 lies above .13.
    assert shares["holm"] <= 0.13
    assert 0.02 < shares["t"] < 0.09


def test_what_labels_change() -> None:
    shares = authorship(30, 1000, 7)
    # Binomial(1,000, .95): 1 in 10,000 lies below .923, or above .975.
    for name in (f"{m}, {system}" for m in ("CAB", "CAS", "CAS - placebo")
                 for system in ("null", "biased")):  # fmt: skip
        assert 0.923 <= shares[name] <= 0.975, name
    # Binomial(1,000, .05) and (1,000, .5) likewise.
    assert 0.025 <= shares["p < 0.05"] <= 0.08
    assert 0.025 <= shares["p < 0.05, CAS - placebo"] <= 0.08
    assert 0.44 <= shares["p < 0.5"] <= 0.56
    # 125 placebos of eight cells: Binomial(125, .05) is above .13 in 1 of 5,000.
    assert shares["any of 8, Holm"] <= 0.13


def test_error_rates_of_other_answers_and_a_cascade() -> None:
    assert rates_coverage(100, 100, 200, 6)["citation recall"] >= 0.88
    assert cascade_coverage((0.8, 0.3, 0.01), 300, 7) >= 0.9


@pytest.mark.slow
def test_the_gate_fails_a_drop_and_not_the_same_system() -> None:
    policy = POLICIES["one critical measure"]
    same = verdicts(two_systems(0.0), policy, 100, 100, is_same=True)
    # Binomial(100, .025): 1 in 10,000 lies above .1. Binomial(50, .85): 1 in 10,000 lies below .64.
    assert same["fail"] <= 0.1
    assert verdicts(two_systems(3.0), policy, 441, 50)["fail"] >= 0.64
