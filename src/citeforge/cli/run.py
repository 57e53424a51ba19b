"""``citeforge run SYSTEM``."""

from __future__ import annotations

from pathlib import Path

import click

COPYING = ("gold", "top-1", "top-1-two-sentences")


@click.command()
@click.argument("system")
@click.option(
    "--benchmark",
    type=click.Path(path_type=Path),
    required=True,
    help="Package, or hub:ORG/NAME[@REVISION].",
)
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
    from citeforge.baselines.controls import CONTROLS, run_control
    from citeforge.baselines.rage import SYSTEMS, run_system
    from citeforge.cli.fetch import open_benchmark
    from citeforge.schemas.errors import UnknownValueError

    if system not in (*SYSTEMS, *COPYING, *CONTROLS):
        raise UnknownValueError("system", system, [*SYSTEMS, *COPYING, *CONTROLS])
    loaded = open_benchmark(benchmark)
    known = list(loaded.manifest.contexts)
    for name in contexts:
        if name not in known:
            raise UnknownValueError("context", name, known)
    if system in COPYING:
        from citeforge.baselines.passages import run_copying

        count = run_copying(system, loaded, (list(contexts) or known)[0], out, all_gold)
        click.echo(f"{out}: {count:,} answers of {system}")
        return
    execute = run_control if system in CONTROLS else run_system
    if loaded.manifest.kind == "kalma":
        from citeforge.baselines.kalma import run_kalma

        execute = run_kalma
    count = execute(system, loaded, list(contexts) or known, runs, seed, out)
    click.echo(f"{out}: {count:,} answers of {system}")
