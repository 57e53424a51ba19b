"""``citeforge reproduce``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citeforge.cli.command import path_option
from citeforge.cli.json_output import present_rehearsal
from citeforge.cli.options import (
    add_options,
    field_options,
    judging_options,
    record_from,
    run_options,
)
from citeforge.cli.short_help import ManyOptions
from citeforge.schemas.recipes.command_options import JudgeOptions

if TYPE_CHECKING:
    from citeforge.plugins.reproduce.declared import PublishedTable


@click.command(cls=ManyOptions)
@click.argument("names", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Reproduce every table that --list names.")
@click.option("--list", "only_list", is_flag=True, help="Name the tables, and compute nothing.")
@path_option(
    "--data",
    help="Folder with checkouts, OWNER/NAME, in place of the network (default: fetch files by "
    "commit, once).",
)
@add_options(field_options(JudgeOptions, ("judge",)))
@click.option("--models", is_flag=True, help="Load other models that numbers need (BERTScore).")
@path_option("--out", help="Write all numbers with the reasons of differences: .html, .md, .json.")
@judging_options
def reproduce(
    names: tuple[str, ...],
    every: bool,
    only_list: bool,
    data: Path | None,
    models: bool,
    out: Path | None,
    **parameters: Any,
) -> None:
    """Compute published tables again from published outputs.

    NAMES are tables of --list, or declarations of your own (FILE.yaml). Each printed number stands
    beside ours: equal to the printed digits, explained, not explained, or needing a model that is
    not here. The exit code is 3 where a number is not explained.
    """
    from citeforge.plugins.reproduce.declared import find_table, published_tables
    from citeforge.schemas.errors import UsageError

    tables = list(published_tables())
    if only_list:
        _print_tables([find_table(name) for name in names or tables])
        return
    if every == bool(names):
        raise UsageError(
            "name tables (citeforge reproduce --list), or give --all", code="missing-option"
        )
    from citeforge.engines.files import require_writable
    from citeforge.engines.running.setup import judge_session
    from citeforge.plugins.reproduce.pages import (
        format_summary,
        format_table,
        require_format,
        write_result,
    )
    from citeforge.plugins.reproduce.run import reproduce_tables
    from citeforge.schemas.errors import FailuresError

    if out is not None:
        require_format(out)
        require_writable(out)
    run = run_options(parameters)
    judge = judge_session(record_from(JudgeOptions, parameters), run)
    if run.dry_run and judge is None:
        raise UsageError("--dry-run requires --judge", code="missing-option")
    is_dry = judge is not None and judge.only_plans
    compared = reproduce_tables(
        names, data=data, judge=judge, models=models,
        on_table=lambda table: None if is_dry else click.echo("\n".join(format_table(table))),
    )  # fmt: skip
    if run.dry_run:
        present_rehearsal(judge)
        return
    if out is not None:
        write_result(compared, out)
    click.echo(format_summary(compared))
    if n_open := sum(table.count("not explained") for table in compared):
        raise FailuresError(
            f"{n_open:,} printed numbers differ, and no reason is known", code="counted-failures"
        )


def _print_tables(tables: Sequence["PublishedTable"]) -> None:
    """Print a line per published table: name, number of printed numbers, title and paper."""
    width = max(len(table.name) for table in tables)
    for table in tables:
        paper = table.paper
        click.echo(
            f"{table.name:<{width}}  {table.n_cells:>4} numbers  {table.title} "
            f"({paper.venue}, {paper.table}); {table.repository.name}"
        )
    click.echo(f"{sum(t.n_cells for t in tables):,} printed numbers in {len(tables)} tables")
