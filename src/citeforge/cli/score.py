"""``citeforge score SUBMISSION…``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("submissions", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--benchmark", type=click.Path(path_type=Path), required=True, help="Package.")
@click.option("--context", help="Context set to score.")
@click.option(
    "--protocol",
    type=click.Choice(["strict", "reference"]),
    default="strict",
    show_default=True,
    help="Our corrected definitions, or what the paper's own code prints.",
)
@click.option(
    "--measures",
    default="rage",
    show_default=True,
    help="Measures or families, separated by commas.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Score file; a folder when there are several submissions.",
)
def score(
    submissions: tuple[Path, ...],
    benchmark: Path,
    context: str | None,
    protocol: str,
    measures: str,
    out: Path | None,
) -> None:
    """Score submissions against a package.

    Prints one table with 95 % intervals, what is missing or could not be read, and the signature
    of the scores. Absent answers score the worst value.
    """
    from citeforge.cli.table import render_scores
    from citeforge.engines.files import write_text
    from citeforge.evaluator.benchmark import Benchmark
    from citeforge.evaluator.measures.registry import select
    from citeforge.evaluator.score import Protocol
    from citeforge.evaluator.score import score as score_one
    from citeforge.schemas.errors import UsageError

    wanted = select([name.strip() for name in measures.split(",") if name.strip()])
    if out is not None and len(submissions) > 1 and out.suffix == ".json":
        raise UsageError("--out: with several submissions, name a folder for the score files")
    chosen: Protocol = "reference" if protocol == "reference" else "strict"
    loaded = Benchmark(benchmark)
    results = []
    for path in submissions:
        result = score_one(path, loaded, wanted, context=context, protocol=chosen)
        results.append(result)
        if out is not None:
            single = len(submissions) == 1 and not out.is_dir()
            target = out if single else out / f"{path.name.split('.')[0]}.scores.json"
            write_text(target, result.model_dump_json() + "\n")
    click.echo(render_scores(results))
