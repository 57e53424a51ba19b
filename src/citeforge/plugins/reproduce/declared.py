"""Declaration of a published table: its printed numbers, and how each is computed."""

import re
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from citeforge.engines.textfiles import read_yaml, validated
from citeforge.schemas.errors import UnknownValueError
from citeforge.schemas.recipes.base import Part

FOLDER = Path(__file__).parent / "tables"
LARGEST = 1 << 28
"""Bytes of a file; a declaration cannot ask for more."""
_NUMBER = re.compile(r"-?[\d,]*\.?\d+%?")


def _check_relative_path(path: str) -> str:
    """Check that a path is relative and inside the repository of outputs."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or "\\" in path or {"..", "."} & set(path.split("/")):
        raise ValueError(f"{path!r} is not a path inside the repository")
    return path


def _check_printed_number(text: str) -> str:
    """Check that a text is a number as papers print it, such as ``28.22`` or ``1,085``."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number as papers print it, such as '28.22' or '1,085'")
    return text


def _group_files(value: Any) -> Any:
    """Group the file names of a table row: ``a`` or ``[a, b]`` is one group, ``[[a], [b]]`` two."""
    items = [value] if isinstance(value, str) else value
    is_flat = isinstance(items, list) and items and all(isinstance(i, str) for i in items)
    return [items] if is_flat else items


PathInside = Annotated[str, AfterValidator(_check_relative_path)]
PrintedNumber = Annotated[str, AfterValidator(_check_printed_number)]
"""A number as it is printed, with its digits, in quotes."""
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class PublishedPaper(Part):
    """Paper and table in which the numbers are printed."""

    title: str
    venue: str
    url: str
    table: str
    """Number of the table, and other places where its numbers are printed."""


class OutputRepository(Part):
    """Repository of the published outputs, at one commit."""

    name: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    """OWNER/NAME."""
    commit: str = Field(pattern="^[0-9a-f]{40}$")
    licence: str
    host: str = Field(
        "https://raw.githubusercontent.com", pattern=r"^(https://[\w.-]+|http://127\.0\.0\.1:\d+)$"
    )
    """Address from which files are downloaded, as HOST/OWNER/NAME/COMMIT/PATH."""


class HashedFile(Part):
    """A file's path, and the hash of its content."""

    path: PathInside
    sha256: Sha256


class OutputFile(HashedFile):
    """A file of the repository, with its size."""

    size: int = Field(ge=0, le=LARGEST)
    """Number of bytes; no more are read."""
    also: tuple[HashedFile, ...] = ()
    """Files below `--data` that together have the same content in another layout."""


class Quantity(Part):
    """How a printed number is computed: the value asked for, its scale, its models."""

    value: str
    """Name of the value in the reader's results; for readers of answers, a measure."""
    scale: float = 1.0
    """Factor from the value to the printed number."""
    judge: str | None = None
    """Judge model of the paper."""
    model: str | None = None
    """Other model that the measure needs."""


class PublishedRow(Part):
    """A row of the table: its files, options and printed numbers."""

    name: str
    files: Annotated[
        tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...], BeforeValidator(_group_files)
    ] = Field(min_length=1)
    """Names of files: one, a list, or one list per annotator."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the reader; they override those of the table."""
    value: Quantity | None = None
    """How its numbers are computed, where the columns do not define it."""
    printed: dict[str, PrintedNumber]
    """Column to printed number."""


class KnownDifference(Part):
    """Cells whose numbers are known to differ from the paper's, all for one reason."""

    why: str = Field(min_length=20)
    """Reason, in one to a few sentences."""
    cells: dict[str, dict[str, PrintedNumber]]
    """Row and column to the number that we compute; another one is not explained."""


class UnpublishedOutputs(Part):
    """Cells whose outputs or rules were never published, with the evidence."""

    why: str = Field(min_length=20)
    """Evidence that the published outputs are not those of the paper."""
    cells: dict[str, tuple[str, ...]]
    """Row to its columns; our numbers are shown, but not compared."""


class PublishedTable(Part):
    """Declaration of a published table: its paper, outputs, reader, and printed numbers."""

    name: str = Field(pattern="^[a-z0-9][a-z0-9-]*$")
    title: str
    paper: PublishedPaper
    repository: OutputRepository
    files: dict[str, OutputFile]
    reader: str
    """Name of the reader of its files: see `READERS` in `run`."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the reader."""
    columns: dict[str, Quantity | None]
    """Column to how its numbers are computed; empty where the rows define it."""
    rows: tuple[PublishedRow, ...] = Field(min_length=1)
    result_files: tuple[str, ...] = ()
    """Rows and columns whose numbers are printed in a file beside the outputs, not in the paper."""
    cuts_digits: bool = False
    """Whether the paper cuts digits off instead of rounding."""
    differs: tuple[KnownDifference, ...] = ()
    unpublished: tuple[UnpublishedOutputs, ...] = ()
    note: str = ""
    """Remark for readers of the result."""

    @property
    def n_cells(self) -> int:
        """Count of the numbers printed in the published table."""
        return sum(len(row.printed) for row in self.rows)

    def quantity(self, row: PublishedRow, column: str) -> Quantity:
        """Get how a table cell's number is computed: statistic, scale, and models needed."""
        quantity = row.value or self.columns[column]
        assert quantity is not None, "checked when the table was read"
        return quantity

    def explain_cell(self, row: str, column: str) -> tuple[str | None, str]:
        """Get the known difference of a table cell: (number that citeforge computes, reason).

        The number is None where outputs are unpublished; the reason is empty for other cells.
        """
        for difference in self.differs:
            if (ours := difference.cells.get(row, {}).get(column)) is not None:
                return ours, difference.why
        missing = (u.why for u in self.unpublished if column in u.cells.get(row, ()))
        return None, next(missing, "")

    @model_validator(mode="after")
    def _require_known_names(self) -> Self:
        """Check a table's names of rows, columns and files, and one reason per differing cell."""
        if len({row.name for row in self.rows}) < len(self.rows):
            raise ValueError("two rows have one name")
        for row in self.rows:
            for file in (name for group in row.files for name in group):
                if file not in self.files:
                    raise ValueError(f"row {row.name!r}: no file is called {file!r}")
            for column in row.printed:
                if column not in self.columns:
                    raise ValueError(f"row {row.name!r}: no column is called {column!r}")
                if row.value is None and self.columns[column] is None:
                    raise ValueError(f"row {row.name!r}: nothing says what {column!r} is made of")
        cells = {(row.name, column) for row in self.rows for column in row.printed}
        if unknown := set(self.result_files) - {name for cell in cells for name in cell}:
            raise ValueError(f"result_files: no row or column is called {min(unknown)!r}")
        reasons: tuple[KnownDifference | UnpublishedOutputs, ...] = self.differs + self.unpublished
        for reason in reasons:
            for cell in ((name, column) for name in reason.cells for column in reason.cells[name]):
                if cell not in cells:
                    raise ValueError(f"differs, unpublished: no number at {cell[0]!r}, {cell[1]!r}")
                cells.remove(cell)  # a second reason for this number is refused
        return self


def read_declaration(path: Path) -> PublishedTable:
    """Read the declaration of a published table to reproduce from a YAML file.

    Raises:
        InputError: it is wrong; with the line.
    """
    return validated(PublishedTable, read_yaml(path), path)


def published_tables() -> dict[str, Path]:
    """Map the names of all published tables that can be reproduced to their YAML files."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


def find_table(name: str) -> PublishedTable:
    """Read a published table's declaration by its name, or by a path (``FILE.yaml``).

    Raises:
        UnknownValueError: no such table.
        InputError: the declaration is wrong.
    """
    if name.endswith((".yaml", ".yml")):
        return read_declaration(Path(name))
    tables = published_tables()
    if name not in tables:
        raise UnknownValueError("table", name, tables, "citeforge reproduce --list")
    return read_declaration(tables[name])
