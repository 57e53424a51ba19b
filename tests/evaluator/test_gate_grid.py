"""A small part of the grid in docs/gate.md: passes at a true loss of the margin, and power."""

import pytest
from benchmarks.gate_grid import (
    GRADED,
    MARGINS,
    corrected_passes,
    drawn_passes,
    powers,
    run_passes,
    whole_passes,
)

LEVEL = 0.025


@pytest.mark.parametrize("n", [30, 100, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("margin", MARGINS)
def test_whole_answers_lost(n: int, margin: float) -> None:
    """Exact sums over all outcomes; at a margin of 5 and 100 queries, Student's t passes 4 %."""
    assert whole_passes(n, margin, 0.0, margin) <= LEVEL
    assert whole_passes(n, margin + 0.1, 0.1, margin) <= LEVEL


@pytest.mark.parametrize("kind", GRADED)
@pytest.mark.parametrize(("n", "margin"), [(30, 0.1), (100, 0.05), (300, 0.03)])
def test_graded_losses(kind: str, n: int, margin: float) -> None:
    # Binomial(200, .025): 1 in 1,000 lies above .065.
    assert drawn_passes(GRADED[kind], n, margin, margin, 200) <= 0.065


def test_power_beside_students_t() -> None:
    found = list(powers((100,)))
    assert len(found) == 6
    assert all(power >= 0.8 * by_t for *_, power, by_t in found)


@pytest.mark.slow
def test_runs_and_labels() -> None:
    # Binomial(300, .025): 1 in 1,000 lies above .057.
    assert run_passes(100, 0.8, 0.1, 2, 300) <= 0.057
    assert corrected_passes(100, 20, 1.0, 0.1, 0.95, 300) <= 0.057
    assert corrected_passes(300, 30, 0.8, 0.1, 0.7, 300) <= 0.057
