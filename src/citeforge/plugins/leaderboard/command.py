"""Declarations of ``leaderboard`` and ``publish results``; their code is imported when they run."""

import click

from citeforge.cli.command import Command


def _load_leaderboard() -> click.Command:
    """Import the command ``leaderboard``."""
    from citeforge.plugins.leaderboard.commands import leaderboard

    return leaderboard


LEADERBOARD = Command(
    "leaderboard",
    "A static ranking and viewer of one benchmark or several: init, add, build.",
    _load_leaderboard,
    "Publish",
)


def _load_results() -> click.Command:
    """Import the command ``publish results``."""
    from citeforge.plugins.leaderboard.results import publish_results

    return publish_results


RESULTS = Command("publish results", "Show a model's scores on its page of the Hub.", _load_results)
