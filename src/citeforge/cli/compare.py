"""``citeforge compare A.json B.json``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("scores", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--measures",
    help="Names, names without their cell (CAB.P), or families, separated by commas (default: all "
    "that the files share). Holm's family is what is compared.",
)
def compare(scores: tuple[Path, ...], measures: str | None) -> None:
    """Compare score files pairwise.

    Prints paired differences with 95 % intervals, p-values (t-test; permutation test, with Holm
    over the measures), and the smallest difference that 80 % power would find. Measures of a cell
    that have the same values share a row; the placebo stays out of Holm's family. Scores whose
    signatures differ are refused, and the differing parts are named.
    """
    from citeforge.evaluator.compare import compare as find
    from citeforge.evaluator.compare import load_scores
    from citeforge.evaluator.table import render_differences
    from citeforge.schemas.errors import UsageError

    if len(scores) < 2:
        raise UsageError("name at least two score files")
    files = [load_scores(path) for path in scores]
    names = [name.strip() for name in (measures or "").split(",") if name.strip()]
    found = find(files, names)
    click.echo(render_differences(found))
    click.echo(f"signature of the first measure: {files[0].measures[0].signature}")
