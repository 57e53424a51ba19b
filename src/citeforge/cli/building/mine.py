"""``citeforge mine``."""

from __future__ import annotations

from typing import Any

import click

from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.schemas.commands.shard import ShardOptions
from citeforge.schemas.recipes import RageRecipe, RunOptions

_OWN = [n for n in RageRecipe.model_fields if n not in ("name", "licence")]


@click.command()
@add_options(field_options(ShardOptions))
@add_options(field_options(RunOptions, ("out",), ("out",)))
@add_options(field_options(RageRecipe, _OWN))
def mine(**given: Any) -> None:
    """Mine for one share of the queries of a `build rage`, once all shares are embedded.

    All shares are given the same options and the folder of `embed --shard` as --out; `build rage …
    --from-shards` takes it.
    """
    from citeforge.builders.shards.share import mine_shard

    shard = record_from(ShardOptions, given).shard
    done = mine_shard(record_from(RageRecipe, given), record_from(RunOptions, given), shard)
    click.echo(
        f"{done.folder}: share {done.shard} mined, {done.queries:,} queries among "
        f"{done.passages:,} passages"
    )
