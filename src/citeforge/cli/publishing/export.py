"""``citeforge export FORMAT …``: one command an export, its options generated from its record."""

from pathlib import Path
from typing import Any

import click

from citeforge.cli.publishing.card import card
from citeforge.cli.publishing.prompts import prompts
from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.publish.export.declared import Export
from citeforge.publish.export.registry import find_export, origins, write_export
from citeforge.schemas.errors import UnknownValueError

_OWN = {"prompts": prompts, "card": card}
"""What is written for people and for LLMs, beside the formats of other tools."""


class Exports(click.Group):
    """A group whose commands are the exports; a plugin's is imported when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_OWN, *origins()]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in _OWN:
            return _OWN[name]
        if ctx.resilient_parsing and name not in origins():
            return None  # while somebody types
        try:
            return _command(find_export(name))
        except UnknownValueError as error:
            raise UnknownValueError("format", name, self.list_commands(ctx)) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Prompts and card"):
            formatter.write_dl([(n, c.get_short_help_str(90)) for n, c in _OWN.items()])
        with formatter.section("Formats of other tools"):
            formatter.write_dl(
                (name, f"An export of the plugin {origin}." if origin else find_export(name).about)
                for name, origin in origins().items()
            )


@click.group(cls=Exports, subcommand_metavar="FORMAT [ARGS]...")
def export() -> None:
    """Write prompts, the card, the layout of another tool, or training data.

    What a format cannot carry is listed.
    """


def _command(export: Export) -> click.Command:
    @click.argument(
        "source",
        metavar="SCORES" if export.of == "scores" else "DIR",
        type=click.Path(path_type=Path),
    )
    @click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to make.")
    @add_options(field_options(export.options))
    def run(source: Path, out: Path, **given: Any) -> None:
        lost = write_export(export, source, out, record_from(export.options, given))
        files = [p for p in sorted(out.rglob("*")) if p.is_file()]
        click.echo(f"{out}: {len(files)} files, {sum(p.stat().st_size for p in files):,} B")
        for what in lost:
            click.echo(f"not carried: {what}")

    return click.command(export.name, help=export.about)(run)
