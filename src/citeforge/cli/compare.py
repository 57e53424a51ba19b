"""``citeforge compare A.json B.json``."""

from __future__ import annotations

import math
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
    from citeforge.schemas.errors import UsageError

    if len(scores) < 2:
        raise UsageError("name at least two score files")
    files = [load_scores(path) for path in scores]
    names = [name.strip() for name in (measures or "").split(",") if name.strip()]
    found = find(files, names)
    labels = [" = ".join([d.measure, *d.also]) for d in found]
    width = max(20, *map(len, labels))
    pair = None
    for label, d in zip(labels, found, strict=True):
        if (d.first, d.second) != pair:
            pair = (d.first, d.second)
            click.echo(f"{d.second} − {d.first}")
            click.echo(
                f"  {'measure':<{width}} {'difference':>10}  {'95 % interval':<20} {'p (t)':>7} "
                f"{'p (perm)':>8} {'Holm':>7} {'detectable':>10}  queries"
            )
        interval = "–" if math.isnan(d.low) else f"[{d.low:.2f}, {d.high:.2f}]"
        adjusted = "–" if math.isnan(d.p_holm) else f"{d.p_holm:.4f}"
        click.echo(
            f"  {label:<{width}} {d.difference:>+10.2f}  {interval:<20} {d.p_t:>7.4f} "
            f"{d.p_permutation:>8.4f} {adjusted:>7} {d.detectable:>10.2f}  {d.n:,}"
        )
    click.echo(f"signature of the first measure: {files[0].measures[0].signature}")
