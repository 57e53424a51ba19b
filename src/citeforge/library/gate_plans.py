"""``citeforge gate --plan`` in Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from citeforge.evaluator.gate_plan import find_doubts, plan_queries
from citeforge.library.gates import open_policy
from citeforge.library.scores import Scored, get_score_file, list_scores
from citeforge.reports.gate_plan import GatePlan
from citeforge.schemas.recipes.base import make_record
from citeforge.schemas.recipes.gate import GatePlanOptions, GatePolicy


def gate_plan(
    new: Scored | Sequence[Scored] = (), baseline: Scored | Sequence[Scored] = (), *,
    policy: str | Path | GatePolicy | dict[str, Any] | None = None,
    margin: float | None = None, power: float | str = "80%",
    changed: str | Sequence[float] = "2%,10%,50%",
) -> GatePlan:  # fmt: skip
    """Plan how many queries a gate needs, by shares of changed answers; as ``gate --plan``.

    Args:
        new: scores of any system, or files of them; without any, whole answers are assumed.
        baseline: scores of a second one, whose differences are planned for, too.
        policy: file, record, or its fields; None for the main measure and default margins.
        margin: points to plan for (default: the margins of the policy).
        power: how often the gate is to pass if nothing was lost.
        changed: shares of answers that a new version is assumed to change.

    Raises:
        InputError: a file cannot be read, or has no critical measure.
    """
    source = open_policy(policy)
    asked = make_record(GatePlanOptions, margin=margin, power=power, changed=changed)
    ours, theirs = ([*map(get_score_file, list_scores(side))] for side in (new, baseline))
    rows = plan_queries(ours, theirs, source, asked.margin, asked.power, asked.changed)
    return GatePlan(asked.power, rows, [*find_doubts(ours, theirs)])
