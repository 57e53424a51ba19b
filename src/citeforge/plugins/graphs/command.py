"""The commands ``kg``, declared without their code."""

import click

from citeforge.cli.command import Command


def _load() -> click.Command:
    """Import the command group ``kg``."""
    from citeforge.plugins.graphs.commands import kg

    return kg


KG = Command("kg", "Ask a knowledge graph: profile, snapshot, link.", _load, "Build")
