"""Queries that an interval needs, against exact sums over all outcomes."""

import math

import numpy as np
import pytest
from benchmarks.gate_grid import whole_passes

from citeforge.evaluator.statistics.power import binary_changes, pass_power, queries_to_pass


@pytest.mark.parametrize(("share", "margin"), [(0.02, 0.05), (0.1, 0.05), (0.1, 0.03)])
def test_planned_queries_reach_the_power(share: float, margin: float) -> None:
    n = queries_to_pass(*binary_changes(share), 1.0, margin, 0.8)
    assert n is not None
    # The plan takes the mean change as normal: a few percent off where few answers change.
    assert whole_passes(n, share / 2, share / 2, margin) == pytest.approx(0.8, abs=0.05)


def test_where_nothing_changes_the_rule_of_3_7_over_n_decides() -> None:
    # 1 − .025^(1/n) ≤ .03 from n = log(.025) / log(.97) = 121.1 on.
    assert queries_to_pass(*binary_changes(0.0), 1.0, 0.03, 0.8) == 122
    assert pass_power(*binary_changes(0.0), 1.0, 0.03, 122) == 1
    assert pass_power(*binary_changes(0.0), 1.0, 0.03, 121) == 0
    assert math.log(0.025) / math.log(0.97) == pytest.approx(121.1, abs=0.05)


def test_no_number_of_queries_makes_up_for_runs_or_no_margin() -> None:
    assert queries_to_pass(*binary_changes(0.1), 1.0, 0.03, 0.8, run_half_width=0.04) is None
    assert queries_to_pass(*binary_changes(0.1), 1.0, 0.0, 0.8) is None
    changes = np.array([-0.5, 0.5]), np.array([0.5, 0.5])
    more, fewer = (queries_to_pass(*changes, 1.0, 0.03, 0.8, run_half_width=r) for r in (0.02, 0.0))
    assert more is not None and fewer is not None and more > fewer
