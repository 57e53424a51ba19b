"""Shared output of commands."""

from pathlib import Path

import click

from citeforge.package.manifest import read_stats
from citeforge.schemas.benchmarks.manifest import Manifest


def summarise(folder: Path, manifest: Manifest) -> None:
    """Print what a package holds."""
    click.echo(f"{manifest.name} ({manifest.kind}) at {folder}")
    click.echo(f"benchmark hash {manifest.benchmark_hash}")
    for source in manifest.sources:
        click.echo(f"source {source.spec}; licence {source.licence or 'not stated'}")
        for rule, text in source.rules.items():
            click.echo(f"  {rule}: {text}")
        for what, count in source.counts.items():
            click.echo(f"  {count:,} {what}")
            if " with extra fields " in what:
                click.echo(f"warning: {source.spec}: {count:,} {what}", err=True)
    stats = read_stats(folder)
    width = max(map(len, stats), default=0)
    for what, value in stats.items():
        if isinstance(value, dict):
            parts = ", ".join(f"{k} {_figure(v)}" for k, v in list(value.items())[:8])
            click.echo(f"  {what:<{width}}  {parts}{', …' if len(value) > 8 else ''}")
        else:
            click.echo(f"  {what:<{width}}  {_figure(value)}")
    for what, count in manifest.counts.items():
        click.echo(f"  {what:<{width}}  {count:,}")
    if manifest.config.get("drop_suspects"):
        dropped = [n for what, n in manifest.counts.items() if what.startswith("suspect negatives")]
        click.echo(f"{sum(dropped):,} suspect negatives were dropped (--drop-suspects)")
    if manifest.short_mappings:
        n = len(manifest.short_mappings)
        click.echo(f"{n} queries have fewer negatives than asked (see manifest.json)")
    for name, info in manifest.contexts.items():
        short = f"; {len(info.short)} queries fall short" if info.short else ""
        click.echo(f"context {name}: {info.description}{short}")
    for text in manifest.warnings:
        click.echo(f"warning: {text}", err=True)


def _figure(value: object) -> str:
    return f"{value:,}" if isinstance(value, (int, float)) else str(value)
