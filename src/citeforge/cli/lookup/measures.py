"""``citeforge measures``."""

from __future__ import annotations

from itertools import groupby

import click


@click.command()
def measures() -> None:
    """List the measures, one line each, with what they need."""
    from citeforge.evaluator.measures.registry import measures as listed

    for family, several in groupby(listed().values(), lambda m: m.family):
        click.echo(family)
        for measure in several:
            needs = f" (needs {measure.needs})" if measure.needs else ""
            click.echo(f"  {measure.name:<20} {measure.definition}{needs}")
