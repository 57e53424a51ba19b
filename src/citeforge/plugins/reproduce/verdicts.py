"""Comparison of a printed number with ours, and tables of such comparisons."""

import math
from typing import Literal

import msgspec

from citeforge.engines.shown import show_amount, show_number
from citeforge.plugins.reproduce.declared import PublishedTable

CellVerdict = Literal[
    "equal", "explained", "not explained", "needs outputs", "needs a model", "not computed"
]  # fmt: skip


def count_decimals(printed: str) -> int:
    """Count the digits after the decimal point of a printed number."""
    return len(printed.rstrip("%").partition(".")[2])


def parse_printed(printed: str) -> float:
    """Parse a printed number, such as ``1,085`` or ``28.2%`` (28.2)."""
    return float(printed.rstrip("%").replace(",", ""))


def equals_printed(value: float, printed: str) -> bool:
    """Whether a value equals a printed number when it is rounded to the printed digits.

    A value halfway between two numbers may be printed as either.
    """
    return abs(value - parse_printed(printed)) <= 0.5 * 10.0 ** -count_decimals(printed) + 1e-9


def truncate_as_printed(value: float, printed: str) -> float:
    """Truncate a value to as many decimals as the printed number has, without rounding."""
    unit = 10.0 ** count_decimals(printed)
    return math.trunc(value * unit + math.copysign(1e-9, value)) / unit


def round_as_printed(value: float, printed: str) -> str:
    """Format a value as a printed number: with its count of decimals, and percent sign if any."""
    sign = "%" if printed.endswith("%") else ""
    return show_amount(value, count_decimals(printed)) + sign


class ComparedCell(msgspec.Struct, frozen=True):
    """A printed number, our value, and the verdict on their difference.

    Attributes:
        row: name of its row.
        column: name of its column.
        printed: the number as printed.
        ours: our value, in the scale of the printed number; None where it could not be computed.
        verdict: result of the comparison.
        value: name of the value that the reader computed.
        why: reason of the difference, or what is missing.
    """

    row: str
    column: str
    printed: str
    ours: float | None
    verdict: CellVerdict
    value: str
    why: str = ""

    @property
    def ours_shown(self) -> str:
        """Reproduced value as text, with the printed number's decimals; empty without one."""
        return "" if self.ours is None else round_as_printed(self.ours, self.printed)

    @property
    def difference(self) -> str:
        """Reproduced value minus the printed number, as text with sign; empty without one."""
        if self.ours is None:
            return ""
        digits = count_decimals(self.printed)
        rounded = round(self.ours - parse_printed(self.printed), digits) + 0.0  # no -0.00
        return show_number(rounded, digits, sign="+")


class ComparedTable(msgspec.Struct, frozen=True):
    """A published table with all its compared cells.

    Attributes:
        declared: declaration of the table.
        cells: its compared cells, row by row.
    """

    declared: PublishedTable
    cells: list[ComparedCell]

    def count(self, verdict: CellVerdict) -> int:
        """Count the reproduced table's cells with a verdict."""
        return sum(cell.verdict == verdict for cell in self.cells)

    @property
    def n_equal_in_files(self) -> int:
        """Number of cells that equal a number in a published file of results, not in the paper."""
        files = self.declared.result_files
        equal = [cell for cell in self.cells if cell.verdict == "equal"]
        return sum(cell.row in files or cell.column in files for cell in equal)

    @property
    def notes(self) -> list[str]:
        """Distinct reasons of differences in the table's cells, for the notes below it."""
        return list(dict.fromkeys(cell.why for cell in self.cells if cell.why))

    def note_number(self, why: str) -> int:
        """Get the number, from 1, of a difference's reason among the notes; 0 if it is empty."""
        return self.notes.index(why) + 1 if why else 0
