"""Refuses JSON objects in which a name stands twice: parsers differ in which one they take."""

from __future__ import annotations

import json
from typing import Any

from citeforge.schemas.text import printable


class RepeatedNameError(ValueError):
    """A name stands twice in one JSON object.

    Attributes:
        name: the name.
    """

    allowed = "each name once; readers of JSON differ in which of the two they take"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"the name {printable(name)} stands twice in one object")


def _unique(members: list[tuple[str, Any]]) -> None:
    names = dict(members)
    if len(names) != len(members):
        repeated = (name for at, (name, _) in enumerate(members)
                    if name in (other for other, _ in members[:at]))  # fmt: skip
        raise RepeatedNameError(next(repeated))


# Numbers are not read: an integer of 5,000 digits is no error here. What `decode` does beside this
# costs as much again.
_decoder: Any = json.JSONDecoder(object_pairs_hook=_unique, parse_int=len, parse_float=len)
_scan = _decoder.scan_once


def require_unique_names(content: bytes) -> None:
    """Refuse a JSON document in which an object has a name twice, at any depth.

    Args:
        content: JSON in UTF-8 that has been decoded without an error before.

    Raises:
        RepeatedNameError: names the first one.
        UnicodeDecodeError: it is not UTF-8 in a part that the other decoder passed over.
        RecursionError: it is nested too deeply.
        ValueError: it is no JSON in a part that the other decoder passed over.
    """
    _scan(content.decode().lstrip(" \t\r\n"), 0)
