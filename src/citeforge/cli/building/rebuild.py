"""``citeforge rebuild``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from citeforge.cli.consent import confirmation, trusting
from citeforge.cli.path_options import path_argument
from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.schemas.recipes.run import RunOptions

_RUN = [n for n in RunOptions.model_fields if n not in ("out", "dry_run")]


@click.command("rebuild")
@path_argument("folder", metavar="DIR")
@add_options(field_options(RunOptions, ("out",), ("out",)))
@click.option(
    "--source",
    "inputs",
    multiple=True,
    metavar="[FIELD=]VALUE",
    help="Where an input lies now, when it is not where it was; repeatable.",
)
@trusting
@add_options(field_options(RunOptions, _RUN))
def rebuild(folder: Path, inputs: tuple[str, ...], trust: bool, **given: Any) -> None:
    """Make a package again from its manifest alone; exit code 1 when its tables differ.

    Prints the files, models and endpoints that the manifest names, and asks whether to use them.
    """
    from citeforge.builders.recipes.rebuild import rebuild as make

    run = record_from(RunOptions, given)
    made = make(folder, run, inputs, confirmation(trust))
    click.echo(f"{folder}: benchmark hash {made.old.benchmark_hash}")
    click.echo(f"{run.folder}: benchmark hash {made.new.benchmark_hash}")
    if made.equal:
        click.echo("equal: every table is the same, byte for byte")
        return
    click.echo(f"{folder}: not equal: {', '.join(made.unlike)}", err=True)
    sys.exit(1)
