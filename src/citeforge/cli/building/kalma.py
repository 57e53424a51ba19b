"""``citeforge kalma …``."""

from __future__ import annotations

from pathlib import Path

import click

from citeforge.cli.path_options import path_argument


@click.group()
def kalma() -> None:
    """Look into KaLMA benchmarks: trace."""


@kalma.command("trace")
@path_argument("folder")
@click.option("--query", required=True, help="Id of the query.")
def trace(folder: Path, query: str) -> None:
    """Show how a question grew, round by round."""
    from citeforge.package.package import Package
    from citeforge.schemas.errors import InputError

    package = Package(folder)
    text = package.kind.trace(package, query)
    if text is None:
        raise InputError(
            f"is a {package.kind.name} benchmark", path=folder, allowed="one of build kalma"
        )
    click.echo(text, nl=False)
