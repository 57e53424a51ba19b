"""Declaration of the command ``reproduce``; its code is imported when it runs."""

import click

from citeforge.cli.command import Command


def _load() -> click.Command:
    """Import the command ``reproduce``."""
    from citeforge.plugins.reproduce.commands import reproduce

    return reproduce


REPRODUCE = Command(
    "reproduce", "Compute published tables again from published outputs.", _load, "Trust"
)
