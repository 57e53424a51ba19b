"""Tables for a terminal: the one place that knows the widths of columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

Rows = Sequence[Sequence[str]]
_GAP = 2


def aligned(rows: Rows, left: int = 1, width: int | None = None, ruled: bool = True) -> list[str]:
    """Lines of a table.

    Columns that do not fit beside each other come in further tables beneath, each with the first
    column again: nothing is left out.

    Args:
        rows: cells, the head first; all rows of one length.
        left: columns that are aligned to the left; the others to the right.
        width: of the terminal in cells; None where lines may be of any length.
        ruled: whether a rule stands under the head.
    """
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for block in _blocks(widths, width):
        if lines:
            lines.append("")
        found = [_line(row, widths, block, left) for row in rows]
        rule = ["-" * max(map(cell_len, found))] if ruled else []
        lines += [found[0], *rule, *found[1:]]
    return lines


def _line(row: Sequence[str], widths: Sequence[int], block: Sequence[int], left: int) -> str:
    cells = []
    for i in block:
        space = " " * (widths[i] - cell_len(row[i]))
        cells.append(row[i] + space if i < left else space + row[i])
    return (" " * _GAP).join(cells).rstrip()


def _blocks(widths: Sequence[int], width: int | None) -> list[list[int]]:
    """Columns that stand beside each other, the first in every block."""
    blocks = [[0]]
    taken = widths[0]
    for i, wide in enumerate(widths[1:], 1):
        if width is not None and len(blocks[-1]) > 1 and taken + _GAP + wide > width:
            blocks.append([0])
            taken = widths[0]
        blocks[-1].append(i)
        taken += _GAP + wide
    return blocks
