"""The command ``reproduce``, declared without its code."""

import click

from citeforge.cli.command import Command


def _load() -> click.Command:
    from citeforge.plugins.reproduce.commands import reproduce

    return reproduce


REPRODUCE = Command(
    "reproduce",
    "Compute published tables again from published outputs.",
    _load,
    "Trust",
)
