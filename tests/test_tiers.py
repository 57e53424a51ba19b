"""What `make test` runs is decided by measuring: `tests/durations.json`."""

import json

import pytest

from durations import FILE, rounded


def test_functions_that_took_long_are_slow(tiers: dict[str, str]) -> None:
    lasting = {tiers[name] for name in json.loads(FILE.read_text()) if name in tiers}
    assert lasting <= {"slow"}


def test_no_duration_is_of_a_test_that_is_gone(tiers: dict[str, str]) -> None:
    files = {name.partition("::")[0] for name in tiers}
    stale = [
        name
        for name in json.loads(FILE.read_text())
        if name.partition("::")[0] in files and name not in tiers
    ]
    assert not stale, f"make durations, or take them out: {stale}"


@pytest.mark.parametrize(
    ("seconds", "expected"), [(1.3, 1), (1.5, 2), (7.2, 10), (3.1, 2), (3.3, 5), (140, 100)]
)
def test_durations_are_kept_to_an_order_of_magnitude(seconds: float, expected: float) -> None:
    assert rounded(seconds) == expected
