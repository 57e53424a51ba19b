"""The command ``shard``, declared without its code."""

import click

from citeforge.cli.command import Command


def _load() -> click.Command:
    from citeforge.plugins.ray.shards.commands import shard

    return shard


SHARD = Command("shard", "Do one share of a `build rage`: embed, mine.", _load, "Build")
