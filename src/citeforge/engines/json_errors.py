"""What is wrong with JSON, in words that say what would be right."""

import re
from pathlib import Path
from typing import Any

import msgspec

from citeforge.schemas.errors import InputError, suggestion

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F]..)|.)", re.DOTALL
)


_BYTE = re.compile(r"\(byte (\d+)\)")
_NO_JSON = re.compile(
    rb"(?P<minus>-?)(?<![\w\"])(?:(?P<null>NaN|nan|Infinity|inf|None|undefined)|True|False)\b"
)
"""Values that Python and JavaScript write, and JSON does not have."""
_EVENT = re.compile(rb"\s*(?:data|event|id):")


def json_error(
    content: bytes,
    error: Exception,
    path: Path,
    line: int | None,
    problem: str,
    allowed: str | None,
) -> InputError:
    """Make the error for malformed JSON: ``problem``, the reason, and what is ``allowed``.

    Args:
        content: the text.
        error: a decoder's.
        path: its file.
        line: its line, or the line at fault.
        problem: message without the reason.
        allowed: what would be right.
    """
    match = _BYTE.search(str(error))
    at = int(match[1]) if match else 0
    starts = range(at, max(at - 3, -1), -1) if match else ()
    found = next((m for start in starts if (m := _NO_JSON.match(content, start))), None)
    if found is not None:
        sign = "-" if found["minus"] or content[: found.start()].endswith(b"-") else ""
        word = found[0].removeprefix(b"-").decode()
        problem = f"{sign}{word} is not JSON"
        allowed = f"write {'null' if found['null'] else word.lower()}"
    elif _EVENT.match(content):
        problem = "is a line of a stream of events, not a JSON object"
        allowed = "a whole response per line: ask without stream"
    else:
        problem = f"{problem} ({_json_fault(content, error)})"
    return InputError(problem, path=path, line=line, allowed=allowed, code="bad-json")


def _json_fault(content: bytes, error: Exception) -> str:
    """Describe why msgspec rejects a JSON document; an unpaired surrogate is named as the reason.

    Its own message for these is that the document was truncated.
    """
    escapes = _ESCAPE.finditer(content) if isinstance(error, msgspec.DecodeError) else ()
    half = next((m["half"] for m in escapes if m["half"]), None)
    if half is None:
        return str(error)[:200]
    text = half.decode(errors="replace")
    return f"\\{text} is half of a surrogate pair and no character: both halves or neither"


_PATH = re.compile(r" - at `\$(?:\[\d+\])?\.?(.*)`$")
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_TYPES = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_HINTS = (
    ("str", "int", "a text: put quotes around it"),
    ("str", "float", "a text: put quotes around it"),
    ("str", "null", 'a text, "" if it is empty; or leave the line out'),
    ("int", "str", "a number, without quotes"),
    ("float", "str", "a number, without quotes"),
)
"""Wanted type, type in the file, and what would be right."""
_MISSING = re.compile(r"missing required field `([^`]*)`")


def field_names(row_type: type) -> tuple[str, ...]:
    """List a record's field names as JSON has them; a plain dict has none.

    msgspec.structs.fields compiles the annotations anew in every call: 3 ms, for each bad line.
    """
    if isinstance(row_type, msgspec.StructMeta) and issubclass(row_type, msgspec.Struct):
        return row_type.__struct_encode_fields__
    return ()


def validation_error(
    path: Path, number: int, message: str, row_type: type[msgspec.Struct]
) -> InputError:
    """Turn a validation message of msgspec into an error with line, field and allowed values.

    Args:
        path: the file.
        number: number of the line.
        message: what msgspec says.
        row_type: structure of a row, whose fields the error lists.
    """
    fields = field_names(row_type)
    names = ", ".join(fields)
    found, unknown = _PATH.search(message), _UNKNOWN.search(message)
    missing = _MISSING.search(message)
    field = found.group(1) if found else None
    reason, allowed = _PATH.sub("", message), f"fields: {names}"
    types = _TYPES.search(message)
    code = "wrong-type" if types else "wrong-value"
    if types:
        wanted = types[1].split(" | ")
        allowed = next((hint for t, g, hint in _HINTS if t in wanted and types[2] == g), types[1])
        if found is None and types[2] == "array":
            allowed = f"one object on each line: jq -c '.[]' {path.name}"
    if missing:
        field, reason = ".".join(filter(None, (field, missing.group(1)))), "is missing"
        code = "missing-field"
    elif unknown:
        name, code, reason = unknown.group(1), "unknown-field", "is not a field of this file"
        fields = _fields_at(row_type, field) if field else fields
        field = ".".join(filter(None, (field, name)))
        allowed = f"the fields are {', '.join(fields)}{suggestion(name, fields)}"
        if home := next((name for name in ("metadata", "meta") if name in fields), ""):
            allowed += f"; further data goes into {home}"
    return InputError(reason, path=path, line=number, field=field, allowed=allowed, code=code)


def _fields_at(row_type: type[msgspec.Struct], json_path: str) -> tuple[str, ...]:
    """List the field names of the record at a path in a row, such as ``passages[0]``."""
    kinds: list[Any] = [msgspec.inspect.type_info(row_type)]
    for name in ["", *re.findall(r"\w+|\[", re.sub(r"\[[^\]]*\]", "[", json_path))]:
        kinds = [
            inner
            for one in kinds
            for inner in (one.types if isinstance(one, msgspec.inspect.UnionType) else [one])
        ]
        if name == "[":
            kinds = [k.item_type for k in kinds if isinstance(k, msgspec.inspect.ListType)]
        elif name:
            kinds = [
                f.type
                for k in kinds
                if isinstance(k, msgspec.inspect.StructType)
                for f in k.fields
                if f.encode_name == name
            ]
    return tuple(
        f.encode_name for k in kinds if isinstance(k, msgspec.inspect.StructType) for f in k.fields
    )
