"""Commands that check, score, compare and report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from citeforge.cli.command import HeadedOption, path_argument, path_option
from citeforge.cli.json_output import headed_json_option, json_option, present, present_rehearsal
from citeforge.cli.options import (
    OneOf,
    add_options,
    benchmark_option,
    endpoint_options,
    field_options,
    largest_line_option,
    model_options,
    names_option,
    record_from,
    run_options,
    verdicts_option,
)
from citeforge.cli.short_help import ManyOptions
from citeforge.cli.terminal import write_data
from citeforge.schemas.recipes.command_options import (
    CompareOptions,
    JudgeOptions,
    ReportOptions,
    ScoreOptions,
)
from citeforge.schemas.recipes.groups import ENDPOINTS, MEASURES, TRACKERS

if TYPE_CHECKING:
    from citeforge.evaluator.check import Findings
    from citeforge.reports.comparison import ComparisonReport
    from citeforge.schemas.package_changes import PackageChanges
    from citeforge.schemas.scores import ScoreFile


@click.command()
@path_argument("submission")
@benchmark_option
@click.option(
    "--context",
    help="Context set that lines without `context` answer; `none` for closed-book systems.",
)
@add_options(field_options(ScoreOptions, ("file_format",)))
@click.option("--verbose", is_flag=True, help="Print every finding, not one line per kind.")
@json_option
@largest_line_option
def check(submission: Path, verbose: bool, **options: Any) -> None:
    """Check a submission; never changes it.

    Exit code 1 on errors (unreadable lines, wrong types, unknown or duplicate keys, another
    benchmark or context set), 0 when there are only warnings (missing keys, marks that are not read
    or out of range, no benchmark hash, answers that are empty, all the same, or cut).
    """
    from citeforge.engines.textfiles import count_text
    from citeforge.library.checks import check as find
    from citeforge.schemas.errors import InputError

    result = find(submission, **options)
    present(result, partial(_print_findings, result, submission, verbose))
    if result.errors:
        raise InputError(
            count_text(len(result.errors), "error"), path=submission, code="faulty-submission"
        )


def _print_findings(result: Findings, submission: Path, one_by_one: bool) -> None:
    """Print a check's errors and warnings, ``one_by_one`` or a line per kind, and their number.

    Args:
        result: of the check.
        submission: file that was checked.
        one_by_one: print a line per finding, not per kind.
    """
    from citeforge.evaluator.submissions.finding import describe

    for severity, findings in (("error", result.errors), ("warning", result.warnings)):
        for line in describe(findings, severity, submission, one_by_one):
            click.echo(line)
    click.echo(result.summary())


_MAIN_OPTIONS = ("context", "protocol", "measures", "file_format", "judge", "llm")
_OTHER_OPTIONS = [
    n for n in ScoreOptions.model_fields if n not in (*_MAIN_OPTIONS, *JudgeOptions.model_fields)
]


@click.command(cls=ManyOptions)
@path_argument("submissions", nargs=-1, required=True)
@benchmark_option
@click.option(
    "--name",
    "names",
    multiple=True,
    help="System's name (default: the submission's, else the file's); repeat once per submission.",
)
@path_option(
    "--gold",
    help="Gold half of publish --hide-gold, also hub:.",
    cls=HeadedOption,
    group=MEASURES,
)
@add_options(field_options(ScoreOptions, _MAIN_OPTIONS))
@verdicts_option
@add_options(field_options(ScoreOptions, _OTHER_OPTIONS))
@click.option(
    "--allow-judge-failures",
    is_flag=True,
    help="Exit with 0 in spite of failures.",
    cls=HeadedOption,
    group=ENDPOINTS,
)
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
    cls=HeadedOption,
    group=MEASURES,
    help="With hidden gold: write what single queries score; no site takes the file.",
)
@names_option(
    "--log",
    sort="trackers",
    group=TRACKERS,
    multiple=True,
    help="Log the scores as runs, with a report: {trackers}; repeatable.",
)
@click.option("--verbose", is_flag=True, help="Print all measures, counts and signatures.")
@headed_json_option
def score(
    submissions: tuple[Path, ...], benchmark: Path, gold: Path | None, names: tuple[str, ...],
    out: Path | None, private: bool, verbose: bool, allow_judge_failures: bool,
    log: tuple[str, ...], **parameters: Any,
) -> None:  # fmt: skip
    """Score submissions against a package.

    Prints one table with 95 % intervals, what is missing or could not be read, and the signature
    of the scores. Absent answers score the worst value.
    """
    from citeforge.engines.textfiles import count_text
    from citeforge.evaluator.withhold import describe_failures, withhold_scores
    from citeforge.library.scores import plan_scores, score_files
    from citeforge.publishing.tracking import find_trackers, log_files
    from citeforge.schemas.errors import FailuresError, UsageError

    if private and log:
        raise UsageError(
            "--log: scores that are for the owner alone are not logged; leave out --private",
            code="conflicting-options",
        )
    trackers = find_trackers(log)
    options, run = record_from(ScoreOptions, parameters), run_options(parameters)
    if run.dry_run:
        present_rehearsal(plan_scores(submissions, benchmark, options, gold=gold, run=run))
        return
    scored = score_files(
        submissions, benchmark, options, names=names, gold=gold, out=out, private=private, run=run
    )
    files = [s.file if private else withhold_scores(s.file) for s in scored.scores]
    present(files, partial(_print_scores, files, verbose, scored.headline))
    found = [(f.submission, text) for f in files for text in (*f.warnings, *f.private_warnings)]
    for name, text in dict.fromkeys(found):  # context sets of one file have warnings in common
        click.echo(f"warning: {name}: {text}", err=True)
    logged = log_files(files, trackers)
    for entry in logged:
        state = f"not logged: {entry.failure}" if entry.failure else f"logged as {entry.place}"
        click.echo(f"{entry.tracker}: {entry.run}: {state}", err=True)
    session, is_withheld = scored.judge, any(file.gold == "withheld" for file in files)
    if session is not None and session.n_failed and not allow_judge_failures:
        raise FailuresError(
            describe_failures(session.n_failed, files)
            + ("" if is_withheld else f"; bounds are given; the first: {session.first_failure}"),
            code="counted-failures",
        )
    n_failed = sum(file.counts.n_judge_failed for file in files)
    if n_failed and not allow_judge_failures:
        raise FailuresError(
            f"the LLM failed on {count_text(n_failed, 'question')}, left out (see the warning)",
            code="counted-failures",
        )
    if n_lost := sum(bool(entry.failure) for entry in logged):
        raise FailuresError(
            f"{n_lost:,} of {len(logged):,} runs were not logged (see above); no score is lost: "
            "log a score file later by citeforge.log_scores(FILE, TRACKER) in Python",
            code="not-logged",
        )


def _print_scores(files: list[ScoreFile], verbose: bool, headline: Sequence[str]) -> None:
    """Print scores (of ``headline`` measures unless ``verbose``) with notes and signatures.

    Args:
        files: score files.
        verbose: whether to print all measures, not only the headline.
        headline: measures that sum up a benchmark of its kind.
    """
    from citeforge.reports.terminal import render_scores

    width = get_terminal_size().columns
    click.echo(render_scores(files, width, verbose, () if verbose else headline))


@click.command()
@path_argument("scores", nargs=-1, required=True)
@add_options(field_options(CompareOptions))
@path_option("--submission", help="With two packages: answers to the old one.")
@path_option("--kept", help="Of --submission: file for the answers that are still valid.")
@path_option(
    "--out", help="File to write: .html, .md, .tex, .csv or .json (default: tables on stdout)."
)
@json_option
def compare(
    scores: tuple[Path, ...], out: Path | None, submission: Path | None, kept: Path | None,
    **parameters: Any,
) -> None:  # fmt: skip
    """Compare score files pairwise, or all with one baseline; or two packages.

    Prints paired differences with 95 % intervals, p-values (t-test; permutation test, with Holm
    over all pairs and measures), and the smallest difference that 80 % power would find. Measures
    of a cell that have the same values share a row; the placebo stays out of Holm's family. Pairs
    whose signatures differ are left out, with the differing parts, and the exit code is 3.

    Of two packages (folders or hub: names, the old one first) it prints which passages, judgements,
    queries, contexts and settings differ. --submission adds the queries whose answers are to what
    both packages show, byte for byte, and --kept writes these answers for the new package.
    """
    from citeforge.engines.textfiles import count_text
    from citeforge.library.package_changes import are_packages
    from citeforge.library.scores import get_score_file, list_scores
    from citeforge.reports.pages.formats import compare_files
    from citeforge.schemas.errors import FailuresError, UsageError

    if are_packages(scores):
        given = [n for n, value in parameters.items() if value]
        if given:
            raise UsageError(
                f"--{given[0]} is for score files, not for packages", code="option-without-effect"
            )
        _compare_packages(scores[0], scores[1], submission, kept, out)
        return
    if submission is not None or kept is not None:
        raise UsageError(
            "--submission and --kept are for two packages, not for score files",
            code="option-without-effect",
        )
    options = record_from(CompareOptions, parameters)
    comparison = compare_files([*map(get_score_file, list_scores(scores))], options, out)
    present(comparison, partial(_print_comparison, comparison, out))
    if comparison.left_out:
        for line in comparison.left_out:
            click.echo(f"not compared: {line}", err=True)
        raise FailuresError(
            f"not compared: {count_text(len(comparison.left_out), 'pair')}", code="counted-failures"
        )


def _print_comparison(comparison: ComparisonReport, out: Path | None) -> None:
    """Print the tables of a comparison, or how many differences were written to a file."""
    from citeforge.engines.textfiles import count_text
    from citeforge.reports.terminal import render_comparison

    if out is not None:
        click.echo(f"{out}: {count_text(len(comparison.differences), 'difference')}")
        return
    notes, width = [*comparison.scope, *comparison.cautions], get_terminal_size().columns
    click.echo(render_comparison(comparison.differences, notes, comparison.signatures, width))


def _compare_packages(
    old: Path, new: Path, submission: Path | None, kept: Path | None, out: Path | None
) -> None:
    """Compare two packages; print or write the differences, and keep answers still valid."""
    from citeforge.library.package_changes import compare_packages
    from citeforge.schemas.errors import InputError

    changes = compare_packages(old, new, submission=submission, kept=kept, out=out)
    present(changes, partial(_print_changes, changes, new, out))
    if kept is not None and not changes.kept:
        raise InputError(
            f"has no answer to what {new} shows, so {kept} is not written", path=submission,
            allowed="run the system again on the new package", code="no-answers",
        )  # fmt: skip


def _print_changes(changes: PackageChanges, new: Path, out: Path | None) -> None:
    """Print packages' differences (counts if ``out`` has them), and how to score kept answers."""
    from citeforge.reports.package_changes import render_changes

    if out is None:
        click.echo(render_changes(changes, get_terminal_size().columns))
    else:
        n_differing = sum(not part.is_equal for part in (*changes.tables, *changes.contexts))
        click.echo(f"{out}: {n_differing:,} tables and context sets differ")
        for part in changes.answers:
            n_valid = f"{len(part.as_shown):,} of {part.n_answered:,}"
            click.echo(f"{out}: {part.context}: {n_valid} answers are still valid")
    for file in changes.kept:
        click.echo(f"{file}: next: citeforge score {file} --benchmark {new} --only-answered")


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
def report(scores: tuple[Path, ...], out: Path | None, kind: str | None, **parameters: Any) -> None:
    """Make a report of score files: a page, a table (md, tex, csv), or a plot (svg, png, pdf).

    The HTML report is one file that needs no network. It shows answers when the scores were made
    with --details.
    """
    from citeforge.library.benchmarks import package_folder
    from citeforge.library.scores import get_score_file, list_scores
    from citeforge.reports.pages.formats import find_report_format, make_report

    form, files = kind or find_report_format(out), [*map(get_score_file, list_scores(scores))]
    if (benchmark := parameters["benchmark"]) is not None:
        parameters["benchmark"] = package_folder(benchmark)
    content, n_beside = make_report(files, form, out, record_from(ReportOptions, parameters))
    if out is None:
        write_data(content.decode())
        return
    note = f", and {n_beside:,} files in {out.with_suffix('.data')}" if n_beside else ""
    click.echo(f"{out}: {-(-len(content) // 1000):,} kB{note}")
