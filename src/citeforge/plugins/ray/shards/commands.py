"""``citeforge shard …``: one share of a build, for several processes or machines at once."""

from typing import Annotated, Any

import click

from citeforge.cli.options import add_options, field_options, record_from
from citeforge.cli.short_help import ManyOptions
from citeforge.schemas.command_options import Shard
from citeforge.schemas.recipes.base import ENDPOINT, Option, Part
from citeforge.schemas.recipes.records import RageRecipe, RunOptions


class ShardOptions(Part):
    """Which share of a build a process does."""

    shard: Annotated[Shard, Option(metavar="I/N")]
    """The I-th of N shares, such as 2/5."""


_OWN = [n for n in RageRecipe.model_fields if n not in ("name", "licence")]


@click.group()
def shard() -> None:
    """Do one share of a `build rage`: embed, mine."""


@shard.command("embed", cls=ManyOptions)
@add_options(field_options(ShardOptions))
@add_options(field_options(RunOptions, ("out",), ("out",)))
@add_options(field_options(RageRecipe, _OWN))
@add_options(field_options(RunOptions, ("device", "shard_rows", *ENDPOINT)))
def embed(**parameters: Any) -> None:
    """Embed one share of a `build rage`, for several processes or machines at once.

    All shares are given the same options and the same folder --out; `build rage … --from-shards`
    takes it. A share that was cut off is run again and goes on.
    """
    from citeforge.plugins.ray.shards.shares import embed_shard

    done = embed_shard(*_records(parameters))
    click.echo(
        f"{done.folder}: share {done.shard} embedded, {done.passages:,} passages and "
        f"{done.queries:,} queries"
    )


@shard.command("mine", cls=ManyOptions)
@add_options(field_options(ShardOptions))
@add_options(field_options(RunOptions, ("out",), ("out",)))
@add_options(field_options(RageRecipe, _OWN))
def mine(**parameters: Any) -> None:
    """Mine for one share of the queries of a `build rage`, once all shares are embedded.

    All shares are given the same options and the folder of `shard embed` as --out; `build rage …
    --from-shards` takes it.
    """
    from citeforge.plugins.ray.shards.shares import mine_shard

    done = mine_shard(*_records(parameters))
    click.echo(
        f"{done.folder}: share {done.shard} mined, {done.queries:,} queries among "
        f"{done.passages:,} passages"
    )


def _records(parameters: dict[str, Any]) -> tuple[RageRecipe, RunOptions, Shard]:
    share = record_from(ShardOptions, parameters).shard
    return record_from(RageRecipe, parameters), record_from(RunOptions, parameters), share
