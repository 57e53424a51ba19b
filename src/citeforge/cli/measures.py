"""``citeforge measures``."""

from __future__ import annotations

import click


@click.command()
def measures() -> None:
    """List the measures, one line each, with what they need."""
    from citeforge.evaluator.measures.registry import measures as listed

    family = None
    for measure in listed().values():
        if measure.family != family:
            family = measure.family
            click.echo(family)
        needs = f" (needs {measure.needs})" if measure.needs else ""
        click.echo(f"  {measure.name:<20} {measure.definition}{needs}")
