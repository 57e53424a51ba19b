"""Published tables of every repository that is checked out: no difference lacks its reason."""

from collections.abc import Callable
from pathlib import Path

import pytest

from citeforge.plugins.reproduce.declared import find_table, published_tables
from citeforge.plugins.reproduce.run import reproduce_tables
from citeforge.plugins.reproduce.verdicts import equals_printed


@pytest.mark.parametrize("name", published_tables())
def test_every_difference_has_its_reason(peer: Callable[[str], Path], name: str) -> None:
    table = find_table(name)
    checkout = peer(table.repository.name.partition("/")[2])
    (compared,) = reproduce_tables([name], data=checkout.parent)
    assert not [c for c in compared.cells if c.verdict in ("not explained", "not computed")]
    # A reason goes when its difference does.
    known = {(r, c) for one in table.differs for r, columns in one.cells.items() for c in columns}
    assert {(c.row, c.column) for c in compared.cells if c.verdict == "explained"} == known
    # What is said to be of other outputs is not what ours give.
    printed = [c for c in compared.cells if c.verdict == "needs outputs" and c.ours is not None]
    assert not [c for c in printed if equals_printed(c.ours or 0.0, c.printed)]
