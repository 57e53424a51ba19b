"""``citeforge list …``."""

from itertools import groupby

import click

from citeforge.schemas.systems.declaration import System

PAPERS = {
    "rage": "RAGE",
    "alce": "ALCE",
    "attributed_ir": "Attributed-IR",
    "kalma": "KaLMA",
    "attrieval": "AttriEval",
}
"""Source to what its paper is called."""


def source_words(system: System) -> str:
    """Where a system is described, in words; empty for nowhere."""
    paper = PAPERS.get(system.paper, system.paper)
    return f"{paper}, {system.section}" if paper and system.section else paper


@click.group("list")
def lists() -> None:
    """List what can be named: sources, systems, measures."""


@lists.command("sources")
def sources() -> None:
    """List the sources that can be read."""
    from citeforge.ir_convert.registry import SOURCES

    for source in SOURCES.all().values():
        click.echo(f"{source.name}:ARGUMENT  {source.title}")
        click.echo(f"  argument  {source.argument}")
        click.echo(f"  splits    {source.splits}")
        click.echo(f"  becomes   {source.becomes}")
        click.echo(f"  licence   {source.licence}")


@lists.command("measures")
def measures() -> None:
    """List the measures, one line each, with what they need."""
    from citeforge.evaluator.measures.registry import measures as listed

    for family, several in groupby(listed().values(), lambda m: m.family):
        click.echo(family)
        for measure in several:
            needs = f" (needs {measure.needs})" if measure.needs else ""
            click.echo(f"  {measure.name:<20} {measure.definition}{needs}")


@lists.command("systems")
def systems() -> None:
    """List the systems, with what they do, the paper that describes them, and what they need."""
    from citeforge.systems.registry import systems as known

    several = sorted(known().values(), key=lambda s: s.family.lower())
    for family, group in groupby(several, lambda s: s.family):
        click.echo(family or "other")
        for system in group:
            notes = [source_words(system), "needs an LLM" if system.llm else ""]
            note = "; ".join(n for n in notes if n)
            click.echo(f"  {system.name:<20} {system.what}" + (f" ({note})" if note else ""))
