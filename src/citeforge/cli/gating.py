"""``citeforge gate``: a decision, as an exit code."""

from shutil import get_terminal_size
from typing import Any

import click

from citeforge.cli.command import path_argument, path_option


class _ManyBaselines(click.Command):
    """Command whose ``--baseline`` takes several values: ``--baseline old/*.json``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat ``--baseline`` before each of its values, as click expects."""
        named: list[str] = []
        inside = False
        for word in args:
            if word.startswith("-"):
                inside = word == "--baseline"
                named += [] if inside else [word]
            else:
                named += ["--baseline", word] if inside else [word]
        return super().parse_args(ctx, [*named, *["--baseline"] * args[-1:].count("--baseline")])


@click.command(cls=_ManyBaselines)
@path_argument("new", nargs=-1, required=True, metavar="NEW...")
@path_option(
    "--baseline",
    multiple=True,
    metavar="OLD...",
    help="Score files of the system to compare with, or a folder of them. Without any the verdict "
    "is never pass.",
)
@path_option(
    "--policy",
    help="YAML file with measures, margins and bounds (docs/gate.md; default: the main measure, "
    "at most 3 points or 20% less).",
)
@path_option(
    "--out",
    multiple=True,
    help="File to write, beside the text on stdout: .xml (JUnit), .md or .json; repeatable.",
)
@click.option(
    "--by",
    metavar="FIELD[,FIELD]",
    default="",
    help="Fields by which the files were scored (score --by): no slice may be shown to fall.",
)
def gate(**options: Any) -> None:
    """Decide whether a new system may replace the baseline.

    NEW are score files, or a folder of them. Exit code 0: pass, it is shown that no critical
    measure fell by more than its margin. 1: fail, a measure fell, a required query failed or
    answers are missing; also for wrong input. 4: not enough evidence; also for a first run,
    different signatures and a judge that failed. In GitHub Actions the Markdown is added to the
    job's summary.
    """
    from citeforge.evaluator.gate_outputs import add_to_summary, to_text
    from citeforge.evaluator.gate_rows import FAIL, OPEN
    from citeforge.library.gates import gate as decide
    from citeforge.schemas.errors import EvidenceError, GateError

    result = decide(**options)
    add_to_summary(result)
    click.echo(to_text(result, get_terminal_size().columns))
    if result.verdict == FAIL:
        raise GateError(f"the gate says: {FAIL}", code="gate-failed")
    if result.verdict == OPEN:
        raise EvidenceError(f"the gate says: {OPEN}", code="not-enough-evidence")
