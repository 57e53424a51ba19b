"""Detection of the tool that wrote a file, from its first line."""

import json
from functools import lru_cache
from pathlib import Path

from citeforge.engines.io.jsonlines import open_bytes, raw_lines, read_errors
from citeforge.evaluator.submissions.reader import HEADER
from citeforge.plugins.responses.vendors.layout import Layout, layouts
from citeforge.plugins.responses.vendors.values import Node, nested
from citeforge.schemas.errors import InputError

_BODIES = "response.body", "response", "result.message", "model_output", "output", "."
"""Where a line has the response: batches, then logs, then the line itself."""
_LARGEST_FIRST = 1 << 20
"""Bytes of a file that is not in lines, in which its first response is looked for."""


def find_layout(row: Node, among: tuple[Layout, ...]) -> tuple[Layout, Node] | None:
    """Find the first layout that a line has, and the response in the line."""
    bodies = [node for path in _BODIES for node in row.each(path) if isinstance(node.value, dict)]
    return next(((lay, body) for lay in among for body in bodies if lay.matches(body)), None)


def body_of(row: Node) -> Node:
    """Find the response in a line of an unknown layout."""
    return next(n for path in _BODIES for n in row.each(path) if isinstance(n.value, dict))


def looks_like(form: str, path: Path, start: bytes) -> bool:
    """Whether a file is in a format, by its first line.

    Raises:
        InputError: responses of any tool, but not one per line.
    """
    return _recognise(path, start) == form


@lru_cache(maxsize=4)
def _recognise(path: Path, start: bytes) -> str | None:
    """Name the format of a file by its first line; None for none of ours."""
    text = start.lstrip()
    line, _, _ = text.partition(b"\n")
    if not text.startswith((b"{", b"[")):
        return None
    is_array = text.startswith(b"[")
    if is_array or line.strip() == b"{":
        if b'"docs"' not in start:
            _refuse_whole(path, is_array)
        return None
    row = _first_row(path)
    if row is None or (isinstance(row.get("output"), str) and "query_id" in row):
        return None
    # Data frames of spans have names with dots.
    found = find_layout(Node(nested(row) if any("." in name for name in row) else row), layouts())
    return None if found is None else found[0].form


def _first_row(path: Path) -> dict[str, object] | None:
    """Find the first line that is no header; None if it is no object."""
    for _, line in raw_lines(path):
        if line.strip() and not HEADER.match(line):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                return None  # its reader says what is wrong
            return row if isinstance(row, dict) else None
    return None


def _refuse_whole(path: Path, is_array: bool) -> None:
    """Refuse a file of a known tool that is one array, or one object over several lines.

    Raises:
        InputError: says how to put it into lines.
    """
    with open_bytes(path) as file, read_errors(path):
        text = file.read(_LARGEST_FIRST).decode(errors="replace").lstrip()
    try:
        first, _ = json.JSONDecoder().raw_decode(text[1:].lstrip() if is_array else text)
    except (ValueError, RecursionError):
        return
    if not isinstance(first, dict) or "docs" in first:  # ALCE's results are such arrays
        return
    found = find_layout(Node(first), layouts())
    is_ours = "query_id" in first and "output" in first
    if found is not None or is_ours:
        what = "answers" if found is None else f"responses of {found[0].form}"
        raise InputError(
            f"contains {'an array of ' if is_array else ''}{what}, not one per line",
            path=path,
            allowed=f"one JSON object per line: jq -c '{'.[]' if is_array else '.'}' {path.name}",
            code="bad-json",
        )
