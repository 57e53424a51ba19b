"""Templates of users run in a sandbox that bounds their steps and the size of what they make."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from itertools import chain
from typing import Any

from jinja2 import StrictUndefined, Template, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

LARGEST = 1 << 22
"""Characters or items of a value, and of all that a template writes; a long prompt has 1 in 10."""
MOST_STEPS = 100_000
"""Turns of all loops of a template together."""
_PADDING = frozenset(
    ("center", "ljust", "rjust", "zfill", "batch", "slice", "indent", "expandtabs", "tojson")
)
"""Functions and filters with a number that says how large the result, or each line of it, is."""
_USED = "citeforge_used"
_WIDTH = re.compile(r"\d+")


class _Rewriter(NodeTransformer):
    """Puts what is bounded where Jinja would count nothing."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        """Loops count their turns."""
        node.iter = _filter(node.iter, _USED)
        return self.generic_visit(node)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        """``~`` makes texts as ``join`` does."""
        return self.generic_visit(_filter(nodes.List(node.nodes, lineno=node.lineno), "join"))


def _filter(node: nodes.Node, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja for templates of users: no attributes of Python's, no changes, bounds on sizes.

    The bounds stop mistakes (``"x" * 10**10``) with a message; a template is still its author's.
    """

    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self) -> None:
        # Without the optimiser, which would work out constants when a template is read.
        super().__init__(undefined=StrictUndefined, optimized=False, finalize=_write)
        self.filters = {name: _bounded_filter(f) for name, f in self.filters.items()}
        self.filters[_USED] = _each
        self.globals.pop("lipsum")

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree: nodes.Template = _Rewriter().visit(super()._parse(source, name, filename))
        return tree

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        _require_arguments(operator, (left, right), {})
        return _bounded(super().call_binop(context, operator, left, right))

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        # The sandbox wraps a text's own format.
        owner = getattr(getattr(function, "__wrapped__", function), "__self__", None)
        _require_arguments(getattr(function, "__name__", ""), (owner, *args), kwargs)
        return _bounded(super().call(context, function, *args, **kwargs))


def bounded_text(template: Template, values: Mapping[str, Any]) -> str:
    """A template of a :class:`BoundedEnvironment`, filled in.

    Raises:
        SecurityError: it goes beyond the bounds, or does what the sandbox forbids.
    """
    return "".join(template.generate(**values, **{_USED: Counter()}))


@pass_context
def _write(context: Context, value: Any) -> Any:
    """Count what an expression writes."""
    used = context.parent.get(_USED)
    if used is None:  # a constant
        return value
    text = value if isinstance(value, str) else str(_bounded(value))
    used["characters"] += len(text)
    _require(used["characters"])
    return text


@pass_context
def _each(context: Context, items: Iterable[Any]) -> Iterator[Any]:
    """Count the turns of a loop."""
    used = context.parent[_USED]
    for item in items:
        used["turns"] += 1
        if used["turns"] > MOST_STEPS:
            raise SecurityError(f"its loops take more than {MOST_STEPS:,} turns")
        yield item


def _bounded_filter(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        name = function.__name__.removeprefix("sync_").removeprefix("do_")
        takes_context = hasattr(function, "jinja_pass_arg")
        _require_arguments(name, args[1:] if takes_context else args, kwargs)
        return _bounded(function(*args, **kwargs))

    return bounded


def _require_arguments(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Refuse what would make something larger than a value may be.

    Args:
        name: operator, or name of a function or filter.
        args: the value that it is of, and its arguments.
        kwargs: its arguments with names.
    """
    value, rest = args[0], [*args[1:], *kwargs.values()]
    numbers = [number for number in rest if isinstance(number, int)]
    texts = [text for text in rest if isinstance(text, str)]
    if name in _PADDING:
        for number in numbers:
            _require((_size(value) + 1) * number)
    if name == "*":
        for factor, other in (args, args[::-1]):
            if isinstance(factor, int) and not isinstance(other, int):
                _require(_size(other) * factor)
    if name == "**" and isinstance(value, int) and numbers:
        _require(value.bit_length() * numbers[0])
    if name in ("%", "format", "format_map") and isinstance(value, str):
        _require_widths(value, *rest)
    if name == "replace" and isinstance(value, str) and len(texts) > 1:
        _require(len(value) + value.count(texts[0]) * len(texts[1]))
    if name == "join":
        # "a".join(items), or items|join("a")
        items, mark = (rest[0], value) if isinstance(value, str) else (value, "".join(texts))
        if isinstance(items, list | tuple):
            _require(sum(map(_size, items)) + len(items) * len(mark))


def _require_widths(pattern: str, *values: Any) -> None:
    """Refuse formats that pad to more than a value may have."""
    inside = chain.from_iterable(v if isinstance(v, tuple) else [v] for v in values)
    widths = [int(w[:20]) for w in _WIDTH.findall(pattern)]
    if "*" in pattern or ":{" in pattern:  # a width may be a value
        widths += [v for v in inside if isinstance(v, int)]
    _require(max(widths, default=0))


def _size(value: Any) -> int:
    """Characters, items, or, of numbers, bits."""
    if isinstance(value, int):
        return value.bit_length()
    return len(value) if isinstance(value, str | bytes | list | tuple | dict) else 1


def _bounded(value: Any) -> Any:
    _require(_size(value))
    return value


def _require(size: int) -> None:
    if size > LARGEST:
        raise SecurityError(f"it makes something larger than {LARGEST:,} characters or items")
