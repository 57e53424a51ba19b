"""Refusals that all line-based formats share."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.schemas.errors import InputError


def check_id(value: str, path: Path | str, line: int, field: str = "_id") -> None:
    """Refuse an empty id.

    Raises:
        InputError: it is empty.
    """
    if not value:
        raise InputError("is empty", path=path, line=line, field=field, allowed="a distinct id")


def duplicate_id(value: str, path: Path, first: int, second: int) -> InputError:
    """Error for an id that comes twice."""
    return InputError(
        f"{value!r} stands already in line {first}",
        path=path,
        line=second,
        field="_id",
        allowed="every id once",
    )


def empty_text(path: Path | str, line: int) -> InputError:
    """Error for a passage or query without text."""
    return InputError(
        "is empty", path=path, line=line, field="text", allowed="some text, or pass --skip-empty"
    )


def is_blank(texts: pa.Array) -> pa.Array:
    """Which texts are nothing but white space."""
    return pc.or_(pc.utf8_is_space(texts), pc.equal(pc.binary_length(texts), 0))
