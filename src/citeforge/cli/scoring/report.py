"""``citeforge report SCORES…``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from citeforge.cli.path_options import path_argument, path_option
from citeforge.cli.record_options import OneOf, add_options, field_options, record_from
from citeforge.cli.terminal import write_data
from citeforge.schemas.commands.command_options import TableOptions


@click.command()
@path_argument("scores", nargs=-1, required=True)
@path_option("--out", help="File to write (default: stdout).")
@click.option(
    "--format",
    "kind",
    type=OneOf(["html", "md", "json", "csv", "latex", "svg", "png", "pdf"]),
    help="Default: by the ending of --out; md on stdout.",
)
@click.option("--title", help="Title of the report.")
@click.option(
    "--one-file",
    is_flag=True,
    help="Keep all data in the page (default: those of many answers lie in a folder beside it).",
)
@click.option(
    "--plot",
    "plot_name",
    help="Of a file that is a plot: intervals (default), precision-recall, cost, corrected, "
    "calibration, bias, negatives (with --benchmark), or one of a plugin; a wrong name lists all.",
)
@add_options(field_options(TableOptions))
@path_option(
    "--benchmark",
    help="Tell what its audit found among the negatives (pages, md, --plot negatives).",
)
@click.option(
    "--robustness",
    is_flag=True,
    help="Of several score files a system (protocols, judges): how each definition of citation "
    "quality ranks the systems, and where they disagree. Any format; nobody is asked.",
)
@click.option("--measure", help="What a plot shows (default: the main measure of the files).")
def report(
    scores: tuple[Path, ...],
    out: Path | None,
    kind: str | None,
    title: str | None,
    one_file: bool,
    plot_name: str | None,
    benchmark: Path | None,
    measure: str | None,
    robustness: bool,
    **given: Any,
) -> None:
    """Make a report of score files: a page, a table (md, tex, csv), or a plot (svg, png, pdf).

    The HTML report is one file that needs no network. It shows answers when the scores were made
    with --details.
    """
    from citeforge.evaluator.reports.plots.drawing import start_drawing
    from citeforge.evaluator.reports.plots.files import DRAWN, format_of
    from citeforge.schemas.errors import UsageError

    chosen = kind or format_of(out)
    if robustness:
        if plot_name is not None:
            raise UsageError("--robustness and --plot are two reports; write two files")
        plot_name = "robustness"
    if out is None and chosen in DRAWN:
        raise UsageError(f"--format {chosen}: name a file with --out")
    if chosen == "html" or chosen in DRAWN:
        start_drawing()  # while the other modules load
    from citeforge.engines.io.files import write_bytes
    from citeforge.evaluator.reports.audited import audit_for
    from citeforge.evaluator.reports.report import rendered, write_page
    from citeforge.evaluator.statistics.compare import load_scores

    files = [load_scores(path) for path in scores]
    table = record_from(TableOptions, given)
    audit = None if benchmark is None else audit_for(benchmark, files)
    if chosen == "html" and out is not None and table.is_plain and not (plot_name or measure):
        beside = write_page(out, files, title, one_file, audit, table.across)
        told = f", and {beside:,} files in {out.with_suffix('.data')}" if beside else ""
        click.echo(f"{out}: {out.stat().st_size / 1e3:,.0f} kB{told}")
        return
    content = rendered(files, chosen, title, plot_name, measure, table, audit)
    if out is None:
        write_data(content.decode())
        return
    write_bytes(out, content)
    click.echo(f"{out}: {len(content) / 1e3:,.0f} kB")
