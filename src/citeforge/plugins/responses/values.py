"""Values of a JSON document, found by paths; each has its place for error messages.

A path is names with dots, in snake case: ``search_results.*.url``. ``*`` is every item of a list,
``%`` every value of an object, ``-1`` the last item, ``type=ai`` keeps the objects with this value
(``done=false`` those where it is false), and a name also finds its camel case. Alternatives are
separated by ``|``; the first that is there and not null counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

import msgspec

from citeforge.schemas.errors import InputError

_MOST_DIGITS = 18


@cache
def _split_paths(paths: str) -> tuple[tuple[str, ...], ...]:
    """Split JSON paths: alternatives at ``|``, and each into its steps at dots."""
    split = (path.strip() for path in paths.split("|"))
    return tuple(() if path == "." else tuple(path.split(".")) for path in split)


@cache
def camel_case(name: str) -> str:
    """Convert a name with underscores to camelCase."""
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a line, with its path in the line.

    Attributes:
        value: any JSON value.
        json_path: path as error messages write it; empty for the line itself.
    """

    value: Any
    json_path: str = ""

    def each(self, paths: str) -> list[Node]:
        """List the JSON values at the first of alternative paths that leads to any.

        Args:
            paths: alternatives separated by ``|``; the steps of each are separated by dots; ``.``
                is the node.
        """
        for path in _split_paths(paths) if paths else ():
            nodes = [self]
            for name in path:
                nodes = [inner for node in nodes for inner in node._follow_step(name)]
            if nodes:
                return nodes
        return []

    def first(self, paths: str) -> Node | None:
        """Find the first JSON value at the first of alternative paths with any, or None."""
        return next(iter(self.each(paths)), None)

    def has(self, paths: str) -> bool:
        """Whether any of the alternative paths leads from the JSON node to a value."""
        try:
            return bool(self.each(paths))
        except InputError:
            return False  # something else than a list is there

    def matches(self, rule: str) -> bool:
        """Whether the JSON node has fields as a rule says: ``a | b & c`` is a, or both b and c."""
        return any(all(map(self.has, some.split("&"))) for some in rule.split("|"))

    def text(self, paths: str) -> str | None:
        """Get the text at the first of alternative paths with a value; None without one.

        Raises:
            InputError: another type is there.
        """
        node = self.first(paths)
        if node is not None and not isinstance(node.value, str):
            node.fail_type("a text")
        return None if node is None else node.value

    def number(self, paths: str) -> int | None:
        """Get the integer (also from a text) at the first path with a value; None without one.

        Raises:
            InputError: another type is there.
        """
        node = self.first(paths)
        if node is None or type(node.value) is int:
            return None if node is None else node.value
        if not isinstance(node.value, str) or not is_integer(node.value):
            node.fail_type("an integer")
        return int(node.value)  # as Google writes long integers

    def items(self) -> list[Node]:
        """List the items of the JSON list, without nulls.

        Raises:
            InputError: it is no list.
        """
        if not isinstance(self.value, list):
            self.fail_type("a list")
        return [
            Node(v, f"{self.json_path}[{i}]") for i, v in enumerate(self.value) if v is not None
        ]

    def fail_type(self, wanted: str) -> NoReturn:
        """Raise an error with the JSON value's type and the type that is wanted."""
        names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
        found = names.get(type(self.value), "a number")
        raise InputError(f"is {found}", field=self.json_path, allowed=wanted, code="wrong-type")

    def _follow_step(self, step: str) -> Iterator[Node]:
        """Yield the JSON values one path step away: field, index, any field (%) or item (*).

        Args:
            step: the step; ``field=value`` yields the node itself if the field has this value.
        """
        value = self.value
        field, equals, wanted = step.partition("=")
        if equals:
            is_false = wanted == "false"
            yield from (
                self
                for inner in self._follow_step(field)
                if inner.value == wanted or (is_false and inner.value is False)
            )
        elif step == "*":
            yield from self.items()
        elif isinstance(value, list) and step.lstrip("-").isdigit():
            at = int(step) % len(value) if value else -1
            yield from (n for n in self.items() if n.json_path == f"{self.json_path}[{at}]")
        elif isinstance(value, dict):
            camel = camel_case(step)
            names = value if step == "%" else [step] if value.get(step) is not None else [camel]
            for found in names:
                if value.get(found) is not None:
                    yield Node(value[found], f"{self.json_path}.{found}".lstrip("."))


def unflatten(flat: dict[str, Any]) -> dict[str, Any]:
    """Convert an object's dotted names (``documents.0.id``) to nested objects and lists.

    Args:
        flat: names, which may have dots, to values.
    """
    result: dict[str, Any] = {}
    for name, value in flat.items():
        *outer, last = name.split(".")
        at = result
        for step in outer:
            if not isinstance(at.get(step), dict):
                at[step] = {} if at.get(step) is None else {"value": at[step]}
            at = at[step]
        inner = unflatten(value) if isinstance(value, dict) else value
        if isinstance(at.get(last), dict):
            at[last].update(inner if isinstance(inner, dict) else {"value": inner})
        else:
            at[last] = inner
    return {name: _convert_numbered_objects(value) for name, value in result.items()}


def _convert_numbered_objects(value: Any) -> Any:
    """Convert objects inside a JSON value to lists where all keys are numbers."""
    if isinstance(value, list):
        return [unflatten(v) if isinstance(v, dict) else v for v in value]
    if not isinstance(value, dict):
        return value
    inner = {name: _convert_numbered_objects(v) for name, v in value.items()}
    if inner and all(map(is_integer, inner)):
        return [inner[name] for name in sorted(inner, key=int)]
    return inner


def is_integer(text: str) -> bool:
    """Whether a text is a non-negative integer of at most 18 digits."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def parse_text(value: Any) -> Any:
    """Parse a text that contains a JSON object, list or text; return other values unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value  # a text that begins with a bracket, such as a mark
    return value
