"""``citeforge run SYSTEM``."""

from __future__ import annotations

from pathlib import Path

import click

from citeforge.cli.options import benchmark_option


@click.command()
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
    """Run a baseline system and write its submission.

    SYSTEM is `random` (uniform citations), `echo-relevant` (upper bound), `gold`
    (HAGRID's own answers), `top-1` or `top-1-two-sentences` (the first passage, cited); for
    authorship benchmarks `label-blind` and `label-follower`, one without bias and one with.
    """
    from citeforge.baselines.registry import require_system, run_system
    from citeforge.cli.fetch import open_benchmark

    name = "all-gold" if system == "gold" and all_gold else system
    require_system(name)
    count = run_system(name, open_benchmark(benchmark), list(contexts), runs, seed, out)
    click.echo(f"{out}: {count:,} answers of {name}")
