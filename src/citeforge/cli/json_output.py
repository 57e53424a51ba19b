"""The option ``--json``: a command prints one object on standard output, however it ends.

With it, everything that is written to standard output otherwise goes to standard error.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from signal import Signals
from typing import TYPE_CHECKING

import click

from citeforge.cli.command import HeadedOption
from citeforge.cli.interrupts import HOW_TO_GO_ON, signal_exit_code, was_interrupted
from citeforge.schemas.errors import CiteforgeError, ExitCode, UnknownValueError, UsageError
from citeforge.schemas.recipes.groups import SCRIPTS

if TYPE_CHECKING:
    from citeforge.engines.judge.session import JudgeSession
    from citeforge.schemas.outputs import Fault

_OPTION = "--json"
_END_OF_OPTIONS = "--"
_META = "citeforge: json"
"""Key of a context's ``meta``: its command prints an object."""


@dataclass
class _Collected:
    """What is known of the running command.

    Attributes:
        context: click's context of the command; None while it is unknown.
        command: its name; None while it is unknown.
        result: its result; None while there is none.
    """

    context: click.Context | None = None
    command: str | None = None
    result: object = None


_collected: ContextVar[_Collected] = ContextVar("collected")
"""Set while a command runs with ``--json``."""


def _switch_on(ctx: click.Context, parameter: click.Parameter, is_asked: bool) -> None:
    """Handle ``--json`` (click callback): make the command print a JSON object instead of text."""
    if is_asked and not ctx.resilient_parsing:
        ctx.meta[_META] = True
        collected = _collected.get()
        collected.context, collected.command = ctx, _command_name(ctx)


def _command_name(ctx: click.Context) -> str | None:
    """Get the name of a command, without that of the program; None for the program itself."""
    return ctx.command_path.partition(" ")[2] or None


_json_option = partial(
    click.option,
    _OPTION,
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_switch_on,
    help="Print one JSON object instead of text, also for an error (docs/scripting.md).",
)
json_option = _json_option()
headed_json_option = _json_option(cls=HeadedOption, group=SCRIPTS)
"""The same for commands whose first page of help has no room."""


def present(result: object, print_text: Callable[[], None]) -> None:
    """Print a command's result as text, or store it for the JSON object of ``--json``.

    Args:
        result: record, dataclass, or list of such.
        print_text: prints it.
    """
    if is_json_wanted():
        _collected.get().result = result
    else:
        print_text()


def present_rehearsal(*sessions: JudgeSession | None) -> None:
    """Print the counts of a dry run of judges: pairs to judge, calls of all models, their cost.

    Args:
        sessions: judges that were rehearsed; None for none.
    """
    from citeforge.engines.judge.rehearsal import sum_up_rehearsal

    found = sum_up_rehearsal(*sessions)
    present(found, lambda: click.echo("\n".join(found.to_text_lines())))


def is_json_wanted() -> bool:
    """Whether ``--json`` was passed to the running command itself, not to one that called it."""
    return _META in click.get_current_context().meta


@contextmanager
def one_object(arguments: Sequence[str]) -> Iterator[None]:
    """Print one JSON object at the end of the block if the arguments contain ``--json``.

    The block ends with SystemExit, whose cause is the error, or without.

    Args:
        arguments: arguments of the command line.
    """
    options = (
        arguments[: arguments.index(_END_OF_OPTIONS)] if _END_OF_OPTIONS in arguments else arguments
    )
    if _OPTION not in options:
        yield
        return
    collected = _Collected()
    token = _collected.set(collected)
    try:
        with redirect_stdout(sys.stderr):
            yield
    except BaseException as ended:
        _write(collected, ended)
        raise
    else:
        _write(collected, None)
    finally:
        _collected.reset(token)


def _write(collected: _Collected, exception: BaseException | None) -> None:
    """Print the JSON object of an ended command: its collected name and result, and its error.

    In ASCII: neither the encoding of standard output nor a terminal changes a character.

    Args:
        collected: name and result.
        exception: what ended it; None for its end.
    """
    from pydantic_core import to_jsonable_python

    from citeforge.schemas.outputs import Output, Place

    exit_code, error = _describe_end(exception)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        collected.command = _command_name(error.ctx)
    fault = None if exit_code == ExitCode.FINE else _describe_error(error, exit_code)
    if fault is not None and isinstance(error, UnknownValueError) and collected.context is not None:
        option = _find_option(collected.context, error.value)
        fault = fault.model_copy(update={"where": Place(option=option)})
    if fault is not None and fault.advice is None and isinstance(error, _WRONG_USAGE):
        words = " ".join(filter(None, ["citeforge", collected.command, "--help"]))
        fault = fault.model_copy(update={"advice": f"`{words}` lists arguments and options"})
    output = Output[object](
        command=collected.command, exit_code=exit_code, result=collected.result, error=fault
    )
    content = to_jsonable_python(output, inf_nan_mode="null")
    click.echo(json.dumps(content, allow_nan=False))
    sys.stdout.flush()


def _find_option(ctx: click.Context, name: str) -> str | None:
    """Find the option whose value on the command line names an unknown thing; None if not one."""
    word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])")
    found = [
        option.opts[0]
        for option in ctx.command.params
        if isinstance(option, click.Option)
        and option.name in ctx.params
        and word.search(str(ctx.params[option.name]))
    ]
    return found[0] if len(found) == 1 else None


def _describe_end(exception: BaseException | None) -> tuple[int, BaseException | None]:
    """Convert the exception that ended a command to (exit code, error or None if by a signal)."""
    if isinstance(exception, KeyboardInterrupt) or (
        exception is not None and was_interrupted(exception)
    ):
        return signal_exit_code(), None
    if isinstance(exception, SystemExit):
        # As Python does, which prints a text, and exits with 1.
        exit_code = exception.code if isinstance(exception.code, int) else bool(exception.code)
        return int(exit_code), exception.__cause__ or exception
    return (ExitCode.FINE if exception is None else ExitCode.AT_FAULT), exception


def _describe_error(error: BaseException | None, exit_code: int) -> Fault:
    """Convert the error that ended a command to the error object of ``--json``."""
    from citeforge.schemas.outputs import Fault

    match error:
        case CiteforgeError():
            return Fault.from_error(error)
        case click.ClickException():
            return _describe_usage_error(error)
        case None | SystemExit() if exit_code - 128 in {*Signals}:
            name = Signals(exit_code - 128).name
            return Fault(code="interrupted", message=f"interrupted by {name}", advice=HOW_TO_GO_ON)
        case _:
            return Fault(code="internal-error", message=f"{type(error).__name__}: {error}")


_WRONG_USAGE = (click.UsageError, UsageError)
_USAGE = {
    click.NoSuchOption: "unknown-option",
    click.MissingParameter: "missing-option",
    click.BadParameter: "bad-option",
}
"""Error of click to its code."""


def _describe_usage_error(error: click.ClickException) -> Fault:
    """Convert click's error about arguments or options to the error object of ``--json``."""
    from citeforge.schemas.outputs import Fault, Place

    code, option = _USAGE.get(type(error), "wrong-usage"), None
    if isinstance(error, click.NoSuchOption):
        option = error.option_name
    elif isinstance(error, click.BadParameter) and isinstance(error.param, click.Option):
        option = error.param.opts[0]
    elif isinstance(error, click.BadParameter):
        code = code.replace("option", "argument")
    return Fault(code=code, message=error.format_message(), where=Place(option=option))
