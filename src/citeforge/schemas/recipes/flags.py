"""Conversion of a record to options of a command line and back, the same for every kind."""

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from citeforge.schemas.recipes.base import Option, Part, docstring
from citeforge.schemas.recipes.groups import Group


@dataclass(frozen=True)
class Flag:
    """One option of a record.

    Attributes:
        name: with dashes in front.
        record: class that has the field.
        field_path: names of the fields that lead to its value.
        field: its declaration.
        option: how it is said in one word.
        type: type of its value, or of one of its values when it repeats.
        repeats: whether it may be given several times.
        groups: groups that it is in; those of a record hold for fields that are in none.
    """

    name: str
    record: type[BaseModel]
    field_path: tuple[str, ...]
    field: FieldInfo
    option: Option
    type: Any
    repeats: bool
    groups: tuple[Group, ...]

    @property
    def heading(self) -> str:
        """Heading above the option in ``--help-all``; empty if plain ``--help`` shows it."""
        return next((group.heading for group in self.groups), "")

    @property
    def choices(self) -> tuple[Any, ...]:
        """Legal values of an option that is a Literal; empty for other types."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def help(self) -> str:
        """Help text of the option, in one line."""
        text = self.field.description or docstring(self.record, self.field_path[-1])
        return " ".join(text.split())

    @property
    def bounds(self) -> dict[str, float]:
        """Numeric limits of the option (``ge``, ``gt``, ``le``, ``lt``), those that are set."""
        return {
            name: bound
            for limit in self.field.metadata
            for name in ("ge", "gt", "le", "lt")
            if (bound := getattr(limit, name, None)) is not None
        }

    def read_from(self, record: BaseModel) -> Any:
        """Get the value that a record has for this option."""
        return reduce(getattr, self.field_path, record)


def list_flags(
    record: type[BaseModel],
    parent_path: tuple[str, ...] = (),
    default_groups: tuple[Group, ...] = (),
) -> Iterator[Flag]:
    """Yield the command-line options of a record's fields, also of records nested in it.

    A field that is a dictionary holds options of runners, which are not the record's.

    Args:
        record: class of the record.
        parent_path: names of the fields that lead to it.
        default_groups: groups of options for fields that declare none.
    """
    for name, field in record.model_fields.items():
        value_type = _bare_type(field.annotation)
        if get_origin(value_type) is dict:
            continue
        own_groups = _groups_of(field) or default_groups
        if isinstance(value_type, type) and issubclass(value_type, Part):
            yield from list_flags(value_type, (*parent_path, name), own_groups)
            continue
        option = next((m for m in field.metadata if isinstance(m, Option)), Option())
        repeats = get_origin(value_type) is tuple and not option.joined
        yield Flag(
            option.flag or f"--{name.replace('_', '-')}",
            record,
            (*parent_path, name),
            field,
            option,
            _bare_type(get_args(value_type)[0]) if repeats else value_type,
            repeats,
            own_groups,
        )


def _groups_of(field: FieldInfo) -> tuple[Group, ...]:
    """List the sections of ``--help`` (groups) that a record's field is annotated with."""
    return tuple(m for m in field.metadata if isinstance(m, Group))


def fields_in(record: type[BaseModel], *groups: Group) -> tuple[str, ...]:
    """List names of a record's fields whose options are in given sections of ``--help``."""
    fields = record.model_fields.items()
    names = (name for group in groups for name, field in fields if group in _groups_of(field))
    return tuple(dict.fromkeys(names))


def _bare_type(annotation: Any) -> Any:
    """Remove ``None`` and ``Annotated`` from a type annotation; other unions become ``str``."""
    if get_origin(annotation) is Annotated:
        return _bare_type(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        some = [a for a in get_args(annotation) if a is not type(None)]
        return _bare_type(some[0]) if len(some) == 1 else str
    return annotation


def nest_values(values: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    """Make nested dictionaries from values by path: ``("a", "b"): 1`` gives ``{"a": {"b": 1}}``."""
    content: dict[str, Any] = {}
    for field_path, value in values.items():
        inner = content
        for name in field_path[:-1]:
            inner = inner.setdefault(name, {})
        inner[field_path[-1]] = value
    return content


def command_words(record: BaseModel) -> list[str]:
    """List the command-line words that set a record's options; defaults are left out."""
    words: list[str] = []
    for flag in list_flags(type(record)):
        value = flag.read_from(record)
        if value is None or value == flag.field.default:
            continue
        if isinstance(value, bool):
            words.append(flag.name)
        elif flag.repeats:
            words += [w for one in value for w in (flag.name, _word(one))]
        elif flag.option.joined:
            words += [flag.name, ",".join(map(_word, value))]
        else:
            words += [flag.name, _word(value)]
    return words


def _word(value: Any) -> str:
    """Write the value of an option as one word of a command line."""
    return value.as_posix() if isinstance(value, Path) else str(value)
