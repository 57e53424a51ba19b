"""``citeforge labels …``."""

from pathlib import Path
from typing import Any

import click

from citeforge.cli.command import path_argument, path_option
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
from citeforge.plugins.labels.commands.judges import calibrate, judge
from citeforge.plugins.labels.commands.meta_eval import meta_eval
from citeforge.plugins.labels.options import (
    AnnotationOptions,
    EffortOptions,
    LabelPlanOptions,
    PlanOptions,
)
from citeforge.schemas.recipes.base import Judging


@click.group(commands=[calibrate, meta_eval, judge])
def labels() -> None:
    """Plan, collect and use labels of people, and measure judges by them."""


@labels.command("plan-queries")
@path_argument("scores", nargs=-1, required=True)
@add_options(field_options(PlanOptions))
def plan_queries(scores: tuple[Path, ...], **given: Any) -> None:
    """Say how many queries a difference needs.

    From the variance in score files: of two or more systems, that of their paired differences; of
    one, the worst case of a second system that answers independently. Two-sided paired t-test at
    p < .05.
    """
    from citeforge.evaluator.statistics.compare import load_scores
    from citeforge.plugins.labels.planning.planning import plan_queries as plan
    from citeforge.plugins.labels.tables import render_query_plans

    options = record_from(PlanOptions, given)
    result = plan([load_scores(path) for path in scores], options)
    click.echo(render_query_plans(result, options.power))


@labels.command("plan-effort")
@path_argument("scores", nargs=-1, required=True)
@add_options(field_options(EffortOptions))
def plan_effort(scores: tuple[Path, ...], **given: Any) -> None:
    """Say which of more queries, runs, judges, repeats or labels narrows an interval most.

    SCORES is one score file; or several of the same submission, one a judge. Each step adds a tenth
    of the queries or labels, or one of the others; the one that narrows most per unit of cost
    stands first.
    """
    from citeforge.evaluator.statistics.compare import load_scores
    from citeforge.plugins.labels.planning.effort import effort_plan
    from citeforge.plugins.labels.tables import render_effort

    options = record_from(EffortOptions, given)
    click.echo(render_effort(effort_plan([load_scores(path) for path in scores], options)))


@labels.command("export")
@path_argument("scores", nargs=-1)
@add_options(field_options(AnnotationOptions))
def export(scores: tuple[Path, ...], **given: Any) -> None:
    """Write a blind, shuffled sample for annotators.

    SCORES are score files made with --details. Beside OUT stands OUT.key.json, which tells whose
    each item is; keep it from the annotators.
    """
    from citeforge.plugins.labels.annotation.sheets import export_sheet

    options = record_from(AnnotationOptions, given)
    task, count = export_sheet(options, scores)
    click.echo(f"{options.out}: {count:,} items. {task.instruction} ({', '.join(task.labels)})")


_PLAN = [n for n in LabelPlanOptions.model_fields if n == "judge" or n not in Judging.model_fields]


@labels.command("plan", cls=ManyOptions)
@path_argument("answers")
@add_options(field_options(LabelPlanOptions, _PLAN))
@verdicts_option
@model_options
@endpoint_options
def plan(answers: Path, **given: Any) -> None:
    """Say how many answers people must label, and draw them.

    ANSWERS is a score file by the judge; or a submission, with --benchmark and --judge. With
    corrected values in the file (score --labels), or with --labels here, these labels are the
    pilot; else the spread is taken from the judge's values.
    """
    from citeforge.plugins.labels.planning.planning import plan_labelling, write_plan
    from citeforge.plugins.labels.tables import render_label_plan

    options = record_from(LabelPlanOptions, given)
    result = plan_labelling(answers, options, run_options(given))
    click.echo(render_label_plan(result, options.half_width))
    if options.out is not None:
        write_plan(options.out, result, options)
        click.echo(f"{options.out}: {len(result.queries):,} queries, for labels export --queries")


@labels.command("import")
@path_argument("files", metavar="LABELS...", nargs=-1, required=True)
@path_option("--key", required=True, help="The OUT.key.json of the export.")
@path_option("--out", help="JSON Lines file.")
@path_option(
    "--benchmark", help="Keep the labels beside this benchmark, in NAME.labels/TASK.jsonl."
)
def import_(files: tuple[Path, ...], key: Path, out: Path | None, benchmark: Path | None) -> None:
    """Take labels back, one file an annotator, and report their agreement."""
    from citeforge.plugins.labels.annotation.labels import import_sheets

    done = import_sheets(files, key, out=out, benchmark=benchmark)
    agreement = done.agreement
    click.echo(
        f"{done.out}: {done.items:,} items of {done.task.name}, {agreement.annotators} annotators"
    )
    click.echo(
        f"agreement on {agreement.items:,} items with several labels: raw {agreement.raw:.3f}, "
        f"Cohen's kappa {agreement.kappa:.3f}, Krippendorff's alpha {agreement.alpha:.3f}"
    )
