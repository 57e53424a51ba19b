"""``citeforge export card DIR``."""

import re
from pathlib import Path

import click

from citeforge.cli.path_options import path_argument, path_option


@click.command()
@path_argument("folder")
@path_option("--scores", multiple=True, help="Score files of baselines to show; repeatable.")
@click.option("--version", metavar="X.Y.Z", help="Set the version of the benchmark.")
def card(folder: Path, scores: tuple[Path, ...], version: str | None) -> None:
    """Write README.md, croissant.json and eval.yaml of a package.

    From its manifest, statistics, audit.json, reference scores, and card.md, which is kept: write
    there what only you know. eval.yaml makes a published benchmark a leaderboard of the Hub.
    """
    from citeforge.builders.packaging.licences import conflicts
    from citeforge.evaluator.statistics.compare import load_scores
    from citeforge.package.manifest import load_manifest
    from citeforge.publish.card import write_card
    from citeforge.schemas.errors import InputError, UsageError

    if version is not None and not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise UsageError(f"--version {version!r}: expected X.Y.Z")
    files = [load_scores(p) for p in scores]
    expected = load_manifest(folder).benchmark_hash
    for path, file in zip(scores, files, strict=True):
        if file.benchmark_hash != expected:
            raise InputError("is of another build of the benchmark", path=path)
    manifest = write_card(folder, files, version)
    click.echo(f"{folder / 'README.md'} and {folder / 'croissant.json'} written")
    for problem in conflicts(manifest):
        click.echo(f"licence: {problem}", err=True)
