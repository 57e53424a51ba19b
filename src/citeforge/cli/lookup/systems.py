"""``citeforge systems``."""

from __future__ import annotations

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


@click.command()
def systems() -> None:
    """List the systems: whose they are, what they do, where they are described, what they need."""
    from citeforge.systems.registry import systems as known

    several = sorted(known().values(), key=lambda s: s.family.lower())
    for family, group in groupby(several, lambda s: s.family):
        click.echo(family or "other")
        for system in group:
            notes = [source_words(system), "needs an LLM" if system.llm else ""]
            told = "; ".join(n for n in notes if n)
            click.echo(f"  {system.name:<20} {system.what}" + (f" ({told})" if told else ""))
