"""``citeforge view``: local pages over folders."""

from pathlib import Path
from threading import Thread

import click

from citeforge.cli.command import path_argument
from citeforge.cli.interrupts import until_signal


@click.command()
@path_argument("folders", nargs=-1, metavar="[FOLDER]...")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port on 127.0.0.1 (default: a free one).",
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the default browser.")
def view(folders: tuple[Path, ...], port: int, open_browser: bool) -> None:
    """Show packages, answers, scores and reports below folders as local pages.

    Prints the address of a page that this computer alone can reach, and serves it until Ctrl-C
    (exit code 0). It changes nothing, and needs no network. Without FOLDER: the current one.
    """
    from citeforge.library.viewer.server import open_viewer

    with (
        open_viewer(folders or (Path(),), port) as viewer,
        until_signal(lambda: Thread(target=viewer.stop, daemon=True).start()),
    ):
        click.echo(viewer.url)
        click.echo("Ctrl-C ends it", err=True)
        if open_browser and not viewer.open_browser():
            click.echo("warning: no browser was found; open the address yourself", err=True)
        viewer.serve()
