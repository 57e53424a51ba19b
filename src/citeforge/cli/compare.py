"""``citeforge compare A.json B.json``."""

from __future__ import annotations

import math
from pathlib import Path

import click


@click.command()
@click.argument("scores", type=click.Path(path_type=Path), nargs=-1, required=True)
def compare(scores: tuple[Path, ...]) -> None:
    """Compare score files pairwise.

    Prints paired differences with 95 % intervals, p-values (t-test; permutation test, with Holm
    over the measures), and the smallest difference that 80 % power would find. Scores whose
    signatures differ are refused, and the differing parts are named.
    """
    from citeforge.evaluator.compare import compare as find
    from citeforge.evaluator.compare import load_scores
    from citeforge.schemas.errors import UsageError

    if len(scores) < 2:
        raise UsageError("name at least two score files")
    files = [load_scores(path) for path in scores]
    pair = None
    for d in find(files):
        if (d.first, d.second) != pair:
            pair = (d.first, d.second)
            click.echo(f"{d.second} − {d.first}")
            click.echo(
                f"  {'measure':<20} {'difference':>10}  {'95 % interval':<20} {'p (t)':>7} "
                f"{'p (perm)':>8} {'Holm':>7} {'detectable':>10}  queries"
            )
        interval = "–" if math.isnan(d.low) else f"[{d.low:.2f}, {d.high:.2f}]"
        click.echo(
            f"  {d.measure:<20} {d.difference:>+10.2f}  {interval:<20} {d.p_t:>7.4f} "
            f"{d.p_permutation:>8.4f} {d.p_holm:>7.4f} {d.detectable:>10.2f}  {d.n:,}"
        )
    click.echo(f"signature of the first measure: {files[0].measures[0].signature}")
