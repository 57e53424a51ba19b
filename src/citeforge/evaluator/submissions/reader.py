"""Header of a submission, and the name of its system; errors name the line."""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from citeforge.engines.jsonlines import decode_line, read_start
from citeforge.engines.pipes import is_pipe
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.systems import LONGEST, name_problem
from citeforge.schemas.submission import Header

HEADER = re.compile(rb'\s*\{\s*"submission"\s*:')
"""Start of a line that is the header, not an answer."""
_LONGEST_HEADER = 1 << 16
"""Bytes."""
_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt")


def read_header(path: Path) -> dict[str, object] | None:
    """Read the header of a submission; None when its first line is an answer.

    Raises:
        InputError: the file cannot be read, its gzip data are damaged, or the header is wrong.
    """
    first = read_start(path, _LONGEST_HEADER).partition(b"\n")[0]
    if not HEADER.match(first):
        return None
    if len(first) >= _LONGEST_HEADER:
        raise InputError(
            "the header is too long", path=path, line=1, allowed=f"{_LONGEST_HEADER:,} bytes",
            code="too-long"
        )  # fmt: skip
    return decode_line(path, 1, first, msgspec.json.Decoder(Header), Header).submission


def system_name(path: Path, header: Mapping[str, object] | None = None) -> str:
    """Get the name of the system: its header's, else the file's.

    Args:
        path: submission.
        header: its header, empty where it has none; None to read it.

    Raises:
        InputError: it is no text, or none that a system may be called.
    """
    name = (read_header(path) or {} if header is None else header).get("system")
    if name is None or name == "":
        return require_name(bare_name(path), path)
    if not isinstance(name, str):
        raise InputError(f"is a {type(name).__name__}", path=path, line=1, field="system",
                         allowed="the name of the system, as text", code="wrong-type")  # fmt: skip
    return require_name(name, path, "system")


def require_name(name: str, path: Path, field: str | None = None) -> str:
    """Check that a system's name can be shown as it is; return it.

    Args:
        name: the name.
        path: submission.
        field: of its first line, where the name stands there; None for the file's own name.

    Raises:
        InputError: says what is wrong with it.
    """
    if (fault := name_problem(name)) is not None:
        raise InputError(
            f"the system's name {fault}", path=path, line=None if field is None else 1,
            field=field, allowed=f"up to {LONGEST} visible characters; or give --name",
            code="bad-name"
        )  # fmt: skip
    return name


def bare_name(path: Path) -> str:
    """Strip .gz and a format's ending, such as .jsonl, from a file's name; keep its other dots.

    A pipe, whose name tells nothing, is called ``stdin``.
    """
    if is_pipe(path):
        return "stdin"
    name = path.name.removesuffix(".gz")
    ending = next((e for e in _ENDINGS if name.endswith(e) and name != e), "")
    return name.removesuffix(ending)
