"""``citeforge labels judge PAIRS``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from citeforge.cli.options import endpoint_options, model_options, run_options, verdicts_option
from citeforge.cli.path_options import path_argument, path_option
from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.cli.short_help import ManyOptions
from citeforge.schemas.commands.command_options import JudgeOptions


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
