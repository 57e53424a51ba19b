"""``citeforge build …``: one command a recipe, its options generated from the record."""

from pathlib import Path
from typing import Any

import click

from citeforge.cli.building.again import (
    FROM,
    PRINT,
    confirmation,
    print_recipe,
    rebuild,
    trusting,
)
from citeforge.cli.building.demo import demo
from citeforge.cli.command import NamedCommands
from citeforge.cli.path_options import path_argument
from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.cli.short_help import ManyOptions
from citeforge.package.kinds import of_plugins, ours, recipe_named
from citeforge.schemas.recipes.base import Recipe
from citeforge.schemas.recipes.run import ALWAYS, RunOptions

FILE = "RECIPE.yaml"
_FROM_FILE = """Build by a recipe file (YAML or JSON); `citeforge build --print-recipe KIND`
writes one to start from.

Prints the files, models and endpoints that it names, and asks whether to use them.
"""
_BESIDE = {FROM: rebuild, PRINT: print_recipe, "demo": demo}
"""What stands where a kind would: two options, each a command of its own, and the demo."""
_IDENTITY = ("name", "licence", "hidden")


class Builds(NamedCommands):
    """A group whose commands are the kinds, and files with a recipe; each is made when it is used,
    since plugins' runners add options."""

    noun = "kind"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; ``--print-recipe`` and ``--from`` are commands, wherever they stand."""
        if args and args[0].startswith("-") and args[0] not in ctx.help_option_names:
            words = [
                w
                for arg in args
                for w in (arg.split("=", 1) if arg.startswith(f"{FROM}=") else [arg])
            ]
            for name in (PRINT, FROM):
                if name in words:
                    words.remove(name)
                    args = ["--", name, *words]
                    break
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0].endswith((".yaml", ".yml", ".json")):
            return FILE, _from_file(), args
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [FILE, *_BESIDE, *sorted(k.name for k in ours() if k.recipe)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name == FILE:
            return _from_file()
        if name in _BESIDE:
            return _BESIDE[name]
        recipe = recipe_named(name)
        return None if recipe is None else _command(recipe)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        texts = {FILE: _FROM_FILE} | {n: c.short_help or c.help or "" for n, c in _BESIDE.items()}
        texts |= {k.name: k.recipe.__doc__ or "" for k in ours() if k.recipe}
        width = formatter.width - 6 - max(map(len, texts))
        with formatter.section("Commands"):
            own = (click.Command(name, help=texts[name]) for name in sorted(texts))
            formatter.write_dl([(c.name or "", c.get_short_help_str(width)) for c in own])
        theirs = [(name, f"A kind of the plugin {origin}.") for name, origin in of_plugins()]
        if theirs:
            with formatter.section("Kinds of plugins"):
                formatter.write_dl(theirs)


@click.group(cls=Builds)
def build() -> None:
    """Build a benchmark package from a source, or by a recipe."""


def _command(recipe: type[Recipe]) -> click.Command:
    options = {*ALWAYS, *recipe.run_options}
    dry = "dry_run" in options
    own = [n for n in recipe.model_fields if n not in _IDENTITY]
    out = () if dry else ("out",)

    @add_options(field_options(recipe, own))
    @add_options(field_options(RunOptions, ("out",), out))
    @add_options(field_options(recipe, _IDENTITY))
    @add_options(field_options(RunOptions, options - {"out"}))
    def run(**given: Any) -> None:
        _run(record_from(recipe, given), record_from(RunOptions, given))

    return click.command(recipe.kind, cls=ManyOptions, help=recipe.__doc__)(run)


def _run(recipe: Recipe, run: RunOptions) -> None:
    from citeforge.builders.build import build as make
    from citeforge.builders.build import plan_build
    from citeforge.cli.output import summarise

    if run.dry_run:
        click.echo("\n".join(plan_build(recipe, run).lines()))
        return
    summarise(run.folder, make(recipe, run))


def _from_file() -> click.Command:
    @click.command(FILE, cls=ManyOptions, help=_FROM_FILE)
    @path_argument("file")
    @trusting
    @add_options(field_options(RunOptions))
    def from_file(file: Path, trust: bool, **given: Any) -> None:
        from citeforge.builders.build import uses_of
        from citeforge.builders.recipes.files import read_recipe

        recipe = read_recipe(file)
        if uses := uses_of(recipe):
            confirmation(trust)(uses)
        _run(recipe, record_from(RunOptions, given))

    return from_file
