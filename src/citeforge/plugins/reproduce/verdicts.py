"""A printed number beside ours, and tables of them."""

import math
from typing import Literal

import msgspec

from citeforge.plugins.reproduce.declared import PublishedTable

CellVerdict = Literal[
    "equal", "explained", "not explained", "needs outputs", "needs a model", "not computed"
]  # fmt: skip


def decimals(printed: str) -> int:
    """Count the digits behind the point of a printed number."""
    return len(printed.rstrip("%").partition(".")[2])


def number(printed: str) -> float:
    """Parse a printed number."""
    return float(printed.rstrip("%").replace(",", ""))


def is_printed_as(value: float, printed: str) -> bool:
    """Whether a value, rounded to the printed digits, is the printed number.

    A value halfway between two numbers is printed as either.
    """
    return abs(value - number(printed)) <= 0.5 * 10.0 ** -decimals(printed) + 1e-9


def cut_digits(value: float, printed: str) -> float:
    """Cut a value's digits off behind those printed, without rounding."""
    unit = 10.0 ** decimals(printed)
    return math.trunc(value * unit + math.copysign(1e-9, value)) / unit


def rounded_as_printed(value: float, printed: str) -> str:
    """Write a value with as many digits as the printed number."""
    sign = "%" if printed.endswith("%") else ""
    return f"{value:,.{decimals(printed)}f}{sign}"


class ComparedCell(msgspec.Struct, frozen=True):
    """A printed number, our value, and the verdict on their difference.

    Attributes:
        row: of the table.
        column: of the table.
        printed: as it is printed.
        ours: our value, as printed; None where it could not be computed.
        verdict: one of six words.
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
        """Our value with the printed digits."""
        return "" if self.ours is None else rounded_as_printed(self.ours, self.printed)

    @property
    def difference(self) -> str:
        """Reproduced minus printed value, as text; empty without a reproduced value."""
        if self.ours is None:
            return ""
        digits = decimals(self.printed)
        rounded = round(self.ours - number(self.printed), digits) + 0.0  # no -0.00
        return f"{rounded:+.{digits}f}"


class ComparedTable(msgspec.Struct, frozen=True):
    """A declared table with all its compared cells.

    Attributes:
        declared: what is printed.
        cells: row by row.
    """

    declared: PublishedTable
    cells: list[ComparedCell]

    def count(self, verdict: CellVerdict) -> int:
        """Count the cells with a verdict."""
        return sum(cell.verdict == verdict for cell in self.cells)

    @property
    def n_equal_in_files(self) -> int:
        """Number of equal cells that are printed in a file beside the outputs, not in the paper."""
        files = self.declared.result_files
        equal = [cell for cell in self.cells if cell.verdict == "equal"]
        return sum(cell.row in files or cell.column in files for cell in equal)

    @property
    def notes(self) -> list[str]:
        """Reasons, each once."""
        return list(dict.fromkeys(cell.why for cell in self.cells if cell.why))

    def note(self, why: str) -> int:
        """Number of a reason among the notes; 0 for none."""
        return self.notes.index(why) + 1 if why else 0
