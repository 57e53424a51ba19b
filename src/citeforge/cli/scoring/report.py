"""``citeforge report SCORES…``."""

from pathlib import Path
from typing import Any

import click

from citeforge.cli.path_options import path_argument, path_option
from citeforge.cli.record_options import OneOf, add_options, field_options, record_from
from citeforge.cli.terminal import write_data
from citeforge.schemas.commands.command_options import ReportOptions


@click.command()
@path_argument("scores", nargs=-1, required=True)
@path_option("--out", help="File to write (default: stdout).")
@click.option(
    "--format",
    "kind",
    type=OneOf(["html", "md", "json", "csv", "latex", "svg", "png", "pdf"]),
    help="Default: by the ending of --out; md on stdout.",
)
@add_options(field_options(ReportOptions))
def report(scores: tuple[Path, ...], out: Path | None, kind: str | None, **given: Any) -> None:
    """Make a report of score files: a page, a table (md, tex, csv), or a plot (svg, png, pdf).

    The HTML report is one file that needs no network. It shows answers when the scores were made
    with --details.
    """
    from citeforge.evaluator.reports.report import format_of, make_report
    from citeforge.evaluator.statistics.compare import load_scores

    form, files = kind or format_of(out), [load_scores(path) for path in scores]
    content, n_beside = make_report(files, form, out, record_from(ReportOptions, given))
    if out is None:
        write_data(content.decode())
        return
    note = f", and {n_beside:,} files in {out.with_suffix('.data')}" if n_beside else ""
    click.echo(f"{out}: {len(content) / 1e3:,.0f} kB{note}")
