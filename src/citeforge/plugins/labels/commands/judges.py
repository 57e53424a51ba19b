"""``citeforge labels calibrate`` and ``judge``."""

from pathlib import Path
from typing import Any

import click

from citeforge.cli.command import PATH, path_argument, path_option
from citeforge.cli.options import (
    add_options,
    endpoint_options,
    field_options,
    model_options,
    record_from,
    run_options,
    verdicts_option,
)
from citeforge.cli.short_help import ManyOptions
from citeforge.schemas.commands.command_options import JudgeOptions

LABEL_FORMATS = ("auto", "annotations", "expertqa", "alce", "claims")
"""Formats of files of labels; ``auto`` looks."""
labels_options = add_options([
    click.Option(
        ["--labels"], type=PATH, multiple=True,
        help="Of labels import or ALCE's human evaluation (with --scores), in ExpertQA's layout, "
        "or claims with references; repeatable.",
    ),
    click.Option(
        ["--format", "label_format"], type=click.Choice(LABEL_FORMATS), default="auto",
        show_default=True, help="Of the labels; auto looks.",
    ),
    click.Option(
        ["--scores"], type=PATH, multiple=True,
        help="Score files (--details) that the labels are about.",
    ),
])  # fmt: skip
"""Files of labels, and what they are about."""


@click.command(cls=ManyOptions)
@path_argument("benchmark")
@labels_options
@add_options(field_options(JudgeOptions, ("judge",), required=("judge",)))
@verdicts_option
@model_options
@endpoint_options
def calibrate(
    benchmark: Path,
    labels: tuple[Path, ...],
    scores: tuple[Path, ...],
    label_format: str,
    **given: Any,
) -> None:
    """Measure a judge's errors, and keep them in a package.

    `score` with this judge then corrects shares of verdicts by them (Rogan–Gladen), and says so.
    """
    from citeforge.plugins.labels.correction import calibration
    from citeforge.plugins.labels.judging import require_judge
    from citeforge.plugins.labels.pairs import labelled_pairs
    from citeforge.plugins.labels.tables import render_calibration
    from citeforge.schemas.errors import UsageError

    if not labels:
        raise UsageError("needs --labels FILE")
    rows = labelled_pairs(labels, scores, label_format)
    session = require_judge(record_from(JudgeOptions, given), run_options(given))
    result = calibration.calibrate(rows.pairs, session, labels[0])
    calibration.write_calibration(benchmark, result)
    click.echo(render_calibration(result))
    for line in rows.lines():
        click.echo(line)
    click.echo(f"{benchmark}: kept in stats.json; tables and benchmark hash are as they were")


@click.command(cls=ManyOptions)
@path_argument("pairs")
@add_options(field_options(JudgeOptions, ("judge",), required=("judge",)))
@path_option("--out", help="Verdicts as JSON Lines.")
@verdicts_option
@click.option("--dry-run", is_flag=True, help="Say what would be asked.")
@click.option("--allow-judge-failures", is_flag=True, help="Exit with 0 in spite of failures.")
@model_options
@endpoint_options
def judge(
    pairs: Path, out: Path | None, dry_run: bool, allow_judge_failures: bool, **given: Any
) -> None:
    """Judge whether premises entail hypotheses.

    PAIRS is JSON Lines of {"premise", "hypothesis"}. What is written can be read back as
    table:FILE. With --verdicts no pair is asked twice, in any command.
    """
    from citeforge.plugins.labels.judging import judge_pairs, plan_pairs
    from citeforge.schemas.errors import FailuresError, UsageError

    judging, run = record_from(JudgeOptions, given), run_options(given)
    if dry_run:
        click.echo("\n".join(plan_pairs(pairs, judging, run).lines()))
        return
    if out is None:
        raise UsageError("give --out FILE, or --dry-run")
    counts = judge_pairs(pairs, judging, run, out)
    session = counts.session
    click.echo(
        f"{out}: {counts.pairs:,} pairs, {counts.entailed:,} entailed; {session.n_asked:,} asked, "
        f"{session.n_stored:,} stored, {session.n_truncated:,} premises cut, "
        f"{session.n_failed:,} failed; judge {session.judge.signature}"
    )
    if not session.judge.comparable:
        click.echo("this judge's verdicts are not comparable with published numbers")
    if session.n_failed and not allow_judge_failures:
        raise FailuresError(f"the judge failed on {session.n_failed:,} pairs")
