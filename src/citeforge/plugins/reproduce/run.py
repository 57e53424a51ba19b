"""Tables computed again: every printed number beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec.structs import replace

from citeforge.engines.judge.records import Judge
from citeforge.engines.judge.session import JudgeSession
from citeforge.library.scores import judge_of
from citeforge.plugins.reproduce.declared import (
    PublishedRow,
    PublishedTable,
    Quantity,
    find_table,
    published_tables,
)
from citeforge.plugins.reproduce.files import NotHereError, OutputFiles
from citeforge.plugins.reproduce.readers.reader import ReaderTools
from citeforge.plugins.reproduce.readers.registry import find_reader
from citeforge.plugins.reproduce.verdicts import CellVerdict, ComparedCell, cut_digits, verdict_of
from citeforge.schemas.errors import InputError, UnknownValueError


class ComparedTable(msgspec.Struct, frozen=True):
    """A table with all its numbers.

    Attributes:
        declared: what is printed.
        cells: row by row.
    """

    declared: PublishedTable
    cells: list[ComparedCell]

    def count(self, verdict: CellVerdict) -> int:
        """Cells of which this is said."""
        return sum(cell.verdict == verdict for cell in self.cells)


@dataclass(frozen=True)
class Reproduction:
    """How tables are computed.

    Attributes:
        files: where outputs are looked for.
        judge: decides entailment; None without.
        models: whether other models may be loaded.
    """

    files: OutputFiles
    judge: JudgeSession | None = None
    models: bool = False

    def tables(
        self,
        declared: Sequence[PublishedTable],
        on_table: Callable[[ComparedTable], None] | None = None,
    ) -> list[ComparedTable]:
        """Every table; `on_table` is told of each when it is done.

        Raises:
            InputError: a file is another than was declared, or cannot be had.
            UsageError: a declaration asks for what there is not.
        """
        compared = []
        with TemporaryDirectory(prefix="citeforge-reproduce-") as folder:
            tools = ReaderTools(Path(folder), self.judge)
            for table in declared:
                compared.append(ComparedTable(table, self._cells(table, tools)))
                if on_table is not None:
                    on_table(compared[-1])
        return compared

    def _cells(self, table: PublishedTable, tools: ReaderTools) -> list[ComparedCell]:
        return [cell for row in table.rows for cell in self._row(table, row, tools)]

    def _row(
        self, table: PublishedTable, row: PublishedRow, tools: ReaderTools
    ) -> list[ComparedCell]:
        quantities = {column: table.quantity(row, column) for column in row.printed}
        lacking = {column: self._lacks(one) for column, one in quantities.items()}
        wanted = list(dict.fromkeys(q.value for c, q in quantities.items() if not lacking[c]))
        values: dict[str, float | str] = {}
        if wanted:
            try:
                groups = [
                    [self.files.find(table.repository, table.files[name]) for name in group]
                    for group in row.files
                ]
                options = {**table.options, **row.options}
                values |= find_reader(table.reader)(groups, options, wanted, tools)
                for name in wanted:
                    if name not in values:
                        raise UnknownValueError("statistic", name, values)
            except NotHereError as error:
                values |= dict.fromkeys(wanted, str(error))
        return [
            self._compared(table, row, column, lacking[column] or values[one.value])
            for column, one in quantities.items()
        ]

    def _lacks(self, quantity: Quantity) -> str:
        """The model that a number needs and that is not here; empty where it has all."""
        if quantity.judge is not None and self.judge is None:
            return f"{quantity.judge} (--judge)"
        if quantity.model is not None and not self.models:
            return f"{quantity.model} (--models)"
        return ""

    def _compared(
        self, table: PublishedTable, row: PublishedRow, column: str, value: float | str
    ) -> ComparedCell:
        printed, quantity = row.printed[column], table.quantity(row, column)
        cell = ComparedCell(row.name, column, printed, None, "not computed", quantity.value)
        if not isinstance(value, str):
            ours = value * quantity.scale
            cell = replace(cell, ours=cut_digits(ours, printed) if table.cuts_digits else ours)
        if lacking := table.lacks_outputs(row.name, column):
            return replace(cell, verdict="needs outputs", why=lacking)
        if isinstance(value, str):
            needs_model = quantity.judge is not None or quantity.model is not None
            verdict: CellVerdict = "needs a model" if needs_model else "not computed"
            return replace(cell, verdict=verdict, why=value)
        if (another := self._other_judge(quantity)) is not None:
            return replace(cell, verdict="needs a model", why=another)
        verdict, why = verdict_of(cell, table.known_difference(row.name, column))
        return replace(cell, verdict=verdict, why=why)

    def _other_judge(self, quantity: Quantity) -> str | None:
        """What is said of a number that another judge than the paper's gave."""
        if quantity.judge is None or self.judge is None:
            return None
        judge = self.judge.judge.signature
        return None if quantity.judge in judge else f"{quantity.judge}; ours is by {judge}"


def reproduce_tables(
    names: Sequence[str] = (),
    *,
    data: str | Path | None = None,
    judge: str | Judge | JudgeSession | None = None,
    models: bool = False,
    on_table: Callable[[ComparedTable], None] | None = None,
) -> list[ComparedTable]:
    """Compute published tables again: all that ``citeforge reproduce`` does, but for printing.

    Args:
        names: tables, or declarations of your own (``FILE.yaml``); none for all that there are.
        data: folder with checkouts, OWNER/NAME or NAME; None to fetch files by commit.
        judge: decides entailment; without it, numbers that need the paper's judge are left out.
        models: load other models that numbers need.
        on_table: told of every table when it is done.

    Raises:
        InputError: a file has another content than was declared, or cannot be had.
        UsageError: there is no such table, or its declaration asks for what there is not.
    """
    if data is not None and not Path(data).is_dir():
        raise InputError("is no folder", path=data, allowed="a folder with checkouts, OWNER/NAME")
    tables = [find_table(name) for name in dict.fromkeys(names or published_tables())]
    files = OutputFiles(None if data is None else Path(data))
    return Reproduction(files, judge_of(judge), models).tables(tables, on_table)
