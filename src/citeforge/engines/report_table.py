"""The table of all reports, written as terminal text, Markdown, LaTeX, CSV or HTML."""

import csv
import io
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby, zip_longest
from textwrap import wrap

from citeforge.engines.markdown import markdown_text
from citeforge.engines.textfiles import escape_formula

_GAP = 2
_LATEX = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
          "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}",
          "–": "--", "†": r"\textdagger{}", "‡": r"\textdaggerdbl{}", "Δ": r"$\Delta$",
          "↑": r"$\uparrow$", "↓": r"$\downarrow$", "≤": r"$\leq$", "≥": r"$\geq$",
          "−": "$-$", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
          "`": r"\textasciigrave{}", '"': r"\textquotedbl{}"}  # fmt: skip

SIGNATURE = "|p:"
"""Part that every signature has, and no other note: the protocol."""


@dataclass(frozen=True)
class MarkedCell:
    """Cell whose value is bold, or has a mark behind it."""

    value: object
    is_bold: bool = False
    mark: str = ""

    def __str__(self) -> str:
        """Write the cell as plain text: its value, then its mark."""
        return f"{self.value} {self.mark}".rstrip()


@dataclass(frozen=True)
class Table:
    """A table of a report, independent of the output format.

    Attributes:
        head: titles of its columns.
        rows: values or :class:`MarkedCell`; all rows are as long as the head.
        left: columns that are aligned to the left, from the first; the others to the right.
        groups: what heads each column above its title, neighbours with the same once; none
            without.
        title: title of the table.
        notes: how to read it.
        keys: columns that tell rows apart, from the first: each part of a split table has them.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    left: int = 1
    groups: Sequence[str] = ()
    title: str = ""
    notes: Sequence[str] = ()
    keys: int = 1

    def text(self, width: int | None = None, ruled: bool = True) -> list[str]:
        """Write the table for a terminal, in blocks of columns that fit, titles ``ruled`` or not.

        Columns that do not fit beside each other come in further tables beneath, each with the
        key columns again, and a long cell goes on in the next line: nothing is left out.

        Args:
            width: width of the terminal in cells; None for lines of any length.
            ruled: whether the head is underlined.
        """
        from rich.cells import cell_len  # here: commands that print no table do without

        cells = [[str(cell) for cell in row] for row in (self._titles(), *self.rows)]
        most = None if width is None else _widest_cell(cells, width, self.keys)
        head, *rest = [_wrap_row(row, most) for row in cells]
        rows = [*head, *(line for lines in rest for line in lines)]
        widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
        lines: list[str] = []
        for block in _split_columns(widths, width, self.keys):
            if lines:
                lines.append("")
            texts = [_align_row(row, widths, block, self.left) for row in rows]
            rule = ["-" * max(map(cell_len, texts))] if ruled else []
            # Lines that go on in columns of other blocks are empty here.
            lines += [*texts[: len(head)], *rule, *filter(None, texts[len(head) :])]
        return lines

    def transposed(self) -> "Table":
        """Swap rows and columns; the title of the first column stays."""
        columns = list(zip(*self.rows, strict=True))
        names = [str(name) for name in columns[0]] if columns else []
        rows = [[t, *values] for t, values in zip(self._titles()[1:], columns[1:], strict=True)]
        return Table([self.head[0], *names], rows, title=self.title, notes=self.notes)

    def markdown(self) -> str:
        """Write the table in Markdown; texts in it show as they are."""

        def bold(text: str) -> str:
            """Mark a text as bold in Markdown."""
            return f"**{text}**"

        head, *rows = (
            f"| {' | '.join(_format_cell(c, markdown_text, bold, ' {}') for c in row)} |"
            for row in (self._titles(), *self.rows)
        )
        return "\n".join([head, f"| {' | '.join(['---'] * len(self.head))} |", *rows])

    def latex(self) -> list[str]:
        """Write the table as LaTeX lines (package booktabs), with the notes below the rows."""

        def line(cells: Sequence[object]) -> str:
            """Write the cells of one row as a line of LaTeX."""
            texts = (_format_cell(c, _to_tex, r"\textbf{{{}}}".format, _SUPERSCRIPT) for c in cells)
            return " & ".join(texts) + r" \\"

        columns = "l" * self.left + "r" * (len(self.head) - self.left)
        wide = rf"\multicolumn{{{len(columns)}}}{{l}}{{\footnotesize {{}}}} \\"
        notes = [wide.replace("{}", _to_tex(note)) for note in self.notes]
        return [
            rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *_group_lines(self.groups),
            line(self.head), r"\midrule", *map(line, self.rows), r"\bottomrule", *notes,
            r"\end{tabular}",
        ]  # fmt: skip

    def csv(self) -> str:
        """Write the table as CSV; None and NaN are empty, and no cell can start a formula."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows(map(_csv_value, row) for row in (self.head, *self.rows))
        return text.getvalue()

    def html(self) -> str:
        """Write the table as escaped HTML that scrolls in its frame."""

        def line(cells: Sequence[object]) -> str:
            """Write the cells of one row as HTML."""
            first, *others = (_format_cell(c, lambda v: escape(str(v)), "<b>{}</b>".format, "{}")
                              for c in cells)  # fmt: skip
            rest = "".join(f"<td{aligned[n]}>{text}</td>" for n, text in enumerate(others, 1))
            return f'<tr><th scope="row">{first}</th>{rest}</tr>'

        aligned = [' style="text-align:left"' * (n < self.left > 1) for n in range(len(self.head))]
        titles = zip(aligned, self._titles(), strict=True)
        head = "".join(f'<th scope="col"{style}>{escape(title)}</th>' for style, title in titles)
        rows = "\n".join(map(line, self.rows))
        return (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(self.title)}">'
            f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>"
        )

    def _titles(self) -> list[str]:
        """List the column titles, each with the name of its group in brackets."""
        groups = self.groups or [""] * len(self.head)
        return [f"{t} ({g})" if g else t for t, g in zip(self.head, groups, strict=True)]


MOST_ROWS = 30
"""Rows that a notebook shows of an object's tables."""


class Displayed(ABC):
    """Base of results that a console shows in one line, and a notebook as small tables."""

    @abstractmethod
    def _headline(self) -> str:
        """Return the summary of a result that a Python console shows, in one line."""

    @abstractmethod
    def _tables(self) -> Iterable[Table]:
        """Return the tables of a result that a notebook shows, with their titles and notes."""

    def __repr__(self) -> str:
        """Return the headline in angle brackets, as a Python console shows it."""
        return f"<{self._headline()}>"

    def _repr_html_(self) -> str:
        """Return the tables as HTML for a notebook, escaped and without external content."""
        parts: list[str | Table] = [self._headline()]
        room, n_hidden = MOST_ROWS, 0
        for table in self._tables():
            rows = table.rows[:room]
            room, n_hidden = room - len(rows), n_hidden + len(table.rows) - len(rows)
            if rows:
                parts += [table.title, replace(table, rows=rows), *table.notes]
        parts += [f"… {n_hidden:,} more rows"] if n_hidden else []
        return "\n".join(
            p.html() if isinstance(p, Table) else f"<p>{escape(p)}</p>" for p in parts if p
        )


def comment(text: str) -> str:
    """Write a text as a LaTeX comment line."""
    return "% " + " ".join(text.split())


_SUPERSCRIPT = r"\textsuperscript{{{}}}"


def _format_cell(
    cell: object, plain: Callable[[object], str], bold: Callable[[str], str], mark_format: str
) -> str:
    """Write a cell by functions for plain and bold text; append its mark by ``mark_format``.

    Args:
        cell: a value, or one with a mark.
        plain: writes a value.
        bold: makes a written value bold.
        mark_format: format of the mark, with ``{}`` in it.
    """
    if not isinstance(cell, MarkedCell):
        return plain(cell)
    text = bold(plain(cell.value)) if cell.is_bold else plain(cell.value)
    return text + (mark_format.format(plain(cell.mark)) if cell.mark else "")


def _to_tex(value: object) -> str:
    """Escape a value for a line of LaTeX, also a ``[`` or ``*`` at its start."""
    text = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(str(value).split()))
    parts = ("".join(_LATEX.get(c, c) for c in part) for part in re.split("(?<=-)(?=-)", text))
    return "{}" * text.startswith(("[", "*")) + "{}".join(parts)


def _csv_value(cell: object) -> object:
    """Convert a cell to its CSV value: None for NaN, formulas escaped."""
    if isinstance(cell, float) and math.isnan(cell):
        return None
    return escape_formula(cell) if isinstance(cell, str) else cell


def _group_lines(groups: Sequence[str]) -> list[str]:
    """Write LaTeX lines above the column titles: group names, each with a rule under it."""
    if not any(groups):
        return []
    above, rules, start = list[str](), list[str](), 1
    for name, members in groupby(groups):
        n = len(list(members))
        above.append(rf"\multicolumn{{{n}}}{{c}}{{{_to_tex(name)}}}" if name else "")
        rules += [rf"\cmidrule(lr){{{start}-{start + n - 1}}}"] if name else []
        start += n
    return [" & ".join(above) + r" \\", "".join(rules)]


def _widest_cell(rows: Sequence[Sequence[str]], width: int, n_keys: int) -> int:
    """Compute the largest cell width at which the key columns and any other fit ``width``.

    Args:
        rows: cells as text.
        width: width of the terminal.
        n_keys: number of key columns.
    """
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    widest = [*widths[:n_keys], max(widths[n_keys:], default=0)]
    room, half = width - _GAP * n_keys, max(8, (width - _GAP) // 2)
    return next((n for n in range(half, 4, -1) if sum(min(w, n) for w in widest) <= room), 4)


def _wrap_row(row: Sequence[str], max_width: int | None) -> list[list[str]]:
    """Wrap a row's cells at a width; return the lines, each a list of cells (one if None)."""
    if max_width is None:
        return [list(row)]
    parts = [_wrap_cell(cell, max_width) for cell in row]
    return [list(line) for line in zip_longest(*parts, fillvalue="")]


_CUT = re.compile(r"(?<=\s)(?=\S)|(?:(?<=[_./])|(?<=\w-))(?=[^\s_./-])(?<!\d\.(?=\d))")
"""Where a cell may be cut: behind a space, ``_``, ``.``, ``-`` or ``/``, never within a number."""


def _wrap_cell(cell: str, max_width: int) -> list[str]:
    """Wrap a cell at a width: after spaces and punctuation, else within a word."""
    from rich.cells import cell_len, chop_cells

    lines = [""]
    for word in _CUT.split(cell):
        if cell_len((lines[-1] + word).rstrip()) <= max_width:
            lines[-1] += word
        else:
            lines += chop_cells(word, max_width)
    return [line.rstrip() for line in lines if line] or [""]


def _align_row(row: Sequence[str], widths: Sequence[int], block: Sequence[int], n_left: int) -> str:
    """Join a row's cells of some columns to a padded line, the first ``n_left`` flush left.

    Args:
        row: cells as text.
        widths: width of each column.
        block: columns to write.
        n_left: number of columns that are aligned to the left; others are to the right.
    """
    from rich.cells import cell_len

    cells = []
    for i in block:
        space = " " * (widths[i] - cell_len(row[i]))
        cells.append(row[i] + space if i < n_left else space + row[i])
    return (" " * _GAP).join(cells).rstrip()


def _split_columns(widths: Sequence[int], width: int | None, n_keys: int) -> list[list[int]]:
    """Split columns into blocks that fit the width; every block has the key columns.

    Args:
        widths: width of each column.
        width: width of the terminal; None for no limit.
        n_keys: number of key columns.

    Returns:
        Columns of each block.
    """

    def fill(limit: int) -> list[list[int]]:
        """Fill blocks of columns up to a width; each block starts with the key columns."""
        blocks: list[list[int]] = []
        used = 0
        for i in range(n_keys, len(widths)):
            used += _GAP + widths[i]
            if not blocks or used > limit:
                blocks.append([*range(n_keys)])
                used = sum(widths[:n_keys]) + _GAP * n_keys + widths[i]
            blocks[-1].append(i)
        return blocks or [[*range(n_keys)]]

    whole = sum(widths) + _GAP * len(widths)
    fewest = len(fill(whole if width is None else width))
    return next(b for limit in range(whole + 1) if len(b := fill(limit)) == fewest)


def folded_note(text: str, width: int | None) -> list[str]:
    """Wrap a table's note to a terminal's width; a score signature stays on one line."""
    if width is None or SIGNATURE in text:
        return [text]
    return wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)
