"""``citeforge leaderboard …``."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def leaderboard() -> None:
    """A static ranking and viewer: build."""


@leaderboard.command("build")
@click.option("--benchmark", type=click.Path(path_type=Path), required=True, help="Package.")
@click.option(
    "--scores",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder of score files (*.json), one a system.",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of the site.")
@click.option("--title", help="Title of the pages.")
@click.option(
    "--gold",
    type=click.Path(path_type=Path),
    help="Gold half of publish --hide-gold: scores made with it are shown, and no label.",
)
def build(benchmark: Path, scores: Path, out: Path, title: str | None, gold: Path | None) -> None:
    """Build the site. It needs no server: open index.html.

    A new system is one more file in the folder of score files.
    """
    from citeforge.cli.fetch import package_folder
    from citeforge.evaluator.compare import load_scores
    from citeforge.publish.leaderboard.build import build_site
    from citeforge.schemas.errors import InputError

    if not scores.is_dir():
        raise InputError("is no folder", path=scores, allowed="a folder of score files")
    files = [load_scores(p) for p in sorted(scores.glob("*.json"))]
    if not files:
        raise InputError(
            "holds no score files", path=scores, allowed="*.json files of `citeforge score`"
        )
    done = build_site(
        package_folder(benchmark), files, out, title, package_folder(gold) if gold else None
    )
    click.echo(
        f"{out / 'index.html'}: {done.systems:,} systems, {done.queries:,} queries, first page "
        f"{done.index_bytes / 1e3:,.0f} kB"
    )
