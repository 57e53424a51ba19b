"""The command ``labels``, declared without its code."""

import click

from citeforge.cli.command import Command


def _load() -> click.Command:
    """Import the command ``labels``, only when it is used."""
    from citeforge.plugins.labels.commands import labels

    return labels


LABELS = Command(
    "labels", "Plan, collect and use labels of people, and measure judges by them.", _load, "Trust"
)
