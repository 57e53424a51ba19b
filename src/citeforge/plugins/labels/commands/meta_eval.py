"""``citeforge labels meta-eval``."""

from pathlib import Path
from typing import Any

import click

from citeforge.cli.command import path_option
from citeforge.cli.options import (
    add_options,
    endpoint_options,
    field_options,
    model_options,
    record_from,
    run_options,
    verdicts_option,
)
from citeforge.cli.short_help import ManyOptions
from citeforge.plugins.labels.commands.judges import labels_options
from citeforge.schemas.commands.command_options import JudgeOptions


@click.command("meta-eval", cls=ManyOptions)
@add_options(field_options(JudgeOptions, ("judge",)))
@path_option("--benchmark", help="HAGRID benchmark, for its attributable labels.")
@labels_options
@path_option(
    "--against",
    multiple=True,
    help="Score files of the same systems by another judge, or by people: compares the orders.",
)
@path_option(
    "--preferences",
    multiple=True,
    help="Which of two answers people prefer, one file an annotator: compares them with --measure.",
)
@click.option(
    "--people",
    default="preference",
    show_default=True,
    help="Field of people's two values in --preferences.",
)
@click.option(
    "--tie-threshold",
    type=float,
    help="Difference up to which the measure calls two answers equal; without it, the one at which "
    "it does so as often as people do.",
)
@click.option("--agreed", is_flag=True, help="Only comparisons that all annotators decide alike.")
@click.option(
    "--measure",
    help="Measure that systems are ordered by (--against), or that is held against people "
    "(--preferences): of the score files of --scores, else a field of the preferences.",
)
@verdicts_option
@click.option("--allow-judge-failures", is_flag=True, help="Exit with 0 in spite of failures.")
@model_options
@endpoint_options
def meta_eval(
    benchmark: Path | None,
    labels: tuple[Path, ...],
    label_format: str,
    scores: tuple[Path, ...],
    against: tuple[Path, ...],
    preferences: tuple[Path, ...],
    people: str,
    tie_threshold: float | None,
    agreed: bool,
    measure: str | None,
    allow_judge_failures: bool,
    **given: Any,
) -> None:
    """Measure a judge against human labels.

    With --benchmark: HAGRID's attributable labels of gold sentences. With --labels: labels of
    people. Prints accuracy, balanced accuracy, macro-F1, Pearson, Cohen's kappa, and precision and
    recall of "not supported", and what is left out.

    With --scores, --against and --measure: judge against judge. Prints rank correlations of the two
    orders of systems, with intervals over queries; nobody is asked.

    With --preferences and --measure: agreement and Kendall's tau over comparisons of two answers,
    tau-b over the systems' win rates, and agreement between annotators.
    """
    if preferences:
        _compare_preferences(preferences, people, measure, scores, tie_threshold, agreed)
        return
    if against:
        _compare_orders(scores, against, measure)
        return
    from citeforge.library.benchmarks import load
    from citeforge.plugins.labels.agreement.meta_eval import hagrid_pairs, judge_quality
    from citeforge.plugins.labels.judging import require_judge
    from citeforge.plugins.labels.pairs import labelled_pairs
    from citeforge.schemas.errors import FailuresError, UsageError

    if (benchmark is None) == (not labels):
        raise UsageError("give --benchmark, or --labels (with --scores, where the labels need it)")
    if benchmark is None:
        rows = labelled_pairs(labels, scores, label_format)
    else:
        rows = hagrid_pairs(load(benchmark))
    session = require_judge(record_from(JudgeOptions, given), run_options(given))
    result = judge_quality(rows.pairs, session)
    click.echo(f"judge {session.judge.signature} against {result.n:,} human labels")
    for line in rows.lines():
        click.echo(line)
    click.echo(f"  supported, by people        {result.n_supported:,} of {result.n:,}")
    for name, value in (
        ("accuracy", result.accuracy),
        ("balanced accuracy", result.balanced_accuracy),
        ("macro-F1", result.macro_f1),
        ("Pearson", result.pearson),
        ("Cohen's kappa", result.kappa),
        ("precision of not supported", result.precision),
        ("recall of not supported", result.recall),
    ):
        click.echo(f"  {name:<28}{value:.4f}")
    for name, quality in result.classes.items():
        click.echo(
            f"  class {name:<22}{quality.n:,} by people, precision {quality.precision:.4f}, recall "
            f"{quality.recall:.4f}"
        )
    click.echo(f"  judge failures              {result.n_failed:,}")
    if result.n_failed and not allow_judge_failures:
        raise FailuresError(f"the judge failed on {result.n_failed:,} pairs")


def _compare_orders(
    scores: tuple[Path, ...], against: tuple[Path, ...], measure: str | None
) -> None:
    from citeforge.evaluator.statistics.compare import load_scores
    from citeforge.plugins.labels.agreement.system_order import compare_orders
    from citeforge.schemas.errors import UsageError

    if measure is None or not scores:
        raise UsageError("--against needs --scores FILE for every system, and --measure NAME")
    judged, truth = ([load_scores(path) for path in side] for side in (scores, against))
    correlations = compare_orders(judged, truth, measure)
    click.echo(f"{len(judged)} systems ordered by {measure}")
    for one in correlations:
        click.echo(f"  {one.name:<18} {one.value:6.3f}  [{one.low:.3f}, {one.high:.3f}]")


def _compare_preferences(
    files: tuple[Path, ...],
    people: str,
    measure: str | None,
    scores: tuple[Path, ...],
    threshold: float | None,
    only_agreed: bool,
) -> None:
    from citeforge.evaluator.statistics.compare import load_scores
    from citeforge.plugins.labels.agreement.preferences import (
        agreed,
        annotator_agreement,
        read_preferences,
        render_preferences,
        with_scores,
    )
    from citeforge.schemas.errors import UsageError

    if measure is None:
        raise UsageError("--preferences needs --measure NAME")
    field = None if scores else measure
    read = {path.stem: read_preferences(path, people, field) for path in files}
    annotators = {name: comparisons for name, (comparisons, _) in read.items()}
    if len(annotators) < len(files):
        raise UsageError("--preferences: two files have one name; it is the annotator's")
    if scores:
        loaded = [load_scores(path) for path in scores]
        annotators = {n: with_scores(rows, loaded, measure) for n, rows in annotators.items()}
    among = annotator_agreement(list(annotators.values()))
    if only_agreed:
        annotators = {"agreed": agreed(list(annotators.values()))}
    n_repeats = sum(n for _, n in read.values())
    click.echo(render_preferences(measure, annotators, among, threshold, n_repeats))
