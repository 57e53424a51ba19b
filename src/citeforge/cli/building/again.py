"""``citeforge build --from`` and ``--print-recipe``: recipes of packages that exist."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from citeforge.cli.path_options import path_argument, path_option
from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.cli.short_help import ManyOptions
from citeforge.schemas.recipes.run import RunOptions

FROM, PRINT = "--from", "--print-recipe"
_RUN = [n for n in RunOptions.model_fields if n not in ("out", "dry_run")]
trusting = click.option(
    "--trust",
    is_flag=True,
    help="Use the files, models and endpoints that the recipe names, without asking.",
)


def confirmation(trust: bool) -> Callable[[Sequence[str]], None]:
    """Prints what a recipe uses; asks on a terminal, and refuses without one.

    Args:
        trust: neither asks nor refuses.
    """

    def confirm(uses: Sequence[str]) -> None:
        from citeforge.builders.build import refuse

        click.echo("\n  ".join(["the recipe uses", *uses]), err=True)
        if trust or (sys.stdin.isatty() and click.confirm("Use all of these?", err=True)):
            return
        refuse(uses)

    return confirm


@click.command(FROM, cls=ManyOptions, short_help="Make a package again from its manifest alone.")
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
    from citeforge.builders.build import rebuild as make

    run = record_from(RunOptions, given)
    result = make(folder, run, inputs, confirmation(trust))
    click.echo(f"{folder}: benchmark hash {result.old.benchmark_hash}")
    click.echo(f"{run.folder}: benchmark hash {result.new.benchmark_hash}")
    if result.equal:
        click.echo("equal: every table is the same, byte for byte")
        return
    click.echo(f"{folder}: not equal: {', '.join(result.unlike)}", err=True)
    sys.exit(1)


@click.command(PRINT, short_help="Print a recipe file to start from.")
@click.argument("kind", required=False)
@path_option("--from", "folder", metavar="DIR", help="Print the recipe that this was made by.")
def print_recipe(kind: str | None, folder: Path | None) -> None:
    """Print a recipe file to start from, or with --from the one that a package was made by."""
    from citeforge.builders.recipes.changes import recipe_of
    from citeforge.builders.recipes.files import recipe_text
    from citeforge.package.kinds import recipe_named, recipes
    from citeforge.package.manifest import load_manifest
    from citeforge.schemas.errors import InputError, UnknownValueError, UsageError

    if (kind is None) == (folder is None):
        raise UsageError(f"{PRINT}: give a kind ({', '.join(recipes())}), or {FROM} DIR")
    if folder is None:
        default = recipe_named(str(kind))
        if default is None:
            raise UnknownValueError("kind", str(kind), recipes())
        click.echo(recipe_text(default), nl=False)
        return
    recipe = recipe_of(load_manifest(folder))
    if recipe is None:
        raise InputError("its manifest does not hold the choices of a build", path=folder)
    click.echo(recipe_text(recipe), nl=False)
