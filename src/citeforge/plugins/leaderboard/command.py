"""Declaration of the command ``leaderboard``; its code is imported when it runs."""

import click

from citeforge.cli.command import Command


def _load() -> click.Command:
    """Import the command ``leaderboard``."""
    from citeforge.plugins.leaderboard.commands import leaderboard

    return leaderboard


LEADERBOARD = Command(
    "leaderboard",
    "A static ranking and viewer of one benchmark or several: init, add, build.",
    _load,
    "Publish",
)
