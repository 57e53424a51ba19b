"""The command ``citeforge``: runs sub-commands, and turns errors into a line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from citeforge.cli.command import Root
from citeforge.cli.commands import COMMANDS, grouped_helps, load_command, one_line_helps
from citeforge.cli.interrupts import end_interrupted
from citeforge.cli.json_output import one_object
from citeforge.cli.terminal import make_output_safe
from citeforge.engines.posix import is_reader_gone
from citeforge.schemas.errors import CiteforgeError, extras_named
from citeforge.schemas.version import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class _PipeError(Exception):
    """Carries a BrokenPipeError past click, which would exit with 1 silently."""


class LazyGroup(Root):
    """Group whose commands are imported when they are called."""

    catalogue = COMMANDS

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; print its cost if prices were given, and what it saved if interrupted.

        A broken pipe is raised as an error that click passes on to :func:`main`.
        """
        from citeforge.engines.ledger import open_ledger
        from citeforge.engines.pipes import pipes_copied

        with pipes_copied(), open_ledger() as ledger:
            try:
                return super().invoke(ctx)
            except BrokenPipeError as error:
                raise _PipeError from error
            except KeyboardInterrupt:
                end_interrupted(ledger.kept_line())
            finally:
                if line := ledger.cost_line():
                    click.echo(line, err=True)

    def sections(self) -> dict[str, dict[str, str]]:
        """Map help headings to {command: one-line help}, without importing the commands."""
        return grouped_helps()

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command by name, built-in or a plugin's; None for an unknown one."""
        return load_command(name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """List the commands and options that complete a word."""
        from click.shell_completion import CompletionItem

        commands = [CompletionItem(name, help=text) for name, text in one_line_helps().items()
                 if name.startswith(incomplete)]  # fmt: skip
        return commands + click.Command.shell_complete(self, ctx, incomplete)


def _add_files(ctx: click.Context, param: click.Parameter, files: tuple[str, ...]) -> None:
    """Register the plugin files that the option ``--plugin`` names."""
    if files and not ctx.resilient_parsing:
        from pathlib import Path

        from citeforge.engines.plugins import add_file

        for file in files:
            add_file(Path(file))


def _show_completion(ctx: click.Context, param: click.Parameter, shell: str | None) -> None:
    """Print the completion script of a shell, and exit."""
    if shell is not None and not ctx.resilient_parsing:
        from citeforge.cli.completion import script

        click.echo(script(ctx.command, shell))
        ctx.exit()


_WIDEST_HELP = 120
"""Columns of a wide terminal that help uses; longer lines are hard to read."""


@click.group(
    cls=LazyGroup,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": _WIDEST_HELP,
    },
)
@click.version_option(__version__, prog_name="citeforge")
@click.option(
    "--show-completion",
    type=click.Choice(["auto", "bash", "zsh", "fish"]),
    is_flag=False,
    flag_value="auto",
    is_eager=True,
    expose_value=False,
    callback=_show_completion,
    help="Print what a shell reads to complete command lines (default: for the shell in SHELL).",
)
@click.option(
    "--plugin",
    multiple=True,
    is_eager=True,
    expose_value=False,
    callback=_add_files,
    metavar="FILE.py",
    help="Take a plugin from a file (repeatable; also CITEFORGE_PLUGINS); see docs/extend.md.",
)
@click.option(
    "--log-json",
    is_flag=True,
    help="Long work writes its lines on standard error as JSON objects, also on a terminal.",
)
def cli(log_json: bool) -> None:
    """Build, package, publish and score benchmarks for cited generation."""
    if log_json:
        from citeforge.engines.progress import is_json

        is_json.set(True)


def main(args: list[str] | None = None) -> None:
    """Run the command line; turn errors into one line and an exit code (``ExitCode``)."""
    make_output_safe()
    with _exit_on_storage_errors(), one_object(sys.argv[1:] if args is None else args):
        _run(args)


def _run(args: list[str] | None) -> None:
    """Run the command line; print an error and raise SystemExit from it, with its exit code."""
    try:
        with _exit_on_storage_errors(), extras_named():
            cli.main(args=args, prog_name="citeforge", standalone_mode=False)
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption) and error.possibilities:
            del error.possibilities[1:]  # the nearest one comes first
        error.show()
        raise SystemExit(error.exit_code) from error
    except click.Abort:
        end_interrupted()
    except CiteforgeError as error:
        click.echo(f"error: {error}", err=True)
        raise SystemExit(int(error.exit_code)) from error


@contextmanager
def _exit_on_storage_errors() -> Iterator[None]:
    """End the command if storage fails, or if the program that reads its output has ended."""
    try:
        yield
    except (_PipeError, OSError) as ended:
        cause = ended.__cause__ if isinstance(ended, _PipeError) else ended
        if isinstance(cause, BrokenPipeError) and is_reader_gone():
            sys.stderr.close()
            os._exit(0)  # what is in buffers cannot be written any more
        if not isinstance(cause, OSError) or cause.errno is None:
            raise
        from citeforge.engines.files import storage_error

        problem = storage_error(cause, cause.filename)
        click.echo(f"error: {problem}", err=True)
        raise SystemExit(int(problem.exit_code)) from problem


if __name__ == "__main__":
    main()
