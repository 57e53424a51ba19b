"""Lines, CSV and YAML files of users; what is wrong is said with file and line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from citeforge.engines.jsonlines import open_bytes
from citeforge.schemas.errors import InputError

M = TypeVar("M", bound=BaseModel)
_LONGEST_CELL = 1 << 30
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number, line without its end) of every line that is not blank; plain or .gz, UTF-8.

    Raises:
        InputError: the file cannot be read or is not UTF-8.
    """
    try:
        with open_bytes(path) as raw, io.TextIOWrapper(raw, "utf-8", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", path=path) from error


def read_csv(path: Path, needed: tuple[str, ...] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """(last line, row) of a CSV file with a header.

    Raises:
        InputError: it cannot be read, is no CSV, or lacks one of the needed columns.
    """
    csv.field_size_limit(_LONGEST_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = [n for n in needed if n not in (reader.fieldnames or [])]
            if missing:
                raise InputError(f"lacks the columns {', '.join(missing)}", path=path, line=1)
            for row in reader:
                yield reader.line_num, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"is not a readable CSV file ({error})", path=path) from error


def read_yaml(path: Path) -> Any:
    """Parse a YAML file.

    Raises:
        InputError: it cannot be read, or is not YAML; with the line at fault.
    """
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", path=path) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else None
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"is not YAML ({reason})", path=path, line=line) from error


def validated(
    record: type[M],
    content: Any,
    path: Path,
    *,
    place: str = "",
    allowed: str | None = None,
    version: tuple[str, int] | None = None,
) -> M:
    """A record made of a file's content.

    Args:
        record: pydantic model.
        content: what the file holds.
        path: the file, for messages.
        place: part of the file that ``content`` is, for messages.
        allowed: what would be right.
        version: field that holds the version of the format, and the newest one known.

    Raises:
        InputError: a newer version, or a field that is missing, unknown or wrong.
    """
    if version is not None and isinstance(content, dict):
        name, newest = version
        found = content.get(name)
        if isinstance(found, int) and found > newest:
            raise InputError(
                f"has {name.replace('_', ' ')} {found}; this citeforge reads up to {newest}",
                path=path,
                allowed="a newer citeforge",
            )
    try:
        return record.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(filter(None, (place, *map(str, first["loc"]))))
        message = first["msg"].removeprefix("Value error, ")
        raise InputError(message, path=path, field=field, allowed=allowed) from error


def harmless(cell: str) -> str:
    """A CSV cell that no spreadsheet takes for a formula.

    An apostrophe stands before ``= + - @``, a tab or a carriage return (OWASP, "CSV injection");
    :func:`original` takes it away.
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell


def original(cell: str) -> str:
    """The inverse of :func:`harmless`."""
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell
