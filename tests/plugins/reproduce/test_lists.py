"""Statistics of rows that a table of anybody prints."""

from __future__ import annotations

import pytest

from citeforge.plugins.reproduce.lists import statistic
from citeforge.schemas.errors import UsageError


def test_statistics_of_rows() -> None:
    rows = [{"a": "1", "b": "x", "c": [True, False]}, {"a": "3", "b": "x", "c": [True, True]}]
    assert statistic("count", rows) == 2
    assert statistic("mean a", rows) == (1 + 3) / 2
    assert statistic("distinct b", rows) == 1
    assert statistic("distinct a+b per distinct b", rows) == 2 / 1
    assert statistic("mean share c", rows) == (1 / 2 + 2 / 2) / 2
    assert statistic("share all c", rows) == 1 / 2
    with pytest.raises(UsageError, match="no such 'd'"):
        statistic("mean d", rows)
