"""The command ``leaderboard``, declared without its code."""

import click

from citeforge.cli.command import Command


def _load() -> click.Command:
    from citeforge.plugins.leaderboard.commands import leaderboard

    return leaderboard


LEADERBOARD = Command(
    "leaderboard",
    "A static ranking and viewer of one benchmark or several: init, add, build.",
    _load,
    "Publish",
)
