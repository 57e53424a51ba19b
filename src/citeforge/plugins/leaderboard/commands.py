"""``citeforge leaderboard …``."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import click

from citeforge.cli.command import HeadedOption, NamedCommands, path_argument, path_option
from citeforge.cli.json_output import (
    headed_json_option,
    json_option,
    present,
    present_rehearsal,
)
from citeforge.cli.options import (
    add_options,
    field_options,
    group_options,
    largest_line_option,
    record_from,
    run_options,
)
from citeforge.cli.short_help import ManyOptions
from citeforge.engines.shown import show_amount
from citeforge.schemas.errors import FailuresError, UsageError
from citeforge.schemas.recipes.base import Part
from citeforge.schemas.recipes.groups import (
    DRY,
    ENDPOINTS,
    LOCAL,
    PROMPTS,
    QUESTIONS,
    RUNNER,
    VERDICTS,
)

_BUILT = "the site is built without these:"
_CHECKED = "the site would be built without these; nothing was changed:"


class SiteOptions(Part):
    """Options of ``leaderboard build``."""

    benchmark: Path | None = None
    """Package, for a site of one benchmark."""
    scores: Path | None = None
    """Folder of its score files (*.json), one per system."""
    boards: Path | None = None
    """leaderboard.yaml or its folder, in place of these: one benchmark or several."""
    out: Path | None = None
    """Folder of the site."""
    title: Annotated[str | None, PROMPTS] = None
    """Title of the pages of one benchmark."""
    gold: Annotated[Path | None, QUESTIONS] = None
    """Gold half of publish --hide-gold: scores made with it are shown, and no label."""


@click.group(cls=NamedCommands)
def leaderboard() -> None:
    """A static ranking and viewer of one benchmark or several: init, add, build."""


@leaderboard.command("build")
@add_options(field_options(SiteOptions))
@json_option
def build(**parameters: Any) -> None:
    """Build the site. It needs no server: open index.html.

    Of one benchmark: --benchmark, --scores and --out. Of several, with a matrix of all systems
    before their pages: --boards. A new system is one more file in a folder of score files.
    """
    from citeforge.engines.textfiles import count_text
    from citeforge.plugins.leaderboard.build import build_leaderboard, build_one
    from citeforge.plugins.leaderboard.pages import describe_site
    from citeforge.reports.notes import systems_text

    site = record_from(SiteOptions, parameters)
    if site.boards is not None:
        if site.benchmark or site.scores or site.title or site.gold:
            raise UsageError(
                "--boards: its file names benchmarks, scores, titles and gold; leave out "
                "--benchmark, --scores, --title and --gold",
                code="conflicting-options",
            )
        done, out, refused = build_leaderboard(site.boards, site.out)
    else:
        if site.benchmark is None or site.scores is None or site.out is None:
            raise UsageError(
                "give --benchmark, --scores and --out, or --boards leaderboard.yaml",
                code="missing-option",
            )
        out, refused = site.out, []
        done = build_one(site.benchmark, site.scores, out, site.title, site.gold)
    line = (
        f"{out / 'index.html'}: {systems_text(done.systems, done.controls)}, "
        f"{count_text(done.queries, 'query')}, "
        f"first page {show_amount(done.index_bytes / 1e3, 0)} kB"
    )
    present(describe_site(out, done, refused), partial(click.echo, line))
    _report_refused(refused)


@leaderboard.command("add", cls=ManyOptions)
@path_argument("submissions", nargs=-1)
@path_option("--boards", default=".", show_default=True, help="leaderboard.yaml, or its folder.")
@click.option("--board", help="Board that the submissions are for (default: see above).")
@click.option("--replace", is_flag=True, help="Replace a submission of the same file name.")
@click.option("--check", "only_check", is_flag=True, help="Only check; change nothing.")
@click.option(
    "--allow-judge-failures",
    is_flag=True,
    help="Accept scores of a judge that failed.",
    cls=HeadedOption,
    group=ENDPOINTS,
)
@group_options(VERDICTS, LOCAL, DRY, ENDPOINTS, RUNNER)
@largest_line_option
@headed_json_option
def add(
    submissions: tuple[Path, ...],
    boards: Path,
    board: str | None,
    replace: bool,
    only_check: bool,
    allow_judge_failures: bool,
    **parameters: Any,
) -> None:
    """Take submissions in: check them, score them, build the site again.

    A submission with errors is left out and named (exit code 3); the others go in. Without
    SUBMISSIONS: all files in the boards' folders. A file that lies there is for that board; for
    others the benchmark's hash in the header tells, or --board.
    """
    from citeforge.plugins.leaderboard.submit import add_submissions

    run = run_options(parameters)
    done = add_submissions(
        submissions,
        boards,
        board=board,
        replace=replace,
        only_check=only_check,
        allow_judge_failures=allow_judge_failures,
        run=run,
    )
    if run.dry_run:
        present_rehearsal()
        return
    present(done.to_result(), lambda: click.echo("\n".join(done.to_text_lines())))
    _report_refused(done.refused, only_check)


def _report_refused(refused: Sequence[str], is_check: bool = False) -> None:
    """Raise an error that lists the submissions and scores left out of a site, if there are any.

    Args:
        refused: a line for each.
        is_check: whether they were only checked, and no site is built.

    Raises:
        FailuresError: there are any.
    """
    if refused:
        raise FailuresError(
            "\n".join([_CHECKED if is_check else _BUILT, *refused]), code="counted-failures"
        )


@leaderboard.command("init")
@path_argument("folder")
@click.option(
    "--benchmark",
    "benchmarks",
    multiple=True,
    required=True,
    metavar="[NAME=]PACKAGE",
    help="Package or hub:ORG/NAME@REVISION, and the name of its folder; repeatable.",
)
@click.option(
    "--gold",
    multiple=True,
    metavar="[NAME=]HALF",
    help="Gold half of publish --hide-gold, also hub:; repeatable.",
)
@click.option("--title", help="Title of the pages.")
@click.option("--space", is_flag=True, help="Also write a Space that checks and scores answers.")
@click.option("--queue", metavar="ORG/NAME", help="Dataset for submissions made in the Space.")
def init(
    folder: Path,
    benchmarks: tuple[str, ...],
    gold: tuple[str, ...],
    title: str | None,
    space: bool,
    queue: str | None,
) -> None:
    """Write a repository for a leaderboard: leaderboard.yaml, folders, a GitHub workflow, a Space.

    Existing files are not touched. What to do next stands in submissions/README.md.
    """
    from citeforge.plugins.leaderboard.start import find_outside, start_leaderboard

    new, existing = start_leaderboard(folder, benchmarks, gold, title, space, queue)
    for name in new:
        click.echo(str(folder / name))
    for name in existing:
        click.echo(f"{folder / name} was there")
    for path in find_outside(folder):
        click.echo(
            f"warning: {path}: is outside of {folder}, where neither the workflow nor the Space "
            "nor participants find it; move it there, or publish it and name hub:ORG/NAME",
            err=True,
        )
    click.echo(f"next: citeforge leaderboard add ANSWERS.jsonl --boards {folder}")
