"""Power and queries against statsmodels."""

import math

import numpy as np
import pytest

from citeforge.evaluator.statistics.power import power_of, queries_needed


@pytest.mark.parametrize("effect, sd, power", [(2, 20, 0.8), (5, 8, 0.9), (1, 0.5, 0.8)])
def test_queries_are_those_of_statsmodels(effect: float, sd: float, power: float) -> None:
    from statsmodels.stats.power import TTestPower

    theirs = TTestPower().solve_power(effect / sd, power=power, alpha=0.05)
    n = queries_needed(effect, sd, power)
    assert n == math.ceil(float(np.ravel(theirs)[0]))
    assert n is not None
    assert power_of(effect, sd, n) == pytest.approx(TTestPower().power(effect / sd, n, 0.05))
