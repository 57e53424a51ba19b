"""``citeforge build demo``."""

from pathlib import Path

import click

from citeforge.cli.path_options import path_option


@click.command()
@path_option("--out", default="citeforge-demo", show_default=True, help="Folder to make.")
def demo(out: Path) -> None:
    """Build, answer, score and report a small benchmark, to see what that looks like.

    Uses examples that come with the package; needs no network, no model and some seconds. Every
    command is printed before it runs.
    """
    from citeforge.cli.main import cli
    from citeforge.library.demo import next_steps, start_demo

    for line in start_demo(out):
        click.echo(click.style(f"$ citeforge {line}", bold=True))
        cli.main(args=line.split(), prog_name="citeforge", standalone_mode=False)
        click.echo()
    click.echo(next_steps(out))
