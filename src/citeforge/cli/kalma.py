"""``citeforge kalma …``."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def kalma() -> None:
    """Look into KaLMA benchmarks: trace."""


@kalma.command("trace")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--query", required=True, help="Id of the query.")
def trace(folder: Path, query: str) -> None:
    """Show how a question grew, round by round."""
    from citeforge.builders.kalma.package import trace_text
    from citeforge.package.manifest import load_intact
    from citeforge.schemas.errors import InputError

    manifest = load_intact(folder)
    if manifest.kind != "kalma":
        raise InputError(
            f"is a {manifest.kind} benchmark", path=folder, allowed="one of build kalma"
        )
    click.echo(trace_text(folder, query), nl=False)
