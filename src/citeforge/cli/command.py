"""What a plugin declares to give a command.

It does so in an entry point of the group ``citeforge.commands``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import click


class Command(NamedTuple):
    """A command of a plugin. Declared in a file that imports little: ``--help`` reads it.

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


def commands_of_plugins() -> list[Command]:
    """What all plugins declare; their code is not imported."""
    from citeforge.engines.plugins import load_entries

    return [command for command, _ in load_entries("commands") if isinstance(command, Command)]


def command_of_plugin(name: str) -> click.Command | None:
    """The command that a plugin gives under a name; None where none does.

    Raises:
        InputError: the plugin is broken, or a built-in one that this copy lacks.
        UsageError: two plugins give it.
    """
    from citeforge.engines.plugins import broken_plugin, find_entry, require_built_in

    theirs = find_entry("commands", name)
    if theirs is None:
        require_built_in("commands", name, f"the command {name!r}")
        return None
    command, origin = theirs
    if not isinstance(command, Command):
        error = TypeError("it leads to no citeforge.cli.command.Command")
        raise broken_plugin(f"{name!r} of commands", origin, error)
    return command.load()
