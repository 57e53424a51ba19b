"""``citeforge labels plan-queries SCORES…`` and ``plan-effort``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from citeforge.cli.path_options import path_argument
from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.plugins.labels.options import EffortOptions, PlanOptions


@click.command("plan-queries")
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


@click.command("plan-effort")
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
