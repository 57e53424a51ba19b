"""The command ``publish results``, declared without its code."""

import click

from citeforge.cli.command import Command


def _load() -> click.Command:
    from citeforge.plugins.leaderboard.community_evals.results import publish_results

    return publish_results


RESULTS = Command("publish results", "Show a model's scores on its page of the Hub.", _load)
