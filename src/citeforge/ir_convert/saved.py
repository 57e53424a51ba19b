"""Data sets that ``datasets`` saved to disk, row by row, in declared types."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import pyarrow as pa

from citeforge.schemas.errors import InputError

Row = TypeVar("Row", bound=msgspec.Struct)


def read_saved(path: Path, row_type: type[Row]) -> Iterator[tuple[int, Row]]:
    """(number, row) of a folder made by ``Dataset.save_to_disk``.

    Args:
        path: folder.
        row_type: msgspec structure of a row; its field types are enforced.

    Raises:
        InputError: not such a folder, damaged, several splits, or a field of another type; names
            the row and the field.
    """
    import datasets

    try:
        data = datasets.load_from_disk(str(path))
    except (
        OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError,
        pa.ArrowException,
    ) as error:  # fmt: skip
        # What `datasets` and pyarrow say of damaged files has no common type.
        raise _not_saved(path, error) from error
    if isinstance(data, datasets.DatasetDict):
        raise InputError(
            "holds several splits", path=path, allowed=", ".join(str(path / n) for n in data)
        )
    try:
        # The file is mapped as it stands: without this, damaged offsets would be followed.
        data.data.table.validate(full=True)
        rows = enumerate(data.with_format("arrow").iter(1), 1)
        for number, table in rows:
            (content,) = table.to_pylist()
            yield number, _convert(path, number, content, row_type)
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise _not_saved(path, error) from error


def _convert(path: Path, number: int, content: object, row_type: type[Row]) -> Row:
    try:
        return msgspec.convert(content, row_type)
    except msgspec.ValidationError as error:
        raise InputError(
            str(error),
            path=path,
            field=f"row {number}",
            allowed=f"fields: {', '.join(f.name for f in msgspec.structs.fields(row_type))}",
        ) from error


def _not_saved(path: Path, error: Exception) -> InputError:
    return InputError(
        f"is not a readable saved data set ({str(error)[:200]})",
        path=path,
        allowed="a folder made by Dataset.save_to_disk",
    )
