"""``citeforge gate``: a decision, as an exit code."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from citeforge.cli.command import path_argument, path_option
from citeforge.cli.json_output import json_option, present
from citeforge.schemas.errors import CiteforgeError, ExitCode, GateError, extras_named

if TYPE_CHECKING:
    from citeforge.reports.gate import Decision
    from citeforge.reports.gate_plan import GatePlan

_ENDS = {
    "fail": (ExitCode.AT_FAULT, "gate-failed"),
    "not enough evidence": (ExitCode.EVIDENCE, "not-enough-evidence"),
    "could not run": (ExitCode.NOT_RUN, "no-baseline"),
}
"""Verdict that is not pass to the exit code and the error code of the command."""


class _ManyBaselines(click.Command):
    """Command whose ``--baseline`` takes several values: ``--baseline old/*.json``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat ``--baseline`` before each of its values, as click expects.

        ``--baseline a b`` becomes ``--baseline a --baseline b``.
        """
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
@path_argument("new", nargs=-1, metavar="NEW...")
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
@click.option(
    "--plan",
    is_flag=True,
    help="Decide nothing; say how many queries a gate needs, by the score files NEW (and by their "
    "differences from --baseline), or without any by assumed shares of changed answers.",
)
@click.option(
    "--margin", type=float, metavar="POINTS", help="Margin to --plan for (default: the policy's)."
)
@click.option(
    "--power",
    metavar="SHARE",
    help="How often the gate is to pass if nothing was lost, for --plan (default: 80%).",
)
@click.option(
    "--changed",
    metavar="SHARE[,SHARE]",
    help="Answers that a new version changes, for --plan (default: 2%,10%,50%).",
)
@json_option
def gate(
    plan: bool, margin: float | None, power: str | None, changed: str | None, **options: Any
) -> None:
    """Decide whether a new system may replace the baseline.

    NEW are score files, or a folder of them. Exit code 0: pass, it is shown that no critical
    measure fell by more than its margin. 1: fail, a measure fell, a required query failed or
    answers are missing. 4: not enough evidence; also for different signatures and a judge that
    failed. 5: the gate could not run: a file is missing, the policy is wrong, or there is no
    baseline yet; the written files then give the reason. In GitHub Actions the Markdown is added
    to the job's summary, and the verdict is the step's output `verdict`.
    """
    given = {"margin": margin, "power": power, "changed": changed}
    planning = {name: value for name, value in given.items() if value is not None}
    if plan:
        _plan(planning, **options)
        return
    if planning:
        raise click.UsageError(f"--{next(iter(planning))} needs --plan")
    if not options["new"]:
        raise click.UsageError("Missing argument 'NEW...'.")
    from citeforge.library.gates import gate as decide
    from citeforge.reports.gate_outputs import could_not_run, report_to_actions

    with _errors_as_not_run():
        try:
            with extras_named():
                result = decide(**options)
        except Exception as error:
            report_to_actions(could_not_run(error))
            raise
    report_to_actions(result)
    present(result, partial(_print_text, result))
    if result.verdict in _ENDS:
        exit_code, code = _ENDS[result.verdict]
        raise GateError(f"the gate says: {result.verdict}", exit_code, code=code)


@contextmanager
def _errors_as_not_run() -> Iterator[None]:
    """End the command with 5 on any error, whatever its own exit code."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, CiteforgeError):
            traceback.print_exc()
            raise SystemExit(int(ExitCode.NOT_RUN)) from error
        error.exit_code = ExitCode.NOT_RUN
        raise


def _plan(
    plan_options: dict[str, Any], new: Any, baseline: Any, policy: Any, out: Any, by: str
) -> None:
    """Print how many queries a gate needs for a decision; refuse ``--out`` and ``--by``.

    Args:
        plan_options: options of the plan: margin, power, share of changed answers.
        new: score files of any system.
        baseline: score files of a second one.
        policy: file of the policy; None for the default.
        out: refused.
        by: refused.
    """
    if out or by:
        raise click.UsageError(f"--plan has no {'--out' if out else '--by'}")
    from citeforge.library.gate_plans import gate_plan

    with _errors_as_not_run(), extras_named():
        result = gate_plan(new, baseline, policy=policy, **plan_options)
    present(result, partial(_print_text, result))


def _print_text(result: Decision | GatePlan) -> None:
    """Print a gate's decision, or its plan of queries needed, no wider than the terminal."""
    click.echo(result.text(get_terminal_size().columns))
