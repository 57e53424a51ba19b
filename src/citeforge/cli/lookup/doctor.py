"""``citeforge doctor``."""

from pathlib import Path

import click

from citeforge.cli.path_options import path_option


@click.command()
@click.option("--base-url", help="Endpoint to ask (default: OPENAI_BASE_URL).")
@path_option("--store", help="Replay store to look at.")
@click.option("--offline", is_flag=True, help="Ask no network.")
def doctor(base_url: str | None, store: Path | None, offline: bool) -> None:
    """Tell what is installed, what answers, and what to type next.

    Never shows a key. Exit code 1 when a store is there and cannot be read.
    """
    from citeforge.engines.doctor import examine
    from citeforge.schemas.errors import InputError

    findings = examine(base_url, store, ask_network=not offline)
    width = max(len(f.what) for f in findings)
    for finding in findings:
        mark = {True: "ok", False: "NO", None: "--"}[finding.good]
        click.echo(f"{mark}  {finding.what:<{width}}  {finding.text}")
        if finding.advice:
            click.echo(f"    {'':<{width}}  → {finding.advice}")
    if any(f.good is False for f in findings):
        raise InputError("something cannot be used; see the lines marked NO")
