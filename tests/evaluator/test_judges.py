"""A value by several judges, from the score files of one submission."""

import math

import numpy as np
import pytest

from citeforge.evaluator.judges import over_judges
from citeforge.evaluator.statistics.intervals import compute_shares
from conftest import refused


def test_judges_that_differ_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    base = rng.uniform(30, 70, 50)
    value, low, high, levels, components = over_judges(
        "CitRec", [(base + d)[None, None] for d in (-10, 0, 10)]
    )
    assert value == pytest.approx(base.mean())
    assert levels == {"judges": 3, "runs": 1, "repeats": 1, "queries": 50}
    # Judges have the variance 10² and no interaction; queries theirs: over 3 and 50.
    of_judges, of_queries = 100 / 3, np.var(base, ddof=1) / 50
    share = compute_shares(components, levels)["judges"]
    assert share == pytest.approx(of_judges / (of_judges + of_queries))
    # Nearly all is of judges: Student's t with 2 degrees of freedom.
    assert (high - low) / 2 == pytest.approx(4.303 * 10 / math.sqrt(3), rel=0.02)


def test_judges_with_unequal_repeats_enter_by_their_means() -> None:
    """Runs are kept: all judges saw the same."""
    twice = np.array([[0.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.0, 0.0, 0.5], [1.0, 0.0, 0.5]])
    once = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    value, _, _, levels, _ = over_judges("x", [twice.reshape(2, 2, 3), once.reshape(2, 1, 3)])
    assert levels == {"judges": 2, "runs": 2, "repeats": 1, "queries": 3}
    assert value == pytest.approx((6 / 12 + 4 / 6) / 2)


def test_values_over_other_queries_have_no_joint_interval() -> None:
    with refused("not-comparable"):
        over_judges("x", [np.zeros((1, 1, 2)), np.zeros((1, 1, 3))])
    with refused("too-few"):
        over_judges("x", [np.zeros((1, 1, 1))])
