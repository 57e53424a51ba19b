"""When a number is the one that a paper prints."""

import pytest

from citeforge.plugins.reproduce.verdicts import (
    equals_printed,
    round_as_printed,
    truncate_as_printed,
)


@pytest.mark.parametrize(
    ("value", "printed", "expected"),
    [(28.2267, "28.22", 28.22), (-0.019, "-0.01", -0.01), (0.29, "0.29", 0.29), (7.9, "7", 7.0)],
)
def test_cut_digits(value: float, printed: str, expected: float) -> None:
    assert truncate_as_printed(value, printed) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "printed", "same"),
    [
        (28.2267, "28.22", False), (28.2267, "28.23", True), (28.225, "28.22", True),
        (1085, "1,085", True), (51.58, "51.6%", True), (-0.0217, "-0.02", True),
        (0.04, "0.0", True), (1.5, "2", True), (1.49, "2", False),
    ],
)  # fmt: skip
def test_printed_digits(value: float, printed: str, same: bool) -> None:
    assert equals_printed(value, printed) is same


def test_ours_has_the_digits_that_are_printed() -> None:
    assert round_as_printed(14326.0, "15,428") == "14,326"
    assert round_as_printed(2 / 3, "60.0%") == "0.7%"
