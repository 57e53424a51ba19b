"""Tables for papers, before they are written: chosen measures, best values, significance."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from types import MappingProxyType

from citeforge.engines.report_table import MarkedCell, Table
from citeforge.engines.shown import DASH, show_number, show_value
from citeforge.evaluator.compare import (
    compare_pairs,
    find_baseline,
    parts_across,
    wanted_measures,
)
from citeforge.evaluator.lines import Lines, is_below
from citeforge.evaluator.measures.registry import direction
from citeforge.evaluator.ranks import comparable_entries
from citeforge.evaluator.rows import (
    TRIVIAL,
    controls_last,
    drop_signature_parts,
    is_trivial,
    marked_controls,
    named_rows,
)
from citeforge.evaluator.statistics.intervals import ALPHA
from citeforge.evaluator.withhold import require_values
from citeforge.reports.notes import end_sentence, line_notes, not_comparable, report_lines
from citeforge.schemas.audit import BELOW, LINE
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.command_options import TableOptions
from citeforge.schemas.scores import MeasureScore, ScoreFile


@dataclass(frozen=True)
class TableCell:
    """A value in a table for a paper.

    Attributes:
        score: score from a score file.
        is_best: whether it is the best of its column.
        p: adjusted p-value of its difference from the baseline; NaN without one.
        is_trivial: whether any citation satisfies the measure in this file.
        is_below: whether it is at or below the line of systems that copy what is nearest.
    """

    score: MeasureScore
    is_best: bool = False
    p: float = math.nan
    is_trivial: bool = False
    is_below: bool = False

    @property
    def text(self) -> str:
        """Value of the table cell as text; a dash if there is none."""
        return show_value(self.score)

    @property
    def is_significant(self) -> bool:
        """Whether the value differs significantly from the baseline's (p < .05)."""
        return self.p < ALPHA


@dataclass(frozen=True)
class TableColumn:
    """A column of a table: a measure, and its context set if sets have columns of their own."""

    measure: str
    context: str = ""

    @property
    def title(self) -> str:
        """Heading of the column on one line."""
        return f"{self.measure} ({self.context})" if self.context else self.measure


_CellKey = tuple[str, TableColumn]
"""(system, column)"""


@dataclass(frozen=True)
class PaperTable:
    """A table for a paper, before it is written in a format.

    Attributes:
        columns: its columns, in order.
        rows: its systems, in order.
        cells: (system, column) to its cell; cells without a score are missing.
        notes: explanations below the table.
        signatures: signatures of the numbers.
        mark: mark of significant differences.
        lines: rows of the lines to beat, below the systems.
    """

    columns: list[TableColumn]
    rows: list[str]
    cells: dict[tuple[str, TableColumn], TableCell]
    notes: list[str]
    signatures: list[str]
    mark: str
    lines: list[list[str]]


def paper_table(
    files: Sequence[ScoreFile], options: TableOptions, lines_to_beat: Lines = MappingProxyType({})
) -> PaperTable:
    """Make a paper's table; mark values not above ``lines_to_beat`` (best of systems that copy).

    Without ``per_context``, each context set of a system has its own row, which names the set.
    Values at or below their line are marked.

    Raises:
        UnknownValueError: no file has such a measure, or no system has such a name.
        InputError: two files are of one cell, or nothing can be compared with the baseline.
    """
    files = controls_last(files)
    wanted = wanted_measures(files, options.measures)
    present = dict.fromkeys(m.name for f in files for m in f.measures)
    order = {name: i for i, name in enumerate(options.measures)}
    names = [n for n in present if n in wanted]
    names.sort(key=lambda n: order.get(n, order.get(n.partition("[")[0], len(order))))
    rows = _name_rows(files) if options.per_context else named_rows(files)
    alike = drop_signature_parts(rows, parts_across(options.across))
    contexts = list(dict.fromkeys(f.context for f in files)) if options.per_context else [""]
    columns = [TableColumn(name, context) for context in contexts for name in names]
    p_values, n_tests = _p_values(files, names, options)
    cells: dict[_CellKey, TableCell] = {}
    for file, row in zip(files, rows, strict=True):
        for m in row.measures:
            if m.name not in wanted:
                continue
            at = row.system, TableColumn(m.name, file.context if options.per_context else "")
            if at in cells:
                raise InputError(
                    f"{row.system}: two files have {at[1].title}", path=file.submission,
                    allowed="one score file per system and context set", code="duplicate-id"
                )  # fmt: skip
            p = p_values.get((id(file), m.name), math.nan)
            cells[at] = TableCell(
                m,
                p=p,
                is_trivial=is_trivial(file, m.name),
                is_below=is_below(file, m, lines_to_beat),
            )
    if options.best == "bold":
        _mark_best(columns, cells, alike)
    shown = [
        r.model_copy(update={"measures": [m for m in r.measures if m.name in wanted]}) for r in rows
    ]
    cautions = [
        end_sentence(line)
        for line in report_lines(rows, [], wanted) + line_notes(shown, lines_to_beat)
    ]
    used = [c for c in columns if any(at == c for _, at in cells)]
    return PaperTable(
        used,
        list(dict.fromkeys(f.system for f in rows)), cells,
        _explain_marks(options, n_tests) + _left_out(files, alike, wanted, options) + cautions,
        list(dict.fromkeys(c.score.signature for c in cells.values())), options.mark,
        _line_rows(used, cells, lines_to_beat),
    )  # fmt: skip


def _line_rows(
    columns: Sequence[TableColumn], cells: dict[_CellKey, TableCell], lines_to_beat: Lines
) -> list[list[str]]:
    """Make a paper table's rows of values to beat (of copying systems), for scored columns.

    There is a row per context set if a column has lines of several sets.

    Args:
        columns: columns of the table.
        cells: scores by row name and column.
        lines_to_beat: value to beat by signature of the measure.
    """
    rows: dict[str, dict[TableColumn, str]] = {}
    for (_, column), cell in cells.items():
        if (line := lines_to_beat.get(cell.score.signature)) is not None:
            parts = dict(p.partition(":")[::2] for p in cell.score.signature.split("|"))
            context = "" if column.context else parts.get("ctx", "")
            rows.setdefault(context, {})[column] = show_number(line, cell.score.n_digits)
    titles = [LINE if len(rows) == 1 else f"{LINE} · {context}" for context in rows]
    return [
        [title, *(row.get(column, DASH) for column in columns)]
        for title, row in zip(titles, rows.values(), strict=True)
    ]


def _name_rows(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """Copy score files with distinct system names; equal ones if only the context set differs.

    Files of one system on several context sets keep one name, and share a row of the table.
    """
    if len({(f.protocol, f.benchmark_hash) for f in files}) == 1:
        return marked_controls(files)
    alike = [f.model_copy(update={"context": ""}) for f in files]
    return [
        file.model_copy(update={"system": one.system})
        for file, one in zip(files, named_rows(alike), strict=True)
    ]


def _p_values(
    files: Sequence[ScoreFile], measures: Sequence[str], options: TableOptions
) -> tuple[dict[tuple[int, str], float], int]:
    """Test differences from the baseline: (p-values by ``id(file)`` and measure, number tested).

    The p-values are adjusted by Holm over the whole table. Only measures with a better direction
    are compared.
    """
    p_values: dict[tuple[int, str], float] = {}
    directed = [name for name in measures if direction(name) is not None]
    if options.against is None or not directed:
        return p_values, 0
    require_values(files, "compare")
    bases = [(find_baseline(file, files, options.against), file) for file in files]
    pairs = [(b, f) for b, f in bases if f is not b and _may_compare(b, f, options)]
    rows = compare_pairs(pairs, directed, parts_across(options.across))
    for (_, file), differences in zip(pairs, rows, strict=True):
        for d in differences:
            p_values[id(file), d.measure] = d.p_holm
    tests = [d for differences in rows for d in differences if not d.same_as]
    return p_values, sum(not math.isnan(d.p_holm) for d in tests)


def _may_compare(baseline: ScoreFile, file: ScoreFile, options: TableOptions) -> bool:
    """Whether a file may be compared with a baseline: same context set, or ``across`` allows it."""
    return file.context == baseline.context or "contexts" in options.across


def _left_out(
    files: Sequence[ScoreFile], compared_files: Sequence[ScoreFile], measures: Collection[str],
    options: TableOptions,
) -> list[str]:  # fmt: skip
    """Write the notes below a paper's table on systems that may not be compared, and why.

    Args:
        files: score files as given.
        compared_files: the same files without the signature parts in which they may differ.
        measures: measures of the table.
        options: what the table is to contain.
    """
    is_marked = options.best != "none" or options.against is not None
    effect = ", so neither bold nor marks tell of it" * is_marked
    contexts = list(dict.fromkeys(f.context for f in files)) if options.per_context else [None]
    lines = [
        end_sentence(f"Not comparable{effect}: {line}")
        for context in contexts
        for line in not_comparable([
            f.model_copy(update={"measures": [m for m in f.measures if m.name in measures]})
            for f in compared_files if context in (None, f.context)
        ])
    ]  # fmt: skip
    if options.against is None:
        return lines
    return lines + [
        f"{file.system} ({file.context}) is not compared with {options.against}, which has no "
        "scores in that context set."
        for file in files
        if file.system != options.against
        and not _may_compare(find_baseline(file, files, options.against), file, options)
    ]


def _mark_best(
    columns: Sequence[TableColumn],
    cells: dict[_CellKey, TableCell],
    compared_files: Sequence[ScoreFile],
) -> None:
    """Mark the best cells of each column in ``cells``, among files that may be compared.

    Values are compared as displayed, so that all equal values are marked.

    Args:
        columns: columns of the table.
        cells: scores by row name and column; the best ones are replaced by marked copies.
        compared_files: score files, whose equal signatures say which may be compared.
    """
    for column in columns:
        is_higher_better = direction(column.measure)
        if is_higher_better is None:
            continue
        files = [f for f in compared_files if column.context in ("", f.context)]
        entries = [next((m for m in f.measures if m.name == column.measure), None) for f in files]
        comparable = set(compress([f.system for f in files], comparable_entries(files, entries)))
        mine = {
            at: c for at, c in cells.items()
            if at[1] == column and c.score.scale == 100 and at[0] in comparable
        }  # fmt: skip
        values = sorted(c.score.value for c in mine.values() if c.score.value is not None)
        for at, cell in mine.items():
            if cell.score.value is not None and cell.text == show_number(
                values[-1 if is_higher_better else 0], cell.score.n_digits
            ):
                cells[at] = replace(cell, is_best=True)


def _explain_marks(options: TableOptions, n_tests: int) -> list[str]:
    """Write the notes below a table that explain bold values and marks."""
    notes = []
    if options.best == "bold":
        notes.append(
            "Bold: the best value of a column, of measures shown from 0 to 100 that have a best."
        )
    if n_tests:
        notes.append(
            f"{options.mark}: differs from {options.against} at p < .05 (two-sided paired "
            f"permutation test over queries, Holm's correction over the {n_tests} comparisons of "
            "this table)."
        )
    return notes


def _column_heading(table: PaperTable, column: TableColumn) -> str:
    """Write a column's heading, marked if any citation satisfies the measure in some row."""
    trivial = any(cell.is_trivial for (_, one), cell in table.cells.items() if one == column)
    return f"{column.measure} {TRIVIAL}" if trivial else column.measure


def lay_out(table: PaperTable) -> Table:
    """Convert a paper's table of scores to a table of texts with marks, ready to write."""
    cells = table.cells
    rows: list[list[object]] = [
        [s, *(_marked(cells.get((s, c)), table.mark) for c in table.columns)] for s in table.rows
    ]
    return Table(
        ["system", *(_column_heading(table, c) for c in table.columns)],
        [*rows, *table.lines],
        groups=["", *(c.context for c in table.columns)],
        notes=table.notes,
    )


def _marked(cell: TableCell | None, mark: str) -> MarkedCell:
    """Write a cell with its marks for best and significant values; a dash without a score."""
    if cell is None:
        return MarkedCell(DASH)
    marks = [mark] * cell.is_significant + [BELOW] * cell.is_below
    return MarkedCell(cell.text, cell.is_best, " ".join(marks))
