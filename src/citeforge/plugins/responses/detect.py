"""Detection of the tool that wrote a file, from its first line."""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from citeforge.engines.jsonlines import open_bytes, read_errors, read_rows
from citeforge.plugins.responses.layout import Layout, declarations, layouts
from citeforge.plugins.responses.records import errors_at
from citeforge.plugins.responses.values import Node, unflatten
from citeforge.schemas.errors import InputError
from citeforge.schemas.submission import HEADER

_ROW: Any = dict[str, Any]
_LARGEST_FIRST = 1 << 20
"""Bytes of a file that is not in lines, in which its first response is looked for."""


def find_layout(line: Node, candidates: tuple[Layout, ...]) -> tuple[Layout, Node] | None:
    """Find the first layout that fits a line: (layout, tool's response in the line), or None."""
    bodies = _possible_bodies(line)
    return next(((lay, body) for lay in candidates for body in bodies if lay.matches(body)), None)


def find_body(line: Node) -> Node:
    """Guess which object in a line is the tool's response, where no layout fits the line."""
    return _possible_bodies(line)[0]


def _possible_bodies(line: Node) -> list[Node]:
    """List the objects in a line that may be the tool's response, the line itself last."""
    nodes = (node for path in declarations().line.bodies for node in line.each(path))
    return [node for node in nodes if isinstance(node.value, dict)]


def require_whole(line: Node) -> None:
    """Raise an error if a line has chunks of a streamed response, not a whole one.

    Args:
        line: a line of a file of responses.

    Raises:
        InputError: says how to get whole responses.
    """
    bodies = (node for path in declarations().line.bodies for node in line.each(path))
    for body in bodies:
        first = body.first("0") if isinstance(body.value, list) else body
        is_chunk = first is not None and first.matches(declarations().line.chunks)
        if is_chunk and not body.has("choices.*.message"):
            raise InputError(
                "is a chunk of a stream, not a response", field=body.json_path or None,
                allowed="a whole response per line: ask without stream, or join the texts of the "
                'chunks into one line {"query_id", "output"} per answer', code="wrong-value",
            )  # fmt: skip


def looks_like(form: str, path: Path, start: bytes) -> bool:
    """Whether the first line of a file is in the named format of a tool, such as ``openai``.

    Raises:
        InputError: responses of any tool, but not one per line.
    """
    return _recognise(path, start) == form


@lru_cache(maxsize=4)
def _recognise(path: Path, start: bytes) -> str | None:
    """Detect the format of a file of tool responses by its first line: its name, or None.

    Args:
        path: the file.
        start: its first bytes.

    Raises:
        InputError: responses of any tool, but not one per line.
    """
    text = start.lstrip()
    is_array = text.startswith(b"[")
    if is_array or text.partition(b"\n")[0].strip() == b"{":
        if b'"docs"' not in start:
            first, root = Node(_first_value(path, is_array)), ".[]" if is_array else ""
            inner = ((root + jq_path, node) for jq_path, node in _first_items(first))
            _require_lines(path, [(root or ".", first), *inner])
        return None
    if not text.startswith(b"{"):
        return None
    try:
        _, row = next(read_rows(path, _ROW, HEADER))
    except (StopIteration, InputError):
        return None  # its reader says what is wrong
    if isinstance(row.get("output"), str) and "query_id" in row:
        return None
    node = read_row(row)
    with errors_at(path, 1):
        require_whole(node)
    found = find_layout(node, layouts())
    if found is None:
        _require_lines(path, _first_items(Node(row)))
    return None if found is None else found[0].form


def read_row(fields: dict[str, Any]) -> Node:
    """Wrap a line's fields as a JSON node; dotted names become nested objects."""
    return Node(unflatten(fields) if any("." in name for name in fields) else fields)


def _first_value(path: Path, is_array: bool) -> Any:
    """Parse a file's first JSON value (of an array its first item); None if it is no JSON."""
    with open_bytes(path) as file, read_errors(path):
        text = file.read(_LARGEST_FIRST).decode(errors="replace").lstrip()
    try:
        return json.JSONDecoder().raw_decode(text[1:].lstrip() if is_array else text)[0]
    except (ValueError, RecursionError):
        return None


def _first_items(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield (path as jq writes it, first item) of each list inside a JSON object."""
    for inner in node.each("%"):
        if isinstance(inner.value, list):
            yield from ((f".{inner.json_path}[]", item) for item in inner.items()[:1])
        else:
            yield from _first_items(inner)


def _require_lines(path: Path, nodes: Iterable[tuple[str, Node]]) -> None:
    """Raise an error if nested JSON values (by jq path) are tool responses, not one per line.

    Args:
        path: file.
        nodes: such values, each with its path as jq writes it.

    Raises:
        InputError: says how to put the responses into lines.
    """
    for jq_path, node in nodes:
        row = node.value if isinstance(node.value, dict) else {}
        found = None if "docs" in row else find_layout(node, layouts())  # ALCE's results
        if found is not None or {"query_id", "output"} <= row.keys():
            what = "answers" if found is None else f"responses of {found[0].form}"
            raise InputError(
                f"contains {'an array of ' if jq_path != '.' else ''}{what}, not one per line",
                path=path,
                allowed=f"one JSON object per line: jq -c '{jq_path}' {path.name}",
                code="bad-json",
            )
