"""``citeforge verify DIR``."""

from __future__ import annotations

from pathlib import Path

import click

from citeforge.cli.publishing.fetch import local_package


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
def verify(folder: Path) -> None:
    """Check a package: hashes, schemas, ids, contexts.

    Exit code 0 when it is sound, 1 with one line for each problem.
    """
    from citeforge.builders.packaging.verify import verify as find_problems
    from citeforge.package.manifest import load_manifest
    from citeforge.schemas.errors import InputError

    folder = local_package(folder)
    problems = find_problems(folder)
    for problem in problems:
        click.echo(f"{folder / problem.file}: {problem.message}", err=True)
    if problems:
        raise InputError(f"{len(problems)} problems", path=folder)
    manifest = load_manifest(folder)
    click.echo(f"{folder}: {len(manifest.files)} files verified")
    click.echo(f"benchmark hash {manifest.benchmark_hash}")
