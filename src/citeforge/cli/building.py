"""``citeforge build …``: a command per kind, made from its recipe record; rebuilds; the demo."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citeforge.cli.command import LONGEST_HELP, NamedCommands, path_argument, path_option
from citeforge.cli.json_output import headed_json_option, json_option, present
from citeforge.cli.options import add_options, field_options, largest_line_option, record_from
from citeforge.cli.short_help import ManyOptions
from citeforge.engines.pipes import is_pipe
from citeforge.package import kinds
from citeforge.schemas.errors import FailuresError, InputError, UnknownValueError, UsageError
from citeforge.schemas.outputs import TextResult
from citeforge.schemas.recipes.base import Recipe, RunOptions
from citeforge.schemas.recipes.flags import fields_in
from citeforge.schemas.recipes.groups import DRY, FOLDER

if TYPE_CHECKING:
    from citeforge.builders.rebuild import Rebuilt
    from citeforge.engines.llm.budget import RunPlan
    from citeforge.schemas.manifest import Manifest

FROM, PRINT = "--from", "--print-recipe"
_RUN = [n for n in RunOptions.model_fields if n != "out"]
trusting = click.option(
    "--trust",
    is_flag=True,
    help="Use the files, models and endpoints that the recipe names, without asking.",
)


def confirmation(trust: bool) -> Callable[[Sequence[str]], None]:
    """Make a function that lists a recipe's resources and, unless ``trust``, asks for consent.

    Args:
        trust: neither asks nor refuses.
    """

    def confirm(resources: Sequence[str]) -> None:
        """Print a recipe's files, models and endpoints; raise an error unless the user consents."""
        from citeforge.builders.rebuild import refuse_untrusted

        click.echo("\n  ".join(["the recipe uses", *resources]), err=True)
        if trust or (sys.stdin.isatty() and click.confirm("Use all of these?", err=True)):
            return
        refuse_untrusted(resources)

    return confirm


@click.command(FROM, cls=ManyOptions, short_help="Make a package again from its manifest alone.")
@path_argument("folder", metavar="DIR")
@add_options(field_options(RunOptions, ("out",)))
@click.option(
    "--source",
    "inputs",
    multiple=True,
    metavar="[FIELD=]VALUE",
    help="New location of an input that has moved or changed; repeatable.",
)
@click.option(
    "--keep",
    is_flag=True,
    help="Build for a --source that changed; keep the queries that did not change.",
)
@click.option(
    "--skip-dangling",
    is_flag=True,
    help="With --keep: skip, and count, judgements of passages that are gone.",
)
@click.option(
    "--allow-no-relevant",
    is_flag=True,
    help="With --keep: keep queries whose relevant passages are all gone.",
)
@trusting
@add_options(field_options(RunOptions, _RUN))
@headed_json_option
@largest_line_option
def rebuild(
    folder: Path,
    inputs: tuple[str, ...],
    keep: bool,
    skip_dangling: bool,
    allow_no_relevant: bool,
    trust: bool,
    **parameters: Any,
) -> None:
    """Make a package again from its manifest alone; exit code 1 when its tables differ.

    Prints the files, models and endpoints that the manifest names, and asks whether to use them.
    The package is made for a source that changed with --keep: queries whose question, gold,
    judgements and passages are the same keep their contexts, and the others are made anew.
    """
    from citeforge.builders.rebuild import UpdateOptions, plan_rebuild, update
    from citeforge.builders.rebuild import rebuild as make
    from citeforge.library.benchmarks import package_folder

    folder, run = package_folder(folder), record_from(RunOptions, parameters)
    update_options = UpdateOptions(skip_dangling, allow_no_relevant)
    if update_options != UpdateOptions() and not keep:
        raise UsageError(
            "--skip-dangling and --allow-no-relevant require --keep", code="missing-option"
        )
    if run.dry_run:
        options = update_options if keep else None
        _present_plan(plan_rebuild(folder, run, inputs, confirmation(trust), options))
        return
    if keep:
        _print_built(None, run, update(folder, run, inputs, confirmation(trust), update_options))
        return
    result = make(folder, run, inputs, confirmation(trust))
    present(result, partial(_print_rebuilt, result, folder, run.folder))
    if not result.equal:
        tables = ", ".join(result.differing_tables)
        raise InputError(f"not equal: {tables}", path=folder, code="not-equal")


def _print_rebuilt(result: Rebuilt, folder: Path, out: Path) -> None:
    """Print hashes of a package (``folder``) and its rebuild (``out``), and one difference.

    Args:
        result: both manifests.
        folder: folder of the package.
        out: folder of the rebuild.
    """
    from citeforge.builders.rebuild import first_difference

    click.echo(f"{folder}: benchmark hash {result.old.benchmark_hash}")
    click.echo(f"{out}: benchmark hash {result.new.benchmark_hash}")
    if result.equal:
        click.echo("equal: every table is the same, byte for byte")
    elif first := first_difference(folder, out, result.differing_tables):
        click.echo(first, err=True)


@click.command(PRINT, short_help="Print a recipe file to start from.")
@click.argument("kind", required=False)
@path_option("--from", "folder", metavar="DIR", help="Print the recipe that this was made by.")
@json_option
def print_recipe(kind: str | None, folder: Path | None) -> None:
    """Print a recipe file to start from, or with --from the one that a package was made by."""
    from citeforge.builders.changes import find_recipe
    from citeforge.builders.recipe_files import recipe_text
    from citeforge.cli.catalogue import fill_names
    from citeforge.library.benchmarks import package_folder
    from citeforge.package.manifest import load_manifest

    if (kind is None) == (folder is None):
        raise UsageError(
            f"{PRINT}: give a kind ({', '.join(kinds.recipes())}), or {FROM} DIR",
            code="missing-option",
        )
    if folder is None:
        default = kinds.recipe_named(str(kind))
        if default is None:
            raise UnknownValueError("kind", str(kind), kinds.recipes())
        _present_text(recipe_text(default, fill_names))
        return
    recipe = find_recipe(load_manifest(package_folder(folder)))
    if recipe is None:
        raise InputError("the manifest has no recipe", path=folder, code="missing-field")
    _present_text(recipe_text(recipe, fill_names))


def _present_text(text: str) -> None:
    """Print a text as it is (no newline added), or store it for the JSON object of ``--json``."""
    present(TextResult(text=text), partial(click.echo, text, nl=False))


def _present_plan(plan: RunPlan) -> None:
    """Print the plan of a build's LLM requests, or store it for the JSON object of ``--json``."""
    present(plan, lambda: click.echo("\n".join(plan.to_text_lines())))


@click.command()
@path_option("--out", default="citeforge-demo", show_default=True, help="Folder to make.")
@json_option
def demo(out: Path) -> None:
    """Build, answer, score and report a small benchmark, to see what that looks like.

    Uses examples that come with the package; needs no network, no model and some seconds. Every
    command is printed before it runs.
    """
    from citeforge.library.demo import NEXT, start_demo

    command = click.get_current_context().find_root().command
    for line in start_demo(out):
        click.echo(click.style(f"$ citeforge {line}", bold=True))
        command.main(args=line.split(), prog_name="citeforge", standalone_mode=False)
        click.echo()
    page = (out / "report.html").resolve().as_uri()
    _present_text(NEXT.format(out=out.as_posix(), page=page) + "\n")


FILE = "RECIPE.yaml"


@click.command(FILE, cls=ManyOptions)
@path_argument("file", metavar="")
@trusting
@add_options(field_options(RunOptions))
@headed_json_option
@largest_line_option
def from_file(file: Path, trust: bool, **parameters: Any) -> None:
    """Build by a recipe file (YAML or JSON).

    `citeforge build --print-recipe KIND` writes one to start from. Prints the files, models and
    endpoints that the file names, and asks whether to use them.
    """
    from citeforge.builders.rebuild import list_resources
    from citeforge.builders.recipe_files import read_recipe

    recipe = read_recipe(file)
    if resources := list_resources(recipe):
        confirmation(trust)(resources)
    _build(kinds.kind_of_recipe(recipe), recipe, record_from(RunOptions, parameters))


_OTHER_COMMANDS = {FILE: from_file, FROM: rebuild, PRINT: print_recipe, "demo": demo}
"""Commands in the place of a kind: a recipe file, two options, and the demo."""
_IDENTITY = ("name", "licence", "hidden")


def _path_for_a_kind_error(path: Path) -> UsageError:
    """Make the error for a path in the place of a kind or of a recipe file."""
    from citeforge.ir_convert.recognition import recognise_source
    from citeforge.package.manifest import MANIFEST

    found = recognise_source(path)
    is_package = (path / MANIFEST).is_file()
    if found is not None:
        what = f"is {found.noun}: citeforge build rage --source {found.spec}"
    elif is_package:
        what = f"is a package: citeforge build {FROM} {path}"
    else:
        what = "is no recipe file, whose name ends in .yaml, .yml or .json"
    return UsageError(
        f"{path} {what}; first comes a kind ({', '.join(kinds.recipes())}), or a recipe file",
        code="unknown-name",
    )


class Builds(NamedCommands):
    """Group of one command per kind and of recipe files, each made when it is used."""

    noun = "kind"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; treat an option ``--print-recipe`` or ``--from`` as the sub-command."""
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
        """Find the command; a pipe, or a name in .yaml, .yml or .json, is a recipe file."""
        if args[0].endswith((".yaml", ".yml", ".json")) or is_pipe(Path(args[0])):
            return FILE, from_file, args
        if (path := Path(args[0])).exists() and self.get_command(ctx, args[0]) is None:
            raise _path_for_a_kind_error(path)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Get a command below ``build`` by its name or a benchmark kind's; None for unknown names.

        Built-in kinds are in ``citeforge/kinds``: ``rage`` is ``RageKind`` of ``kinds/rage.py``.
        """
        if name in _OTHER_COMMANDS:
            return _OTHER_COMMANDS[name]
        kind = kinds.KINDS.find(name)
        if kind is None:
            return None
        if kind.facts.recipe is None:
            raise UsageError(f"`build` makes no packages of the kind {name!r}", code="unsupported")
        return _command(kind, kind.facts.recipe)

    def sections(self) -> dict[str, dict[str, str]]:
        """Map help headings to {command or benchmark kind: one-line description}."""
        texts = {n: c.short_help or c.help or "" for n, c in _OTHER_COMMANDS.items()}
        texts |= {
            facts.name: facts.recipe.__doc__ or ""
            for facts in (built_in.facts for built_in in kinds.built_in_kinds())
            if facts.recipe
        }
        commands = (click.Command(name, help=texts[name]) for name in sorted(texts))
        return {
            "Commands": {str(c.name): c.get_short_help_str(LONGEST_HELP) for c in commands},
            "Kinds of plugins": {
                name: f"A kind of the plugin {origin}."
                for name, origin in kinds.KINDS.names().items()
                if origin
            },
        }


@click.group(cls=Builds)
def build() -> None:
    """Build a benchmark package from a source, or by a recipe."""


class _Build(ManyOptions):
    """Command that builds one kind of benchmark; some print their settings instead."""

    show_option = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; require none if an option asks only to print the settings in force."""
        if self.show_option and self.show_option in args:
            for parameter in self.params:  # of a command that is made anew for each use
                parameter.required = False
        return super().parse_args(ctx, args)


def _command(kind: kinds.Kind, recipe: type[Recipe]) -> click.Command:
    """Make the command that builds a kind of benchmark; fields of ``recipe`` are its options."""
    options = fields_in(RunOptions, FOLDER, *recipe.run_options)
    dry = DRY in recipe.run_options
    own = [n for n in recipe.model_fields if n not in _IDENTITY]
    out = () if dry else ("out",)
    run_options = field_options(RunOptions, [n for n in options if n != "out"])
    for option in run_options:
        option.hidden |= bool(recipe.no_batch) and option.name == "batch"

    @add_options(field_options(recipe, own))
    @add_options(field_options(RunOptions, ("out",), out))
    @add_options(field_options(recipe, _IDENTITY))
    @add_options(run_options)
    @headed_json_option
    @largest_line_option
    def build_from_options(
        show_settings: bool = False, plan_only: bool = False, **parameters: Any
    ) -> None:
        """Build a benchmark of this kind with the parsed options; or show or propose settings."""
        if show_settings:
            needed = (name for name, f in recipe.model_fields.items() if f.is_required())
            known = {k: v for k, v in parameters.items() if v is not None}
            filled = record_from(recipe, {**dict.fromkeys(needed, ""), **known})
            _present_text(filled.settings_text())
            return
        chosen, run = record_from(recipe, parameters), record_from(RunOptions, parameters)
        if plan_only:
            _propose(kind, chosen, run)
        else:
            _build(kind, chosen, run)

    if recipe.plan_option:
        build_from_options = click.option(
            recipe.plan_option, "plan_only", is_flag=True,
            help="Have the LLM propose a design of its brief, in the file --out; build nothing.",
        )(build_from_options)  # fmt: skip
    if recipe.show_option:
        build_from_options = click.option(
            recipe.show_option, "show_settings", is_flag=True,
            help="Print the design in force, and build nothing.",
        )(build_from_options)  # fmt: skip
    command = click.command(recipe.kind, cls=_Build, help=recipe.__doc__)(build_from_options)
    command.show_option = recipe.show_option
    return command


def _propose(kind: kinds.Kind, recipe: Recipe, run: RunOptions) -> None:
    """Have an LLM propose a recipe's settings, and write them to ``--out`` for users to edit."""
    from citeforge.builders.build import check_options
    from citeforge.library.benchmarks import with_local_packages

    recipe = with_local_packages(recipe)
    check_options(recipe, run)
    _present_text(kind.propose(recipe, run) + "\n")


def _build(kind: kinds.Kind, recipe: Recipe, run: RunOptions) -> None:
    """Build a package with run options and print its summary, or the plan of its LLM requests."""
    from citeforge.builders.build import check_options
    from citeforge.library.benchmarks import with_local_packages

    recipe = with_local_packages(recipe)
    check_options(recipe, run)
    if run.dry_run:
        _present_plan(kind.plan(recipe, run))
        return
    manifest = kind.build(recipe, run)
    _print_built(recipe.name, run, manifest)


def _print_built(name: str | None, run: RunOptions, manifest: Manifest) -> None:
    """Print a built package's summary, warn of a changed ``name``, raise an error on failures.

    Args:
        name: name that the user gave to the benchmark; None for none.
        run: options of the run.
        manifest: of the package.

    Raises:
        FailuresError: a writer or judge failed on something.
    """
    from citeforge.builders.licences import conflicts
    from citeforge.cli.showing import print_summary
    from citeforge.package.overview import summarise

    summary = summarise(run.folder, manifest)
    present(summary, partial(print_summary, summary))
    if name not in (None, manifest.name):
        text = "a name has letters, digits, '_', '.' and '-' alone"
        click.echo(f"warning: --name {name}: called {manifest.name} ({text})", err=True)
    if problems := "; ".join(conflicts(manifest)):
        click.echo(f"warning: publish will refuse this package: {problems}", err=True)
    if failures := manifest.failures:
        raise FailuresError("; ".join(failures), code="counted-failures")
