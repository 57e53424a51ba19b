"""Tables for a terminal."""

from __future__ import annotations

from citeforge.engines.io.columns import aligned


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert aligned([["", "CiteP", "n"], ["a system", "1.00", "30"]]) == [
        "          CiteP   n",
        "-------------------",
        "a system   1.00  30",
    ]


def test_wide_letters_take_two_cells() -> None:
    assert aligned([["", "n"], ["系统", "1"], ["abcd", "2"]])[2:] == ["系统  1", "abcd  2"]


def test_what_does_not_fit_comes_beneath_and_nothing_is_lost() -> None:
    rows = [["", *(f"m{i}" for i in range(9))], ["s", *(f"{i}.00" for i in range(9))]]
    lines = aligned(rows, width=20)
    assert max(map(len, lines)) <= 20
    assert [line.split() for line in lines if line.startswith("s")] == [
        ["s", "0.00", "1.00", "2.00"],
        ["s", "3.00", "4.00", "5.00"],
        ["s", "6.00", "7.00", "8.00"],
    ]
    assert lines.count("") == 2
    # A column that is wider than the terminal stands alone.
    assert len(aligned([["", "a", "b"], ["s", "x" * 30, "y"]], width=20)) == 3 + 1 + 3
