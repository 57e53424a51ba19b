"""Click options: made from record fields, and those that several commands share."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from pydantic import BaseModel, ValidationError

from citeforge.cli.catalogue import fill_names
from citeforge.cli.command import PATH, HeadedOption, path_option
from citeforge.cli.completion import named_type
from citeforge.schemas.catalogue import Sort
from citeforge.schemas.errors import UsageError, field_message, suggestion
from citeforge.schemas.recipes.base import Judging, RunOptions
from citeforge.schemas.recipes.flags import Flag, fields_in, list_flags, nest_values
from citeforge.schemas.recipes.groups import (
    DRY,
    ENDPOINTS,
    FIRST_PAGE,
    LOCAL,
    ROWS,
    RUNNER,
    SETTING,
    VERDICTS,
    Group,
)

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound=BaseModel)
_RUNNER = "engine_options"
_RANGES: dict[type, Any] = {int: click.IntRange, float: click.FloatRange}


class _NamesOption(HeadedOption):
    """Option whose help lists names of the catalogue, which are looked up when it is shown."""

    _text: str | None = None

    @property
    def help(self) -> str | None:
        """Help text of the option, with placeholders such as ``{judges}`` replaced by names."""
        return self._text and fill_names(self._text)

    @help.setter
    def help(self, value: str | None) -> None:
        """Store the help text, in which placeholders such as ``{judges}`` stand for names."""
        self._text = value


def names_option(
    *names: str, sort: Sort, help: str, group: Group = FIRST_PAGE, multiple: bool = False
) -> Callable[[F], F]:
    """Make the decorator of an option whose values are names of a sort, such as judges.

    Args:
        names: of the option, as for :func:`click.option`.
        sort: sort of the catalogue.
        help: text with the sort in braces.
        group: heading of the help.
        multiple: whether the option may be repeated.
    """
    kind = named_type(sort, default=None, comma_separated=False)
    return click.option(
        *names, cls=_NamesOption, type=kind, help=help, group=group, multiple=multiple
    )


class _Option(click.Option):
    """Option of a record field; its help is looked up when it is shown."""

    def __init__(self, flag: Flag, names: list[str], **settings: Any) -> None:
        """Make the command-line option of a record field, under its names (``--top-k``)."""
        self.flag, self.heading = flag, flag.heading
        super().__init__(names, **settings)

    @property
    def help(self) -> str | None:
        """Help text of the option: that of its record field, with names filled in."""
        return fill_names(self.flag.help)

    @help.setter
    def help(self, value: str | None) -> None:
        """Ignore the help text that click sets; the flag has its own."""


class _Setting(_Option):
    """Option that the environment or the settings file may set."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """Read this option's value from the environment, or (with a message) from the settings."""
        key = self.flag.name.removeprefix("--")
        if value := os.environ.get(f"CITEFORGE_{key.upper().replace('-', '_')}"):
            return value
        is_completing = ctx.resilient_parsing
        if is_completing:
            return None
        path, settings = ctx.meta.get(_SETTINGS) or _read_settings(ctx)
        if key in settings:
            click.echo(f"{path}: {self.flag.name} {settings[key]}", err=True)
        return settings.get(key)


_SETTINGS = "citeforge: settings"
"""Key of a context's ``meta`` for the settings file and its content, read once per command."""


def _read_settings(ctx: click.Context) -> tuple[Path | None, Mapping[str, str]]:
    """Read the user's settings file (values of options), once: (its path or None, values)."""
    from citeforge.engines.settings import read_settings, settings_file

    path = settings_file()
    settable = (f for f in _list_flags(RunOptions, None) if SETTING in f.groups) if path else ()
    names = {flag.name.removeprefix("--") for flag in settable}
    ctx.meta[_SETTINGS] = settings = path, read_settings(path, names) if path else {}
    return settings


class OneOf(click.Choice[str]):
    """Choice whose error suggests a similar value."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Write the error for a value that is not a choice, and suggest a similar choice."""
        message = super().get_invalid_choice_message(value, ctx)
        return f"{message.removesuffix('.')}{suggestion(str(value), map(str, self.choices))}."


def field_options(
    record: type[BaseModel], only: Collection[str] | None = None, required: Collection[str] = ()
) -> list[click.Option]:
    """Make click options of a record's fields, all or ``only`` some; some may be ``required``.

    Args:
        record: pydantic model.
        only: names of the record's fields that are wanted, in this order if they have one; None for
            all, in the order of the record.
        required: fields that must be given though the record has a default.
    """
    flags = _list_flags(record, only)
    if isinstance(only, Sequence):
        flags.sort(key=lambda flag: only.index(flag.field_path[0]))
    return [_make_option(flag, flag.field_path[0] in required) for flag in flags]


def _list_flags(record: type[BaseModel], only: Collection[str] | None) -> list[Flag]:
    """List the flags of a record's fields, all or ``only`` some, and runner flags if it has any.

    Args:
        record: pydantic model.
        only: names of its fields that are wanted; None for all.
    """
    flags = [f for f in list_flags(record) if only is None or f.field_path[0] in only]
    if record is RunOptions and (only is None or _RUNNER in only):
        from citeforge.engines.running.runners import runner_flags

        flags += runner_flags(_RUNNER)
    return flags


def _make_option(flag: Flag, required: bool) -> click.Option:
    """Make the click option of a flag (one field of a record as a command-line option)."""
    attributes: dict[str, Any] = {"metavar": flag.option.metavar}
    names = [flag.name, _parameter_name(flag)]
    make = _Setting if SETTING in flag.groups else _Option
    if flag.type is bool:
        if flag.field.get_default() is None:
            names[0] += f"/--no-{flag.name.removeprefix('--')}"
            return make(flag, names, default=None, **attributes)
        return make(flag, names, is_flag=True, **attributes)
    if flag.repeats:
        return make(flag, names, multiple=True, type=_click_type(flag), **attributes)
    default = flag.field.get_default()
    if flag.option.joined:
        default = ",".join(map(str, default)) if default else None
    elif flag.choices:
        default = str(default)
    return make(
        flag,
        names,
        type=_click_type(flag),
        required=required or flag.field.is_required(),
        show_default=default is not None,
        **attributes,
        **({} if flag.field.is_required() or default is None else {"default": default}),
    )


def _click_type(flag: Flag) -> Any:
    """Choose the click type that parses the values of a flag."""
    if flag.choices:
        return OneOf([str(c) for c in flag.choices])
    if flag.type is Path:
        return PATH
    if flag.type not in _RANGES:
        if sort := flag.option.names:
            return named_type(sort, flag.field.get_default(), flag.option.joined)
        return str
    bounds = flag.bounds
    if not bounds:
        return flag.type
    return _RANGES[flag.type](
        min=bounds.get("ge", bounds.get("gt")),
        max=bounds.get("le", bounds.get("lt")),
        min_open="gt" in bounds,
        max_open="lt" in bounds,
    )


def _parameter_name(flag: Flag) -> str:
    """Get the function parameter's name of an option: its field path joined by ``__``."""
    return "__".join(flag.field_path)


def add_options(options: Iterable[click.Option]) -> Callable[[F], F]:
    """Make a decorator that adds options to a command's function, in order."""

    def decorate(function: F) -> F:
        """Add the options to a function."""
        before: list[click.Parameter] = getattr(function, "__click_params__", [])
        # click reads the list backwards: decorators are applied from the last to the first.
        function.__click_params__ = [*before, *reversed(list(options))]  # type: ignore[attr-defined]
        return function

    return decorate


def record_from(
    record: type[M], parameters: Mapping[str, Any], only: Collection[str] | None = None
) -> M:
    """Make a record from parsed options, of all fields or ``only`` some; ignore other options.

    Args:
        record: pydantic model.
        parameters: parameters of a command by name.
        only: names of the record's fields that options may set; None for all.

    Raises:
        UsageError: names the option at fault.
    """
    values: dict[tuple[str, ...], Any] = {}
    for flag in _list_flags(record, only):
        value = parameters.get(_parameter_name(flag))
        # What is not said of a runner is left out: another one may be asked for.
        silent = flag.field_path[0] == _RUNNER and value == flag.field.default
        if value is None or silent or (flag.repeats and not value):
            continue
        legal = {str(c): c for c in flag.choices}
        values[flag.field_path] = legal.get(value, value) if flag.choices else value
    try:
        return record.model_validate(nest_values(values))
    except ValidationError as error:
        raise UsageError(_error_message(record, error), code="bad-option") from error


def _error_message(record: type[BaseModel], error: ValidationError) -> str:
    """Describe the first invalid value in a validation error, with its option's name."""
    first = error.errors()[0]
    text = field_message(first["type"], first["msg"])
    for flag in list_flags(record):
        if first["loc"][: len(flag.field_path)] == flag.field_path:
            value = first["input"]
            is_one_value = isinstance(value, str) and not flag.option.joined
            quoted = f" {value!r}" if is_one_value else ""
            return f"{flag.name}{quoted}: {text}"
    return text


benchmark_option = path_option(
    "--benchmark", required=True, help="Package, or hub:ORG/NAME[@REVISION]."
)


def _set_largest_line(ctx: click.Context, parameter: click.Parameter, megabytes: int) -> None:
    """Set the largest size of an input line and of an answer, in megabytes (click callback)."""
    from citeforge.engines.jsonlines import set_largest_line

    set_largest_line(megabytes)


largest_line_option = click.option(
    "--largest-line",
    cls=HeadedOption,
    group=ROWS,
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    envvar="CITEFORGE_LARGEST_LINE",
    expose_value=False,
    callback=_set_largest_line,
    help="Most megabytes of a line of a file, and of an answer.",
)


def group_options(*groups: Group) -> Callable[[F], F]:
    """Make a decorator that adds a command's run options (under given headings of its help)."""
    return add_options(field_options(RunOptions, fields_in(RunOptions, *groups)))


verdicts_option = group_options(VERDICTS)
_LOCAL_JUDGE = [n for n in Judging.model_fields if n != "judge"]
model_options = add_options(
    [
        *field_options(Judging, _LOCAL_JUDGE),
        *field_options(RunOptions, fields_in(RunOptions, LOCAL)),
    ]
)


def endpoint_options(command: F) -> F:
    """Add options for endpoints, clusters, dry runs and the largest line to a command."""
    return group_options(DRY, ENDPOINTS, RUNNER)(largest_line_option(command))


def judging_options(command: F) -> F:
    """Add options for asking a judge (stored verdicts, local models, endpoints) to a command."""
    return verdicts_option(model_options(endpoint_options(command)))


def run_options(options: dict[str, Any], **more: Any) -> RunOptions:
    """Make ``RunOptions`` from parsed options; refuse options that its runner does not have.

    Args:
        options: parsed options of the command.
        more: fields of the run options that are no option of the command.

    Raises:
        UsageError: an option is wrong, or goes with another engine.
    """
    from citeforge.engines.running.setup import make_runner

    run = record_from(RunOptions, options | more)
    make_runner(run)
    return run
