"""The command ``audit``, declared without its code."""

import click

from citeforge.cli.command import Command


def _load() -> click.Command:
    """Import the command ``audit``, only when it is used."""
    from citeforge.plugins.audit.commands import audit

    return audit


AUDIT = Command("audit", "Look for flaws in a verified package.", _load, "Trust")
