"""``citeforge export FORMAT …``: a command per format; prompts; the card of a package."""

from pathlib import Path
from typing import Any

import click

from citeforge.cli.command import PATH, NamedCommands, path_argument, path_option
from citeforge.cli.options import add_options, field_options, record_from
from citeforge.cli.terminal import write_data
from citeforge.publishing.export import EXPORTS, Export, write_export


@click.command()
@path_argument("folder")
@path_option("--scores", multiple=True, help="Score files of baselines to show; repeatable.")
@click.option("--version", metavar="X.Y.Z", help="Set the version of the benchmark.")
@click.option("--licence", help="Licence of the benchmark, and of sources that state none.")
def card(folder: Path, scores: tuple[Path, ...], version: str | None, licence: str | None) -> None:
    """Write README.md, croissant.json and eval.yaml of a package.

    From its manifest, statistics, audit.json, reference scores, and card.md, which is kept: write
    there what only you know. eval.yaml makes a published benchmark a leaderboard of the Hub.
    """
    from citeforge.builders.licences import conflicts
    from citeforge.library.publishing import card as write_card
    from citeforge.publishing.card import CROISSANT, EVALS

    manifest = write_card(folder, scores, version, licence)
    names = (name for name in ("README.md", CROISSANT, EVALS) if (folder / name).is_file())
    click.echo(f"{folder}: written: {', '.join(names)}")
    for problem in conflicts(manifest):
        click.echo(f"licence: {problem}", err=True)


@click.command()
@path_argument("folder")
@click.option("--context", help="Context set, or `all` (default: the only one; authorship: all).")
@click.option(
    "--template",
    help="`rage`, `authorship`, `kalma`, or a Jinja file (default: by kind of benchmark).",
)
@click.option(
    "--show", help="`summary` or `snippet`: what stands for passages that have one (build alce)."
)
@path_option("--out", help="JSON Lines file (default: stdout).")
@path_option("--stub", help="Also write a submission to fill in: header and empty answers.")
def prompts(
    folder: Path, context: str | None, template: str | None, show: str | None, out: Path | None,
    stub: Path | None,
) -> None:  # fmt: skip
    """Write one prompt per query.

    Each line is {"query_id", "context", "prompt", "benchmark", "benchmark_hash"}. `llm run` copies
    the last two to the header of the submission, so that it is never scored against another build;
    your own lines may keep all five and add "output". Citation
    marks inside passages are put into round brackets, so that a passage's own [3] is not mistaken
    for passage 3.
    """
    from citeforge.builders.prompts import contexts_for, prompt_lines, write_stub
    from citeforge.engines.files import atomic_file
    from citeforge.library.benchmarks import package_folder
    from citeforge.package.package import Package

    package = Package(package_folder(folder))
    contexts = contexts_for(package, context)
    lines = prompt_lines(package, contexts, template, show)
    if stub is not None:
        write_stub(package, contexts, stub)
        click.echo(f"{stub}: header and empty answers; write yours into them", err=True)
    if out is None:
        for line in lines:
            write_data(line)
        return
    count = 0
    with atomic_file(out) as file:
        for line in lines:
            file.write(line.encode())
            count += 1
    what = f"context {contexts[0]}" if len(contexts) == 1 else f"{len(contexts)} contexts"
    click.echo(f"{out}: {count:,} prompts of {what}")


@click.command()
@path_argument("folder")
@path_option("--sign-key", help="Private key (PEM, elliptic curve); default: by Sigstore.")
def signature(folder: Path, sign_key: Path | None) -> None:
    """Sign all files of a package in its folder (model.sig), without publishing it.

    `publish --sign` signs what the Hub gets, which differs in README.md and manifest.json. A key
    needs no network; the password of an encrypted one is in CITEFORGE_SIGN_PASSWORD. `verify --key`
    checks the signature.
    """
    from citeforge.publishing.signing import sign_package

    click.echo(f"{sign_package(folder, sign_key)} signs all files of the package")


_OWN = {"prompts": prompts, "card": card, "signature": signature}
"""Exports for people and for LLMs, in addition to the formats of other tools."""


class Exports(NamedCommands):
    """Group whose commands are the export formats; a plugin is imported when it is named."""

    noun = "format"

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Get the command of an export format by its name; None for an unknown one."""
        return _OWN.get(name) or (_command(EXPORTS.get(name)) if name in EXPORTS.names() else None)

    def sections(self) -> dict[str, dict[str, str]]:
        """Map help headings to {export format: description}, without importing plugins."""
        others = {
            name: f"An export of the plugin {origin}." if origin else EXPORTS.get(name).help
            for name, origin in EXPORTS.names().items()
            if name not in _OWN
        }
        own = {name: command.get_short_help_str(90) for name, command in _OWN.items()}
        return {"Prompts, card and signature": own, "Formats of other tools": others}


@click.group(cls=Exports, subcommand_metavar="FORMAT [ARGS]...")
def export() -> None:
    """Write prompts, the card, the layout of another tool, or training data.

    DIR is a package, or hub:ORG/NAME[@REVISION]. What a format cannot carry is listed.
    """


def _command(export: Export) -> click.Command:
    """Make the command that exports a package in one format."""

    @click.argument(
        "source",
        metavar="SCORES" if export.of == "scores" else "DIR",
        type=PATH,
    )
    @path_option("--out", required=True, help="Folder to make.")
    @add_options(field_options(export.options))
    def run(source: Path, out: Path, **parameters: Any) -> None:
        """Write the exported files, and print what the format cannot contain."""
        lost = write_export(export, source, out, record_from(export.options, parameters))
        files = [p for p in sorted(out.rglob("*")) if p.is_file()]
        click.echo(f"{out}: {len(files)} files, {sum(p.stat().st_size for p in files):,} B")
        for what in lost:
            click.echo(f"not carried: {what}")

    return click.command(export.name, help=export.help)(run)
