"""Refuses JSON objects in which a name stands twice: parsers differ in which one they take.

And says what is wrong with a document where the parser's own message misleads.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from citeforge.schemas.errors import InputError
from citeforge.schemas.text import printable


class _RepeatedNameError(Exception):
    """A name stands twice."""


def _unique(members: list[tuple[str, Any]]) -> None:
    if len(dict(members)) != len(members):
        names: set[str] = set()
        for name, _ in members:
            if name in names:
                raise _RepeatedNameError(name)
            names.add(name)


# Numbers are not read: an integer of 5,000 digits is no error here. What `decode` does beside this
# costs as much again.
_decoder: Any = json.JSONDecoder(object_pairs_hook=_unique, parse_int=len, parse_float=len)
_scan = _decoder.scan_once


_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F]..)|.)", re.DOTALL
)


def json_fault(content: bytes, error: Exception) -> str:
    """What is wrong with a document that msgspec refuses, whose message for half of a surrogate
    pair is that the document was truncated."""
    escapes = _ESCAPE.finditer(content) if isinstance(error, msgspec.DecodeError) else ()
    half = next((m["half"] for m in escapes if m["half"]), None)
    if half is None:
        return str(error)[:200]
    text = half.decode(errors="replace")
    return f"\\{text} is half of a surrogate pair and no character: both halves or neither"


def names_in_json(row_type: type[msgspec.Struct]) -> tuple[bytes, ...]:
    """The names of a record's fields as writers of JSON put them, each with its colon."""
    fields = getattr(row_type, "__struct_encode_fields__", ())  # a plain dict has none
    return tuple(f'"{name}":'.encode() for name in fields)


def require_unique_names(
    content: bytes, path: Path, line: int | None = None, likely: Sequence[bytes] = ()
) -> None:
    """Refuse a JSON document in which an object has a name twice, at any depth.

    Args:
        content: JSON in UTF-8 that has been decoded without an error before.
        path: where it stands, for the message.
        line: line of that file.
        likely: names that it may have (:func:`names_in_json`). A document that has no others is
            passed several times faster.

    Raises:
        InputError: names the first one.
        UnicodeDecodeError: it is not UTF-8 in a part that the other decoder passed over.
        RecursionError: it is nested too deeply.
        ValueError: it is no JSON in a part that the other decoder passed over.
    """
    # A quote with a colon behind it ends a string, so a name that occurs so is that of a member, or
    # the end of it. Members are no more than colons: where as many names occur, all have another.
    n_members = content.count(b":")
    if n_members <= len(likely):
        for name in likely:
            if name in content:
                n_members -= 1
                if not n_members:
                    return
    try:
        _scan(content.decode().lstrip(" \t\r\n"), 0)
    except _RepeatedNameError as error:
        raise InputError(
            f"the name {printable(str(error))} stands twice in one object",
            path=path,
            line=line,
            allowed="each name once; readers of JSON differ in which of the two they take",
        ) from error
