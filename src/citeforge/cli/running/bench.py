"""``citeforge bench``."""

import shutil
from typing import Any

import click

from citeforge.cli.options import (
    benchmark_option,
    endpoint_options,
    model_options,
    run_options,
    verdicts_option,
)
from citeforge.cli.path_options import path_option
from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.cli.short_help import ManyOptions
from citeforge.schemas.commands.command_options import AmountOptions
from citeforge.schemas.models.choices import ANSWERING, JUDGES, listed
from citeforge.schemas.recipes.base import Judging


@click.command(cls=ManyOptions)
@benchmark_option
@click.option("--systems", required=True, help="Names, separated by commas.")
@click.option("--llm", help=f"What systems ask: {listed(ANSWERING)}.")
@path_option("--out", required=True, help="Folder to write.")
@click.option("--context", help="Context set (default: all that a system answers).")
@add_options(field_options(AmountOptions))
@click.option("--measures", help="Measures or families, with commas between.")
@click.option("--judge", "judge_name", help=f"{listed(JUDGES)}.")
@verdicts_option
@model_options
@endpoint_options
@click.option("--verbose", is_flag=True, help="Print all counts and signatures.")
def bench(**given: Any) -> None:
    """Run, score and compare several systems, and make a report.

    The folder gets SYSTEM.jsonl and SYSTEM.scores.json (of several context sets
    SYSTEM.CONTEXT.scores.json) of each system, report.html, and the answers of a served model in
    replay.db (--store), so that nothing is paid for twice. Each runs with its own defaults: for
    other options, use `run` and `score`. Before an LLM is asked, a line says how
    many calls the first round takes, with --price what they cost, and how many may follow.
    """
    from citeforge.cli.running.run import summary
    from citeforge.engines.setup import judge_session
    from citeforge.evaluator.reports.table import render_differences, render_scores
    from citeforge.library.systems import bench as make
    from citeforge.schemas.errors import FailuresError

    names = [n.strip() for n in given["systems"].split(",") if n.strip()]
    out = given["out"]
    out.mkdir(parents=True, exist_ok=True)
    if given["store"] is None:
        given["store"] = out / "replay.db"
    how = run_options(given, out=None)
    result = make(
        given["benchmark"],
        names,
        out,
        llm=given["llm"],
        measures=[m.strip() for m in (given["measures"] or "").split(",") if m.strip()],
        context=given["context"],
        runs=given["runs"],
        seed=given["seed"],
        limit=given["limit"],
        judge=judge_session(record_from(Judging, given | {"judge": given["judge_name"]}), how),
        endpoint=how,
        tell=lambda name, ran: click.echo(summary(out / f"{name}.jsonl", ran)),
    )
    width = shutil.get_terminal_size().columns
    click.echo(render_scores([s.file for s in result.scores], width, given["verbose"]))
    if result.differences:
        click.echo(render_differences(result.differences, width))
    click.echo(str(result.report))
    missing = sum(len(ran.failures) for ran in result.ran)
    if missing:
        raise FailuresError(f"{missing:,} answers are missing; run again to ask for them")
