"""``citeforge meta-eval``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from citeforge.cli.options import (
    endpoint_options,
    judge_session,
    model_options,
    verdicts_option,
)
from citeforge.schemas.choices import JUDGES, listed


@click.command("meta-eval")
@click.option("--judge", "judge_name", required=True, help=f"{listed(JUDGES)}.")
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
@verdicts_option
@click.option("--allow-judge-failures", is_flag=True, help="Exit with 0 in spite of failures.")
@model_options
@endpoint_options
def meta_eval(
    judge_name: str,
    benchmark: Path | None,
    labels: Path | None,
    scores: tuple[Path, ...],
    verdicts: Path | None,
    allow_judge_failures: bool,
    **given: Any,
) -> None:
    """Measure a judge against human labels.

    With --benchmark: HAGRID's attributable labels of gold sentences. With --labels and --scores:
    labels of annotators. Prints accuracy, Pearson, Cohen's kappa, and precision and recall of
    "not supported".
    """
    from citeforge.cli.fetch import open_benchmark
    from citeforge.evaluator.meta_eval import annotated_pairs, hagrid_pairs, quality
    from citeforge.schemas.errors import FailuresError, InputError, UsageError

    if (benchmark is None) == (labels is None):
        raise UsageError("give --benchmark, or --labels with --scores")
    if labels is not None and not scores:
        raise UsageError("--labels needs the score files that they are about: --scores FILE")
    rows = list(
        hagrid_pairs(open_benchmark(benchmark))
        if benchmark is not None
        else annotated_pairs(labels or Path(), scores)
    )
    if not rows:
        raise InputError("has no labelled statements", path=benchmark or labels)
    session = judge_session(given, judge_name, verdicts)
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
