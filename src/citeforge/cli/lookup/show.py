"""``citeforge show DIR``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from citeforge.cli.path_options import path_argument

if TYPE_CHECKING:
    from citeforge.package.package import Package


@click.command()
@path_argument("folder")
@click.option("--query", help="Show this query with its labelled context.")
@click.option("--context", help="Context set to show (default: all).")
@click.option("--full", is_flag=True, help="Whole passages, not their first 300 characters.")
@click.option("--trace", is_flag=True, help="How a question of build kalma grew (--query).")
def show(folder: Path, query: str | None, context: str | None, full: bool, trace: bool) -> None:
    """Summarise a package, or show one query in context."""
    from citeforge.cli.output import summarise
    from citeforge.library.benchmarks import package_folder
    from citeforge.package.manifest import load_manifest
    from citeforge.package.package import Package
    from citeforge.schemas.errors import UsageError

    folder = package_folder(folder)
    manifest = load_manifest(folder)
    if query is None:
        if trace:
            raise UsageError("--trace: of which question? Name it with --query ID")
        summarise(folder, manifest)
        return
    package = Package(folder, manifest)
    if trace:
        _show_trace(package, query)
        return
    for name in [context] if context else package.contexts:
        for item in package.items(name, query):
            click.echo(f"query {item.query_id}: {item.query}")
            click.echo(f"context {name}:")
            for number, passage in enumerate(item.passages, manifest.grammar.base):
                title = f"{passage.title}: " if passage.title else ""
                text = f"{title}{passage.text}".replace("\n", " ")
                if not full and len(text) > 300:
                    text = text[:299] + "…"
                click.echo(f"  [{number}] {passage.label} ({passage.id})\n      {text}")
            for graph in item.graphs:
                click.echo(f"  {graph.qid} {graph.name}")
                for triple in graph.triples:
                    click.echo(f"      {triple.relation}: {triple.value}")


def _show_trace(package: Package, query: str) -> None:
    from citeforge.schemas.errors import InputError

    text = package.kind.trace(package, query)
    if text is None:
        raise InputError(
            f"is a {package.kind.name} benchmark",
            path=package.folder,
            allowed="--trace is for those of build kalma",
        )
    click.echo(text, nl=False)
