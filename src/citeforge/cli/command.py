"""Parts of commands: path options, groups, and the record that declares one.

A plugin declares a command in an entry point of the group ``citeforge.commands``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citeforge.schemas.errors import UnknownValueError
from citeforge.schemas.recipes.groups import Group

if TYPE_CHECKING:
    from citeforge.engines.catalogue import Catalogue


class _PathType(click.Path):
    """Path of a file or folder; options that write refuse ``-``, which is standard input."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert a value to a path; refuse ``-`` (standard input) for options that name output."""
        if value == "-" and param is not None and param.name in _WRITTEN:
            self.fail(
                "'-' is standard input; write the name of a file or folder "
                "(commands that can print do so without this option)",
                param, ctx,
            )  # fmt: skip
        return super().convert(value, param, ctx)


_WRITTEN = {"out", "kept", "stub"}
"""Parameters that name what a command writes."""
PATH = _PathType(path_type=Path)
path_option = partial(click.option, type=PATH)
path_argument = partial(click.argument, type=PATH)


class HeadedOption(click.Option):
    """Option under a heading of ``--help-all``."""

    def __init__(self, *names: Any, group: Group, **settings: Any) -> None:
        """Make an option that the help lists under the heading of its group."""
        self.heading = group.heading
        super().__init__(*names, **settings)


@dataclass(frozen=True)
class Command:
    """Declaration of a command, in a file that imports little: ``--help`` reads it.

    Attributes:
        name: how it is called, as its entry point; ``publish NAME`` is a command below
            ``publish``.
        help: one line for ``citeforge --help``.
        load: gives the click command, and imports what that needs; called when it is used.
        group: heading beneath which ``citeforge --help`` lists it.
    """

    name: str
    help: str
    load: Callable[[], click.Command]
    group: str = "Advanced"

    @property
    def form(self) -> str:
        """Name that users type to run the command."""
        return self.name


LONGEST_HELP = 1000
"""Characters of a command's first sentence in a list of commands, which is wrapped, not cut."""


class NamedCommands(click.Group):
    """Group whose help has each command's first sentence, and whose errors list the commands.

    Attributes:
        noun: noun for its commands, for errors.
    """

    noun = "command"

    def sections(self) -> Mapping[str, Mapping[str, str]]:
        """Map help headings to {command: first sentence of its help}."""
        shown = {name: c for name, c in sorted(self.commands.items()) if not c.hidden}
        return {"Commands": {n: c.get_short_help_str(LONGEST_HELP) for n, c in shown.items()}}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of all commands."""
        return [name for helps in self.sections().values() for name in helps]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a help text's list of commands, each with its first sentence, under headings."""
        for title, helps in self.sections().items():
            if helps:
                with formatter.section(title):
                    formatter.write_dl(list(helps.items()))

    def _mentioned(self, name: str) -> str:
        """Get ``name: help`` of the command whose help mentions a word; empty if not just one."""
        helps = {n: text for part in self.sections().values() for n, text in part.items()}
        word = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
        found = [f"{n}: {text}" for n, text in helps.items() if word.search(text)]
        return found[0].rstrip(".") if len(found) == 1 else ""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown name is an error that lists the known ones.

        Returns:
            (name, command, arguments that are left).

        Raises:
            UsageError: there is none.
        """
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from citeforge.engines.plugins import with_broken_files

            known = self.list_commands(ctx)
            error = UnknownValueError(self.noun, args[0], known, mentioned=self._mentioned(args[0]))
            raise with_broken_files(error)
        return super().resolve_command(ctx, args)


class Root(NamedCommands):
    """Group of all commands.

    Attributes:
        catalogue: rows of all commands, also of those below other groups (``publish NAME``).
    """

    catalogue: "Catalogue[Command, None]"
