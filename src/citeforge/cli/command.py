"""What a plugin declares to give a command.

It does so in an entry point of the group ``citeforge.commands``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import click


@dataclass(frozen=True)
class Command:
    """A command of a plugin. Declared in a file that imports little: ``--help`` reads it.

    Attributes:
        name: how it is called.
        help: one line for ``citeforge --help``.
        load: gives the click command, and imports what that needs; called when it is used.
        group: heading beneath which ``citeforge --help`` lists it.
    """

    name: str
    help: str
    load: Callable[[], click.Command]
    group: str = "Advanced"
