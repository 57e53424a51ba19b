"""Asking before a recipe of somebody else reads files and asks models."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import click

trusting = click.option(
    "--trust",
    is_flag=True,
    help="Use the files, models and endpoints that the recipe names, without asking.",
)


def confirmation(trust: bool) -> Callable[[Sequence[str]], None]:
    """Prints what a recipe uses; asks on a terminal, and refuses without one.

    Args:
        trust: neither asks nor refuses.
    """

    def confirm(uses: Sequence[str]) -> None:
        from citeforge.builders.recipes.rebuild import refuse

        click.echo("\n  ".join(["the recipe uses", *uses]), err=True)
        if trust or (sys.stdin.isatty() and click.confirm("Use all of these?", err=True)):
            return
        refuse(uses)

    return confirm
