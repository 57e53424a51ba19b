"""Declaration of the command ``publish results``; its code is imported when it runs."""

import click

from citeforge.cli.command import Command


def _load() -> click.Command:
    """Import the command ``publish results``."""
    from citeforge.plugins.leaderboard.community_evals.results import publish_results

    return publish_results


RESULTS = Command("publish results", "Show a model's scores on its page of the Hub.", _load)
