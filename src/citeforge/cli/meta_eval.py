"""``citeforge meta-eval``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from citeforge.cli.options import endpoint_options, model_options, run_options, verdicts_option
from citeforge.cli.record_options import add, options_of, record_from
from citeforge.schemas.recipes.verbs import JudgeOptions


@click.command("meta-eval")
@add(options_of(JudgeOptions, ("judge",)))
@click.option(
    "--benchmark",
    type=click.Path(path_type=Path),
    help="HAGRID benchmark, for its attributable labels.",
)
@click.option("--labels", type=click.Path(path_type=Path), help="What `annotate import` wrote.")
@click.option(
    "--scores",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Score files (--details) that the labels are about.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Score files of the same systems by another judge, or by people: compares the orders.",
)
@click.option("--measure", help="Measure that systems are ordered by (--against).")
@verdicts_option
@click.option("--allow-judge-failures", is_flag=True, help="Exit with 0 in spite of failures.")
@model_options
@endpoint_options
def meta_eval(
    benchmark: Path | None,
    labels: Path | None,
    scores: tuple[Path, ...],
    against: tuple[Path, ...],
    measure: str | None,
    allow_judge_failures: bool,
    **given: Any,
) -> None:
    """Measure a judge against human labels.

    With --benchmark: HAGRID's attributable labels of gold sentences. With --labels and --scores:
    labels of annotators. Prints accuracy, Pearson, Cohen's kappa, and precision and recall of
    "not supported".

    With --scores, --against and --measure: judge against judge. Prints rank correlations of the two
    orders of systems, with intervals over queries; nobody is asked.
    """
    if against:
        _compare_orders(scores, against, measure)
        return
    from citeforge.cli.fetch import open_benchmark
    from citeforge.engines.setup import require_judge
    from citeforge.evaluator.meta_eval import labelled_pairs, quality
    from citeforge.schemas.errors import FailuresError

    opened = None if benchmark is None else open_benchmark(benchmark)
    rows = labelled_pairs(opened, labels, scores)
    session = require_judge(record_from(JudgeOptions, given), run_options(given))
    found = quality(rows, session)
    click.echo(f"judge {session.judge.signature} against {found.n:,} human labels")
    click.echo(f"  supported, by people        {found.n_supported:,} of {found.n:,}")
    click.echo(f"  accuracy                    {found.accuracy:.4f}")
    click.echo(f"  Pearson                     {found.pearson:.4f}")
    click.echo(f"  Cohen's kappa               {found.kappa:.4f}")
    click.echo(f"  precision of not supported  {found.precision:.4f}")
    click.echo(f"  recall of not supported     {found.recall:.4f}")
    click.echo(f"  judge failures              {found.n_failed:,}")
    if found.n_failed and not allow_judge_failures:
        raise FailuresError(f"the judge failed on {found.n_failed:,} pairs")


def _compare_orders(
    scores: tuple[Path, ...], against: tuple[Path, ...], measure: str | None
) -> None:
    from citeforge.evaluator.compare import load_scores
    from citeforge.evaluator.system_order import compare_orders
    from citeforge.schemas.errors import UsageError

    if measure is None or not scores:
        raise UsageError("--against needs --scores FILE for every system, and --measure NAME")
    judged, truth = ([load_scores(path) for path in side] for side in (scores, against))
    found = compare_orders(judged, truth, measure)
    click.echo(f"{len(judged)} systems ordered by {measure}")
    for one in found:
        click.echo(f"  {one.name:<18} {one.value:6.3f}  [{one.low:.3f}, {one.high:.3f}]")
