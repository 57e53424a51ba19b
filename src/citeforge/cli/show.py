"""``citeforge show DIR``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from citeforge.cli.fetch import package_folder


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--query", help="Show this query with its labelled context.")
@click.option("--context", help="Context set to show (default: all).")
@click.option("--full", is_flag=True, help="Whole passages, not their first 300 characters.")
def show(folder: Path, query: str | None, context: str | None, full: bool) -> None:
    """Summarise a package, or show one query in context."""
    from citeforge.builders.read import iter_shown
    from citeforge.builders.verify import load_manifest
    from citeforge.cli.output import summarise

    folder = package_folder(folder)
    manifest = load_manifest(folder)
    if query is None:
        summarise(folder, manifest)
        return
    names = [context] if context else list(manifest.contexts)
    if manifest.kind == "kalma":
        _show_graphs(folder, names, query, manifest.contexts)
        return
    for name in names:
        for shown in iter_shown(folder, name, query):
            click.echo(f"query {shown.query_id}: {shown.query}")
            click.echo(f"context {name}:")
            for number, passage in enumerate(shown.passages, manifest.grammar.base):
                title = f"{passage.title}: " if passage.title else ""
                text = f"{title}{passage.text}".replace("\n", " ")
                if not full and len(text) > 300:
                    text = text[:299] + "…"
                click.echo(f"  [{number}] {passage.label} ({passage.id})\n      {text}")


def _show_graphs(folder: Path, names: list[str], query: str, known: Iterable[str]) -> None:
    from citeforge.builders.read import iter_graphs
    from citeforge.schemas.errors import UnknownValueError

    for name in names:
        if name not in known:
            raise UnknownValueError("context", name, known)
        for found, text, graphs in iter_graphs(folder, name, query):
            click.echo(f"query {found}: {text}")
            click.echo(f"context {name}:")
            for graph in graphs:
                click.echo(f"  {graph.qid} {graph.name}")
                for triple in graph.triples:
                    click.echo(f"      {triple.relation}: {triple.value}")
