"""Computes published tables again, and compares every printed number with ours."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from citeforge.engines.judge.records import Judge
from citeforge.engines.judge.session import JudgeSession
from citeforge.library.scores import open_judge
from citeforge.plugins.reproduce.declared import (
    PublishedRow,
    PublishedTable,
    Quantity,
    find_table,
    published_tables,
)
from citeforge.plugins.reproduce.files import MissingOutputError, find_output
from citeforge.plugins.reproduce.read_attributed_ir import read_air_answers, read_air_questions
from citeforge.plugins.reproduce.read_judgements import read_comparisons, read_judgements
from citeforge.plugins.reproduce.read_lists import read_graphs, read_list
from citeforge.plugins.reproduce.reader import Reader, ReaderTools
from citeforge.plugins.reproduce.verdicts import (
    ComparedCell,
    ComparedTable,
    equals_printed,
    truncate_as_printed,
)
from citeforge.schemas.errors import InputError, UnknownValueError

READERS: dict[str, Reader] = {
    "attributed-ir": read_air_answers,
    "hagrid": read_air_questions,
    "judgements": read_judgements,
    "kalma": read_graphs,
    "preferences": read_comparisons,
    "rows": read_list,
}
"""Readers by name: each computes numbers from one kind of published files."""


def reproduce_tables(
    names: Sequence[str] = (),
    *,
    data: str | Path | None = None,
    judge: str | Judge | JudgeSession | None = None,
    models: bool = False,
    on_table: Callable[[ComparedTable], None] = lambda table: None,
) -> list[ComparedTable]:
    """Reproduce published tables, as ``citeforge reproduce`` does, without printing.

    Args:
        names: tables, or declarations of your own (``FILE.yaml``); none for all tables.
        data: folder with checkouts, OWNER/NAME or NAME; None to download files by commit.
        judge: decides entailment; without it, numbers that need the paper's judge are left out.
        models: load other models that numbers need.
        on_table: called with every table when it is done.

    Raises:
        InputError: a file's content is not the declared one, or it is not available.
        UsageError: no such table, or its declaration names an unknown reader, option or value.
    """
    if data is not None and not Path(data).is_dir():
        raise InputError(
            "is not a folder", path=data, allowed="a folder with checkouts, OWNER/NAME",
            code="not-a-folder"
        )  # fmt: skip
    declared = [find_table(name) for name in dict.fromkeys(names or published_tables())]
    checkouts = None if data is None else Path(data)
    compared = []
    with TemporaryDirectory(prefix="citeforge-reproduce-") as folder:
        tools = ReaderTools(Path(folder), open_judge(judge), models)
        for table in declared:
            cells = [c for row in table.rows for c in _compute_row(table, row, checkouts, tools)]
            compared.append(ComparedTable(table, cells))
            on_table(compared[-1])
    return compared


def _compute_row(
    table: PublishedTable, row: PublishedRow, checkouts: Path | None, tools: ReaderTools
) -> list[ComparedCell]:
    """Compute the numbers of a published table's row, and compare them with the printed ones.

    Args:
        table: declaration of the table.
        row: row of the table, with the printed numbers.
        checkouts: folder with the repositories of outputs; None to download files.
        tools: folder, judge and models that readers share.
    """
    quantities = {column: table.quantity(row, column) for column in row.printed}
    missing = {
        column: _name_missing_model(quantity, tools) for column, quantity in quantities.items()
    }
    wanted = list(dict.fromkeys(q.value for c, q in quantities.items() if not missing[c]))
    values: dict[str, float | str] = {}
    if wanted:
        if table.reader not in READERS:
            raise UnknownValueError("reader", table.reader, READERS)
        try:
            groups = [
                [find_output(checkouts, table.repository, table.files[name]) for name in group]
                for group in row.files
            ]
            options = {**table.options, **row.options}
            values |= READERS[table.reader](groups, options, wanted, tools)
            for name in wanted:
                if name not in values:
                    raise UnknownValueError("statistic", name, values)
        except MissingOutputError as error:
            values |= dict.fromkeys(wanted, str(error))
    return [
        _compare_cell(
            table, row, column, quantity, missing[column] or values[quantity.value], tools
        )
        for column, quantity in quantities.items()
    ]


def _name_missing_model(quantity: Quantity, tools: ReaderTools) -> str:
    """Name the model that a table's number needs and that is not available; empty if none."""
    if quantity.judge is not None and tools.judge is None:
        return f"{quantity.judge} (--judge)"
    if quantity.model is not None and not tools.models:
        return f"{quantity.model} (--models)"
    return ""


def _compare_cell(
    table: PublishedTable,
    row: PublishedRow,
    column: str,
    quantity: Quantity,
    value: float | str,
    tools: ReaderTools,
) -> ComparedCell:
    """Compare a table cell's computed value (or why there is none) with the printed number.

    Args:
        table: declaration of the table, with known differences.
        row: row of the table, with the printed numbers.
        column: column of the cell.
        quantity: what the cell shows, its scale, and the model that it needs.
        value: value that was computed, or a text that says why there is none.
        tools: the judge, if any.
    """
    printed = row.printed[column]
    cell = ComparedCell(row.name, column, printed, None, "not computed", quantity.value)
    if not isinstance(value, str):
        ours = value * quantity.scale
        cell = replace(cell, ours=truncate_as_printed(ours, printed) if table.cuts_digits else ours)
    expected, why = table.explain_cell(row.name, column)
    if why and expected is None:
        return replace(cell, verdict="needs outputs", why=why)
    if cell.ours is None:
        needs_model = quantity.judge is not None or quantity.model is not None
        verdict = "needs a model" if needs_model else "not computed"
        return replace(cell, verdict=verdict, why=value)
    if quantity.judge is not None and tools.judge is not None:
        judge = tools.judge.judge.signature
        if quantity.judge not in judge:
            return replace(
                cell, verdict="needs a model", why=f"{quantity.judge}; ours is by {judge}"
            )
    if expected is not None and equals_printed(cell.ours, expected):
        return replace(cell, verdict="explained", why=why)
    if equals_printed(cell.ours, printed):
        return replace(cell, verdict="equal")
    return replace(cell, verdict="not explained")
