"""``citeforge report SCORES…``."""

from __future__ import annotations

from pathlib import Path

import click

from citeforge.cli.terminal import write_data


@click.command()
@click.argument("scores", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--out", type=click.Path(path_type=Path), help="File to write (default: stdout).")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["html", "md", "json", "csv", "latex"]),
    help="Default: by the ending of --out; md on stdout.",
)
@click.option("--title", help="Title of the report.")
def report(scores: tuple[Path, ...], out: Path | None, kind: str | None, title: str | None) -> None:
    """Make a report of score files.

    The HTML report is one file that needs no network. It shows answers when the scores were made
    with --details.
    """
    from citeforge.engines.files import write_text
    from citeforge.evaluator.compare import load_scores
    from citeforge.evaluator.report import RENDERERS, format_of

    chosen = kind or format_of(out)
    text = RENDERERS[chosen]([load_scores(path) for path in scores], title)
    if out is None:
        write_data(text)
        return
    write_text(out, text)
    click.echo(f"{out}: {len(text.encode()) / 1e3:,.0f} kB")
