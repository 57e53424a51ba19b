"""``citeforge check SUBMISSION``."""

from pathlib import Path

import click

from citeforge.cli.options import benchmark_option
from citeforge.cli.path_options import path_argument
from citeforge.schemas.models.choices import FINDING, FORMATS, listed

_MOST_PRINTED = 50
"""Errors, and warnings, that are printed; the others are counted."""


@click.command()
@path_argument("submission")
@benchmark_option
@click.option("--context", help="Context set that lines without `context` answer.")
@click.option(
    "--format",
    "file_format",
    default="auto",
    show_default=True,
    help=f"auto, {listed(FORMATS)}. {FINDING}",
)
def check(submission: Path, benchmark: Path, context: str | None, file_format: str) -> None:
    """Check a submission; never changes it.

    Exit code 1 on errors (unreadable lines, wrong types, unknown or duplicate keys), 0 when there
    are only warnings (missing keys, marks that are not read or out of range, no benchmark hash,
    answers that are empty or were cut).
    """
    from citeforge.engines.io.textfiles import count_text
    from citeforge.evaluator.submissions.check import check as find
    from citeforge.library.benchmarks import load
    from citeforge.schemas.errors import InputError, UnknownValueError

    loaded = load(benchmark)
    if context is not None and context not in loaded.manifest.contexts:
        raise UnknownValueError("context", context, loaded.manifest.contexts)
    result = find(submission, loaded, context, file_format)
    for kind, findings in (("error", result.errors), ("warning", result.warnings)):
        for line, message in findings[:_MOST_PRINTED]:
            place = f"{submission}:{line}" if line is not None else f"{submission}"
            click.echo(f"{place}: {kind}: {message}")
        if (rest := len(findings) - _MOST_PRINTED) > 0:
            click.echo(f"… and {rest:,} more {kind}s")
    click.echo(result.summary())
    if result.errors:
        raise InputError(count_text(len(result.errors), "error"), path=submission)
