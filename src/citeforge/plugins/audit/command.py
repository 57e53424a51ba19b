"""The command ``audit``, declared without its code."""

import click

from citeforge.cli.command import Command


def _load() -> click.Command:
    from citeforge.plugins.audit.commands import audit

    return audit


AUDIT = Command("audit", "Look for flaws in a package that verifies.", _load, "Trust")
