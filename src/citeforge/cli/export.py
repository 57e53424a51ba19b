"""``citeforge export FORMAT DIR``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("format_name", metavar="FORMAT")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to make.")
@click.option("--context", help="Context set, where a format has one a question.")
def export(format_name: str, folder: Path, out: Path, context: str | None) -> None:
    """Write a package in the layout of another tool.

    FORMAT is beir, mteb, trec, alce, attrieval, attributed-ir, rage-toolkit, kalma or hf-csv. What
    the format cannot carry is listed.
    """
    from citeforge.publish.export.registry import export as write

    lost = write(format_name, folder, out, context)
    files = [p for p in sorted(out.rglob("*")) if p.is_file()]
    click.echo(f"{out}: {len(files)} files, {sum(p.stat().st_size for p in files):,} B")
    for what in lost:
        click.echo(f"not carried: {what}")
