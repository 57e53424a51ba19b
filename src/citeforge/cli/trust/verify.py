"""``citeforge verify DIR``."""

from pathlib import Path

import click

from citeforge.cli.path_options import path_argument


@click.command()
@path_argument("folder")
def verify(folder: Path) -> None:
    """Check a package: hashes, schemas, ids, contexts.

    Exit code 0 when it is sound, 1 with one line for each problem.
    """
    from citeforge.builders.packaging.verify import verify as find_problems
    from citeforge.library.benchmarks import package_folder
    from citeforge.package.manifest import load_manifest
    from citeforge.schemas.errors import InputError

    folder = package_folder(folder)
    problems = find_problems(folder)
    for problem in problems:
        click.echo(f"{folder / problem.file}: {problem.message}", err=True)
    if problems:
        raise InputError(f"{len(problems)} problems", path=folder)
    manifest = load_manifest(folder)
    click.echo(f"{folder}: {len(manifest.files)} files verified")
    click.echo(f"benchmark hash {manifest.benchmark_hash}")
