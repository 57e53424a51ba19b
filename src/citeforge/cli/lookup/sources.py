"""``citeforge sources``."""

from __future__ import annotations

import click


@click.command()
def sources() -> None:
    """List the sources that can be read."""
    from citeforge.ir_convert.registry import SOURCES

    for source in SOURCES.all().values():
        click.echo(f"{source.name}:ARGUMENT  {source.title}")
        click.echo(f"  argument  {source.argument}")
        click.echo(f"  splits    {source.splits}")
        click.echo(f"  becomes   {source.becomes}")
        click.echo(f"  licence   {source.licence}")
