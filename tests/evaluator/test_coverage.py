"""A small part of `make coverage`: intervals of simulated benchmarks cover."""

from __future__ import annotations

import pytest
from benchmarks.coverage import corrected_coverage, null_rejections, raw_coverage, world


@pytest.mark.parametrize("judge", [(0.95, 0.95), (0.6, 0.7)])
def test_corrected_intervals_cover(judge: tuple[float, float]) -> None:
    found = corrected_coverage(world(judge, 0.6, 3, 20_000), 100, 50, 80, 4)
    # Binomial(80, .95): 1 in 10,000 lies below .84.
    assert min(covered for covered, _ in found.values()) >= 0.84
    # A judge never makes the interval wider than the labels alone do; a good one, narrower.
    widths = [width for _, width in found.values()]
    assert max(widths) < 1.0
    assert (max(widths) < 0.9) == (judge[0] > 0.9)


def test_raw_intervals_and_p_values() -> None:
    found = world((0.95, 0.95), 0.6, 1, 20_000)
    # Binomial(150, .95): 1 in 10,000 lies below .866.
    assert min(raw_coverage(found, 30, 150, 2).values()) >= 0.866
    shares = null_rejections(found, 30, 100, 5)
    # 100 families: 1 in 1,000 lies above .13.
    assert shares["holm"] <= 0.13
    assert 0.02 < shares["t"] < 0.09
