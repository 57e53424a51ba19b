"""``citeforge labels calibrate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from citeforge.cli.options import (
    endpoint_options,
    model_options,
    run_options,
    verdicts_option,
)
from citeforge.cli.path_options import path_argument, path_option
from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.cli.short_help import ManyOptions
from citeforge.plugins.labels.commands.label_options import labels_options
from citeforge.schemas.commands.command_options import JudgeOptions


@click.command(cls=ManyOptions)
@path_argument("benchmark")
@labels_options
@add_options(field_options(JudgeOptions, ("judge",), required=("judge",)))
@verdicts_option
@model_options
@endpoint_options
@path_option(
    "--out", help="What judge and people find in each system, as a plot (.svg, .png, .pdf) or .csv."
)
def calibrate(
    benchmark: Path,
    labels: tuple[Path, ...],
    scores: tuple[Path, ...],
    label_format: str,
    out: Path | None,
    **given: Any,
) -> None:
    """Measure a judge's errors, and keep them in a package.

    `score` with this judge then corrects shares of verdicts by them (Rogan–Gladen), and says so.
    """
    from citeforge.engines.setup import require_judge
    from citeforge.evaluator.reports.pages import find_pages
    from citeforge.plugins.labels.correction import calibration
    from citeforge.plugins.labels.pairs import labelled_pairs
    from citeforge.plugins.labels.tables import render_calibration
    from citeforge.schemas.errors import UsageError

    plot = None if out is None else find_pages().judge_plot(out)
    if not labels:
        raise UsageError("needs --labels FILE")
    rows = labelled_pairs(labels, scores, label_format)
    session = require_judge(record_from(JudgeOptions, given), run_options(given))
    result = calibration.calibrate(rows.pairs, session, labels[0])
    calibration.write_calibration(benchmark, result)
    click.echo(render_calibration(result))
    for line in rows.lines():
        click.echo(line)
    if plot is not None:
        plot(result.shares, result.judge)
        click.echo(f"{out}: {len(result.shares)} systems")
    click.echo(f"{benchmark}: kept in stats.json; tables and benchmark hash are as they were")
