"""``citeforge compare A.json B.json``."""

from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import click

from citeforge.cli.path_options import path_argument, path_option
from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.schemas.commands.command_options import CompareOptions


@click.command()
@path_argument("scores", nargs=-1, required=True)
@add_options(field_options(CompareOptions))
@path_option(
    "--out", help="File to write: .html, .md, .tex, .csv or .json (default: tables on stdout)."
)
def compare(scores: tuple[Path, ...], out: Path | None, **given: Any) -> None:
    """Compare score files pairwise, or all with one baseline.

    Prints paired differences with 95 % intervals, p-values (t-test; permutation test, with Holm
    over all pairs and measures), and the smallest difference that 80 % power would find. Measures
    of a cell that have the same values share a row; the placebo stays out of Holm's family. Pairs
    whose signatures differ are left out, with the differing parts, and the exit code is 3.
    """
    from citeforge.evaluator.reports.comparisons import compare_files
    from citeforge.evaluator.reports.table import folded_note, render_differences
    from citeforge.evaluator.statistics.compare import load_scores
    from citeforge.schemas.errors import FailuresError

    options = record_from(CompareOptions, given)
    comparison = compare_files([load_scores(path) for path in scores], options, out)
    if out is None:
        width = get_terminal_size().columns
        click.echo(render_differences(comparison.differences, width))
        signature = f"signature of the first measure: {comparison.differences[0].signature}"
        for note in (*comparison.cautions, signature):
            click.echo("\n".join(folded_note(note, width)))
    else:
        click.echo(f"{out}: {len(comparison.differences):,} differences")
    if comparison.left_out:
        for line in comparison.left_out:
            click.echo(f"not compared: {line}", err=True)
        raise FailuresError(f"{len(comparison.left_out):,} pairs were not compared")
