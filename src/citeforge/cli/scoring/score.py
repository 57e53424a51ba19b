"""``citeforge score SUBMISSION…``."""

import shutil
from pathlib import Path
from typing import Any

import click

from citeforge.cli.options import (
    benchmark_option,
    endpoint_options,
    model_options,
    run_options,
    verdicts_option,
)
from citeforge.cli.path_options import path_argument, path_option
from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.cli.short_help import ManyOptions
from citeforge.schemas.commands.command_options import JudgeOptions, ScoreOptions

_FIRST = ("context", "protocol", "measures", "file_format", "judge", "llm")
_THEN = [n for n in ScoreOptions.model_fields if n not in (*_FIRST, *JudgeOptions.model_fields)]


@click.command(cls=ManyOptions)
@path_argument("submissions", nargs=-1, required=True)
@benchmark_option
@click.option(
    "--name",
    "names",
    multiple=True,
    help="Name of the system (default: the submission's, else the file's); one a submission.",
)
@path_option("--gold", help="Gold half of publish --hide-gold, also hub:.")
@add_options(field_options(ScoreOptions, _FIRST))
@verdicts_option
@add_options(field_options(ScoreOptions, _THEN))
@click.option("--allow-judge-failures", is_flag=True, help="Exit with 0 in spite of failures.")
@model_options
@endpoint_options
@path_option(
    "--out",
    help="Score file; a folder for several submissions, or if the name has no ending. Several "
    "context sets get a file each, NAME.CONTEXT.json.",
)
@click.option(
    "--private",
    is_flag=True,
    help="With hidden gold: write what single queries score; no site takes the file.",
)
@click.option("--dry-run", is_flag=True, help="Say what the judge would be asked, at most.")
@click.option("--verbose", is_flag=True, help="Print all measures, counts and signatures.")
def score(
    submissions: tuple[Path, ...],
    benchmark: Path,
    names: tuple[str, ...],
    gold: Path | None,
    out: Path | None,
    private: bool,
    dry_run: bool,
    verbose: bool,
    allow_judge_failures: bool,
    **given: Any,
) -> None:
    """Score submissions against a package.

    Prints one table with 95 % intervals, what is missing or could not be read, and the signature
    of the scores. Absent answers score the worst value.
    """
    from citeforge.evaluator.reports.table import render_scores
    from citeforge.library.scores import plan_scores, score_files
    from citeforge.schemas.errors import FailuresError

    options = record_from(ScoreOptions, given)
    if dry_run:
        plan = plan_scores(submissions, benchmark, options, gold=gold, run=run_options(given))
        click.echo("\n".join(plan.lines()))
        return
    scored = score_files(
        submissions,
        benchmark,
        options,
        names=names,
        gold=gold,
        out=out,
        private=private,
        run=run_options(given),
    )
    files = [scores.file for scores in scored.scores]
    leading = () if verbose else scored.headline
    click.echo(render_scores(files, shutil.get_terminal_size().columns, verbose, leading))
    for file in files:
        for text in file.warnings:
            click.echo(f"warning: {file.submission}: {text}", err=True)
    session = scored.judge
    if session is not None and not session.judge.comparable:
        click.echo(f"judged by {session.judge.signature}: not comparable with published numbers")
    if session is not None and session.n_failed and not allow_judge_failures:
        raise FailuresError(f"the judge failed on {session.n_failed:,} pairs; bounds are given")
