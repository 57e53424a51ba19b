"""Templates of users run in a sandbox that bounds their steps and the size of what they make."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from itertools import chain
from typing import Any

from jinja2 import StrictUndefined, Template, nodes, pass_context
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

LARGEST = 1 << 22
"""Characters or items of a value, and of all that a template writes; a long prompt has 1 in 10."""
MOST_STEPS = 100_000
"""Turns of all loops of a template together."""
_PADDING = frozenset(
    ("center", "ljust", "rjust", "zfill", "batch", "slice", "indent", "expandtabs", "tojson")
)
"""Functions and filters with a number that says how large the result is."""
_PER_LINE = frozenset(("indent", "expandtabs", "tojson"))
"""Of these, those that make every line or item so much larger."""
_USED = "citeforge_used"
_WIDTH = re.compile(r"\d+")


class Used:
    """What one rendering has used so far."""

    def __init__(self) -> None:
        self.steps = self.characters = 0

    def write(self, value: Any) -> Any:
        """Count what an expression writes."""
        text = value if isinstance(value, str) else str(_bounded(value))
        self.characters += len(text)
        _require(self.characters)
        return text

    def each(self, items: Iterable[Any]) -> Iterator[Any]:
        """Count the turns of a loop."""
        for item in items:
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise SecurityError(f"its loops take more than {MOST_STEPS:,} turns")
            yield item


class _Generator(CodeGenerator):
    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        """``~`` makes texts as ``+`` does, and is bounded as it is."""
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja for templates of users: no attributes of Python's, no changes, bounds on sizes.

    The bounds stop mistakes (``"x" * 10**10``) with a message; a template is still its author's.
    """

    intercepted_binops = frozenset(("+", "*", "**", "%"))
    code_generator_class = _Generator

    def __init__(self) -> None:
        # Without the optimiser, which would work out constants when a template is read.
        super().__init__(undefined=StrictUndefined, optimized=False, finalize=_finalize)
        self.filters = {name: _bounded_filter(f) for name, f in self.filters.items()}
        self.filters[_USED] = _each
        self.globals.pop("lipsum")

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, _USED, [], [], None, None, lineno=loop.lineno)
        return tree

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        _require_operands(operator, left, right)
        return _bounded(super().call_binop(context, operator, left, right))

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        # The sandbox wraps a text's own format.
        owner = getattr(getattr(function, "__wrapped__", function), "__self__", None)
        _require_arguments(getattr(function, "__name__", ""), (owner, *args), kwargs)
        return _bounded(super().call(context, function, *args, **kwargs))

    def joined(self, parts: Iterable[Any]) -> str:
        """The texts of values in one."""
        texts = [str(_bounded(part)) for part in parts]
        _require(sum(map(len, texts)))
        return "".join(texts)


def bounded_text(template: Template, values: Mapping[str, Any]) -> str:
    """A template of a :class:`BoundedEnvironment`, filled in.

    Raises:
        SecurityError: it goes beyond the bounds, or does what the sandbox forbids.
    """
    return "".join(template.generate(**values, **{_USED: Used()}))


@pass_context
def _finalize(context: Context, value: Any) -> Any:
    usage = context.parent.get(_USED)
    return value if usage is None else usage.write(value)  # None: a constant


@pass_context
def _each(context: Context, items: Iterable[Any]) -> Iterable[Any]:
    usage: Used = context.parent[_USED]
    return usage.each(items)


def _bounded_filter(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        name = function.__name__.removeprefix("sync_").removeprefix("do_")
        takes_context = hasattr(function, "jinja_pass_arg")
        _require_arguments(name, args[1:] if takes_context else args, kwargs)
        return _bounded(function(*args, **kwargs))

    return bounded


def _require_operands(operator: str, left: Any, right: Any) -> None:
    if operator == "**" and isinstance(left, int) and isinstance(right, int):
        _require(left.bit_length() * right)
    if operator == "*":
        for value, factor in ((left, right), (right, left)):
            if isinstance(factor, int):
                _require(_size(value) * factor)
    if operator == "+":
        _require(_size(left) + _size(right))
    if operator == "%" and isinstance(left, str):
        _require_widths(left, right)


def _require_arguments(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Refuse a call whose result would be larger than a value may be.

    Args:
        name: of the function or filter.
        args: the value that it is of, and its arguments.
        kwargs: its arguments with names.
    """
    rest = [*args[1:], *kwargs.values()]
    texts = [value for value in rest if isinstance(value, str)]
    if name in _PADDING:
        for width in (value for value in rest if isinstance(value, int)):
            _require(_size(args[0]) + (_lines(args[0]) if name in _PER_LINE else 1) * width)
    if name in ("format", "format_map") and isinstance(args[0], str):
        _require_widths(args[0], *rest)
    if name == "replace" and isinstance(args[0], str) and len(texts) > 1:
        _require(len(args[0]) + args[0].count(texts[0]) * len(texts[1]))
    if name == "join":
        # "a".join(items), or items|join("a")
        items, mark = (rest[0], args[0]) if isinstance(args[0], str) else (args[0], "".join(texts))
        if isinstance(items, list | tuple):
            _require(sum(map(_size, items)) + len(items) * len(mark))


def _lines(value: Any) -> int:
    """Places of a text that padding widens."""
    return value.count("\n") + value.count("\t") + 1 if isinstance(value, str) else _size(value)


def _require_widths(pattern: str, *values: Any) -> None:
    """Refuse formats that pad to more than a value may have."""
    inside = chain.from_iterable(v if isinstance(v, tuple) else [v] for v in values)
    widths = [int(w[:20]) for w in _WIDTH.findall(pattern)]
    if "*" in pattern or ":{" in pattern:  # a width may be a value
        widths += [v for v in inside if isinstance(v, int)]
    for width in widths:
        _require(width)


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
