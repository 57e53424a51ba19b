"""``citeforge run SYSTEM``."""

from __future__ import annotations

from pathlib import Path

import click

from citeforge.cli.options import benchmark_option
from citeforge.schemas.choices import SYSTEMS

_HELP = "Run a baseline system and write its submission.\n\nSYSTEM is one of:\n\n\b\n" + "\n".join(
    f"{system.name}: {system.what}" for system in SYSTEMS
)


@click.command(help=_HELP)
@click.argument("system")
@benchmark_option
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Submission to write.")
@click.option("--context", "contexts", multiple=True, help="Context sets (default: all).")
@click.option("--runs", type=click.IntRange(1), default=1, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--all-gold", is_flag=True, help="gold: every gold answer, one a run.")
def run(
    system: str,
    benchmark: Path,
    out: Path,
    contexts: tuple[str, ...],
    runs: int,
    seed: int,
    all_gold: bool,
) -> None:
    from citeforge.baselines.registry import require_system, run_system
    from citeforge.cli.fetch import open_benchmark

    name = "all-gold" if system == "gold" and all_gold else system
    require_system(name)
    count = run_system(name, open_benchmark(benchmark), list(contexts), runs, seed, out)
    click.echo(f"{out}: {count:,} answers of {name}")
