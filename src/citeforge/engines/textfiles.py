"""Text, CSV and YAML files of users; errors name file and line."""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from citeforge.engines.jsonlines import decode_text, largest_line, raw_lines, size_error
from citeforge.engines.pipes import readable_path
from citeforge.schemas.errors import InputError, field_code, field_message, read_error, suggestion

M = TypeVar("M", bound=BaseModel)
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number, line) of a UTF-8 text file, maybe compressed, without blank lines.

    Raises:
        InputError: the file cannot be read, or a line is not UTF-8 or has no end.
    """
    for number, line in raw_lines(path):
        text = decode_text(path, number, line)
        if text.strip():
            yield number, text


def read_csv(path: Path, required: tuple[str, ...] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (number of the row's last line, row by column) of a CSV file with a header.

    Args:
        path: file to read.
        required: columns that must be there.

    Raises:
        InputError: it cannot be read, is no CSV, lacks one of the required columns, has one twice,
            or a row has another number of cells.
    """
    reader = None
    try:
        with readable_path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            rows = _bounded_rows(reader)
            header = next(rows, [])
            _check_header(path, header, required)
            for cells in rows:
                if not cells:
                    continue
                if len(cells) != len(header):
                    raise InputError(
                        f"has {len(cells)} cells; the header has {len(header)}",
                        path=path,
                        line=reader.line_num,
                        allowed="as many cells in every row; quotes around those with a comma, a "
                        "quote or a line end",
                        code="bad-csv",
                    )
                yield reader.line_num, dict(zip(header, cells, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        line = None if reader is None else reader.line_num
        if "field larger than field limit" in str(error):
            raise size_error(path, line, "a cell") from error
        raise InputError(
            f"is not a readable CSV file ({error})", path=path, line=line, code="bad-csv"
        ) from error


def _bounded_rows(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield rows of a CSV reader; a cell larger than :func:`largest_line` is an error.

    The limit is the whole process's: others find it as it was.
    """
    row: list[str] | None = []
    while row is not None:
        before = csv.field_size_limit(largest_line())
        try:
            row = next(rows, None)
        finally:
            csv.field_size_limit(before)
        if row is not None:
            yield row


def _check_header(path: Path, header: list[str], required: tuple[str, ...]) -> None:
    """Refuse a CSV header with missing or duplicate columns."""
    missing = [n for n in required if n not in header]
    if missing:
        raise InputError(
            f"has no column {', '.join(missing)}", path=path, line=1, code="missing-field"
        )
    if len(set(header)) < len(header):
        twice = next(n for n in header if header.count(n) > 1)
        raise InputError(f"duplicate column {twice!r}", path=path, line=1, code="duplicate-key")


def read_yaml(path: Path) -> Any:
    """Parse a YAML file; refuse aliases (``*name``) of lists and mappings, and repeated keys.

    Raises:
        InputError: it cannot be read, or is not YAML; with the line at fault.
    """
    import yaml

    class Tree(yaml.SafeLoader):
        """YAML loader that refuses aliases of lists and mappings, and repeated keys."""

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            """Read a node; refuse an alias (``*name``) of a list or mapping."""
            event = self.peek_event()  # type: ignore[no-untyped-call]
            node = super().compose_node(parent, index)
            if isinstance(event, yaml.AliasEvent) and not isinstance(node, yaml.ScalarNode):
                reason = f"*{event.anchor} refers to a list or mapping; write it out"
                raise yaml.MarkedYAMLError(None, None, reason, event.start_mark)  # type: ignore[arg-type]
            return node

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
            """Read a mapping; refuse one with a repeated key."""
            keys = set[str]()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if key.value in keys:
                        line = key.start_mark.line + 1
                        raise InputError(
                            f"duplicate key {key.value!r}",
                            path=path,
                            line=line,
                            code="duplicate-key",
                        )
                    keys.add(key.value)
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(readable_path(path).read_text(encoding="utf-8"), Loader=Tree)
    except OSError as error:
        raise read_error(error, path) from error
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 ({error})", path=path, code="bad-encoding") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else None
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(
            f"is not YAML ({reason})", path=path, line=line, code="bad-yaml"
        ) from error
    except (ValueError, RecursionError) as error:
        # Dates that no calendar has, numbers of thousands of digits, nesting without end.
        raise InputError(
            f"contains an impossible value ({str(error)[:200]})", path=path, code="bad-yaml"
        ) from error


def validated(
    record: type[M],
    content: Any,
    path: Path,
    *,
    part: str = "",
    allowed: str | None = None,
    version: tuple[str, int] | None = None,
) -> M:
    """Validate a file's content, or its ``part``, as a pydantic record; refuse newer versions.

    Args:
        record: pydantic model.
        content: content of the file.
        path: the file, for messages.
        part: part of the file that ``content`` is, for messages.
        allowed: what would be right.
        version: field that holds the version of the format, and the newest one known.

    Raises:
        InputError: a newer version, or a field that is missing, unknown or wrong.
    """
    if version is not None and isinstance(content, dict):
        name, newest = version
        theirs = content.get(name)
        if isinstance(theirs, int) and theirs > newest:
            raise InputError(
                f"has {name.replace('_', ' ')} {theirs}; this citeforge reads up to {newest}",
                path=path,
                allowed="a newer citeforge",
                code="wrong-version",
            )
    try:
        return record.model_validate(content)
    except ValidationError as error:
        first = _main_fault(error)
        parts = (p if p.isprintable() else ascii(p) for p in map(str, first["loc"]))
        field = ".".join(filter(None, (part, *parts)))[:200]
        message = field_message(first["type"], first["msg"])
        if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
            allowed = allowed or _fields_text(record, str(first["loc"][0]))
        line = None if part else yaml_line(path, first["loc"])
        raise InputError(
            message,
            path=path,
            line=line,
            field=field,
            allowed=allowed,
            code=field_code(first["type"]),
        ) from error


def _main_fault(error: ValidationError) -> ErrorDetails:
    """Choose the fault that is reported: the first, or the misspelt name of a missing field."""
    first, *others = error.errors()
    if first["type"] != "missing":
        return first
    *beside, name = first["loc"]
    unknown = (
        e for e in others if e["type"] == "extra_forbidden" and [*e["loc"][:-1]] == beside
    )  # fmt: skip
    return next((e for e in unknown if suggestion(str(e["loc"][-1]), [str(name)])), first)


def record_error(
    record: type[BaseModel], error: ValidationError, path: Path, root_node: Any, file_kind: str
) -> InputError:
    """Make the error for a file (``file_kind``) that fits no record: fault, YAML line, values.

    Args:
        record: pydantic model of the whole file.
        error: why its content is refused.
        path: the file.
        root_node: YAML node of the file; None where it has none.
        file_kind: kind of file with its article, such as ``a policy``.
    """
    from citeforge.schemas.recipes.base import docstring

    first = _main_fault(error)
    json_path, reason = first["loc"], first["type"]
    owner = _record_at(record, json_path[:-1])
    message, code = field_message(reason, first["msg"]), field_code(reason)
    name = str(json_path[-1]) if json_path else ""
    has_field = owner is not None and name in owner.model_fields
    allowed = " ".join(docstring(owner, name).split()) if owner is not None and has_field else ""
    if allowed[1:2].islower():
        allowed = allowed[0].lower() + allowed[1:]
    if reason == "extra_forbidden":
        names = [] if owner is None else list(owner.model_fields)
        message = f"is not a field of {file_kind}{suggestion(name, names)}"
        allowed = f"known: {', '.join(names)}"
    elif reason == "missing" or (first["input"] is None and reason != "value_error"):
        message, code = "is missing", "missing-field"
    elif isinstance(first["input"], str | int | float):
        message = f"is {str(first['input'])[:100]!r}: {message}"
    line = None
    if root_node is not None:
        line = line_of_path(root_node, json_path) or root_node.start_mark.line + 1
    field = ".".join(p if p.isprintable() else ascii(p) for p in map(str, json_path))[:200]
    return InputError(
        message, path=path, line=line, field=field, allowed=allowed or None, code=code
    )


def _record_at(record: type[BaseModel], json_path: Sequence[int | str]) -> type[BaseModel] | None:
    """Find the record class of a nested field; None if the field is a plain value."""
    inner: Any = record
    for part in json_path:
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            field = inner.model_fields.get(str(part))
            inner = None if field is None else field.annotation
        elif args := get_args(inner):  # a mapping to records, or a list of them
            inner = args[-1] if args[-1] is not Ellipsis else args[0]
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None


def _fields_text(record: type[BaseModel], name: str) -> str:
    """List a record's fields for the error of an unknown field; suggest a similar or nested one."""
    fields = record.model_fields
    inner = next(
        (
            f"{field}.{name}"
            for field, info in fields.items()
            for part in (info.annotation, *get_args(info.annotation))
            if isinstance(part, type) and issubclass(part, BaseModel) and name in part.model_fields
        ),
        None,
    )
    hint = suggestion(name, fields) if inner is None else f"; there is {inner}"
    return f"the fields are {', '.join(fields)}{hint}"


def yaml_line(path: Path, json_path: Sequence[int | str]) -> int | None:
    """Find the line of a field (or its deepest existing parent) in a YAML file; None without.

    Returns:
        None if the file is no YAML, or has no such field.
    """
    import yaml

    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return None
    node = yaml.compose(readable_path(path).read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    return line_of_path(node, json_path)


def line_of_path(node: Any, json_path: Sequence[int | str]) -> int | None:
    """Find the line of a field below a YAML node, or of its deepest parent that exists.

    Args:
        node: node of PyYAML.
        json_path: names and indices that lead from it to the field.
    """
    import yaml

    line = None
    for part in json_path:
        if isinstance(node, yaml.MappingNode):
            pairs = [(k, v) for k, v in node.value if k.value == str(part)]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            pairs = [(item, item) for item in node.value[part : part + 1]]
        else:
            break
        if not pairs:
            break
        key, node = pairs[0]
        line = key.start_mark.line + 1
    return line


_IES = re.compile(r"(?<=[^aeiou])y$")


def count_text(count: int, noun: str) -> str:
    """Write a count with its noun, as ``1 query``, ``2 queries`` or ``3 answers``."""
    if count == 1:
        return f"1 {noun}"
    ending = "es" if noun.endswith(("ch", "s", "x")) else "s"
    return f"{count:,} {_IES.sub('ie', noun)}{ending}"


def escape_formula(cell: str) -> str:
    """Escape a CSV cell that a spreadsheet would take for a formula.

    An apostrophe stands before ``= + - @``, a tab or a carriage return (OWASP, "CSV injection");
    :func:`unescape_formula` takes it away.
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unescape_formula(cell: str) -> str:
    """Remove the apostrophe by which :func:`escape_formula` escaped a CSV cell."""
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell
