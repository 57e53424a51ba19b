"""Declaration of a published table: its printed numbers, and how each is computed."""

import re
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from citeforge.engines.io.textfiles import read_yaml, validated
from citeforge.schemas.errors import UnknownValueError
from citeforge.schemas.recipes.base import Part

FOLDER = Path(__file__).parent / "tables"
LARGEST = 1 << 28
"""Bytes of a file; a declaration cannot ask for more."""
_NUMBER = re.compile(r"-?[\d,]*\.?\d+%?")


def _relative(path: str) -> str:
    """Check that a path is inside the repository."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or "\\" in path or {"..", "."} & set(path.split("/")):
        raise ValueError(f"{path!r} is not a path inside the repository")
    return path


def _number(text: str) -> str:
    """Check that a text is a number as papers print it."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number as papers print it, such as '28.22' or '1,085'")
    return text


def _grouped(value: Any) -> Any:
    """Group names of files: ``a`` and ``[a, b]`` are one group, ``[[a], [b]]`` are two."""
    items = [value] if isinstance(value, str) else value
    is_flat = isinstance(items, list) and items and all(isinstance(i, str) for i in items)
    return [items] if is_flat else items


RelativePath = Annotated[str, AfterValidator(_relative)]
Printed = Annotated[str, AfterValidator(_number)]
"""A number as it is printed, with its digits, in quotes."""
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class PublishedPaper(Part):
    """Paper and table in which the numbers are printed."""

    title: str
    venue: str
    url: str
    table: str
    """Which table, and where else its numbers are printed."""


class OutputRepository(Part):
    """Repository of the published outputs, at one commit."""

    name: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    """OWNER/NAME."""
    commit: str = Field(pattern="^[0-9a-f]{40}$")
    licence: str
    host: str = Field(
        "https://raw.githubusercontent.com",
        pattern=r"^(https://[\w.-]+|http://127\.0\.0\.1:\d+)$",
    )
    """The one address that files are fetched from, as HOST/OWNER/NAME/COMMIT/PATH."""


class HashedFile(Part):
    """A file by its path and its content."""

    path: RelativePath
    sha256: Sha256


class OutputFile(HashedFile):
    """A file of the repository, with its size."""

    size: int = Field(ge=0, le=LARGEST)
    """Bytes; no more are read."""
    also: tuple[HashedFile, ...] = ()
    """Files that hold the same in another layout, below `--data`; all of them together."""


class Quantity(Part):
    """How a printed number is computed: the value asked for, its scale, its models."""

    value: str
    """What the reader is asked for; of answers, a measure."""
    scale: float = 1.0
    """What the value is multiplied with to be as printed."""
    judge: str | None = None
    """Model that judged for the paper."""
    model: str | None = None
    """Other model that the measure needs."""


class PublishedRow(Part):
    """A row of the table: its files, options and printed numbers."""

    name: str
    files: Annotated[
        tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...], BeforeValidator(_grouped)
    ] = Field(min_length=1)
    """Names of files: one or a list, or a list of them an annotator."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the reader, above those of the table."""
    value: Quantity | None = None
    """What its numbers are made of, where the columns do not say."""
    printed: dict[str, Printed]
    """Column to the number."""


class KnownDifference(Part):
    """Cells whose numbers are known to differ from the paper's, all for one reason."""

    why: str = Field(min_length=20)
    """One sentence, or a few."""
    cells: dict[str, dict[str, Printed]]
    """Row and column to our number: any other is not explained."""


class UnpublishedOutputs(Part):
    """Cells whose outputs or rules were never published, with the evidence."""

    why: str = Field(min_length=20)
    """What shows that the outputs here are others."""
    cells: dict[str, tuple[str, ...]]
    """Row to its columns; ours are shown beside them, and prove nothing."""


class PublishedTable(Part):
    """Declaration of one published table."""

    name: str = Field(pattern="^[a-z0-9][a-z0-9-]*$")
    title: str
    paper: PublishedPaper
    repository: OutputRepository
    files: dict[str, OutputFile]
    reader: str
    """How files are read: see `readers`."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the reader."""
    columns: dict[str, Quantity | None]
    """Column to what its numbers are made of; nothing where the rows say so."""
    rows: tuple[PublishedRow, ...] = Field(min_length=1)
    result_files: tuple[str, ...] = ()
    """Rows and columns that are printed in a file beside the outputs, not in the paper."""
    cuts_digits: bool = False
    """Whether the paper cuts digits off in place of rounding."""
    differs: tuple[KnownDifference, ...] = ()
    unpublished: tuple[UnpublishedOutputs, ...] = ()
    note: str = ""
    """What a reader of the result must know."""

    @property
    def n_cells(self) -> int:
        """Number of printed numbers."""
        return sum(len(row.printed) for row in self.rows)

    def quantity(self, row: PublishedRow, column: str) -> Quantity:
        """Give the measure, scale and models that the number of a cell is made with."""
        quantity = row.value or self.columns[column]
        assert quantity is not None, "checked when the table was read"
        return quantity

    def explain_cell(self, row: str, column: str) -> tuple[str | None, str]:
        """Explain a cell that need not equal the paper: (number expected of us, reason).

        The number is None where outputs are unpublished; the reason is empty for other cells.
        """
        for difference in self.differs:
            if (ours := difference.cells.get(row, {}).get(column)) is not None:
                return ours, difference.why
        missing = (u.why for u in self.unpublished if column in u.cells.get(row, ()))
        return None, next(missing, "")

    @model_validator(mode="after")
    def _require_known_names(self) -> Self:
        """Refuse rows, columns, files and reasons that name what there is not."""
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
                cells.remove(cell)  # one reason a number
        return self


def read_declaration(path: Path) -> PublishedTable:
    """Read the declaration of a table.

    Raises:
        InputError: with the line that is wrong.
    """
    return validated(PublishedTable, read_yaml(path), path)


def published_tables() -> dict[str, Path]:
    """List the declarations of the tables that come with citeforge, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


def find_table(name: str) -> PublishedTable:
    """Read a table by its name, or by the path of a user's own declaration.

    Raises:
        UnknownValueError: there is none.
        InputError: the declaration is wrong.
    """
    if name.endswith((".yaml", ".yml")):
        return read_declaration(Path(name))
    tables = published_tables()
    if name not in tables:
        raise UnknownValueError("table", name, tables, "citeforge reproduce --list")
    return read_declaration(tables[name])
