"""Queries that a gate needs, from score files or from assumed shares of changed answers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from citeforge.evaluator.compare import measure_change
from citeforge.evaluator.gate_policy import PolicySource
from citeforge.evaluator.gate_remedies import POWER, judge_doubts
from citeforge.evaluator.measures.registry import direction
from citeforge.evaluator.rows import main_measure
from citeforge.evaluator.statistics.estimates import Floats, column
from citeforge.evaluator.statistics.power import binary_changes, pass_power, queries_to_pass
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.gate import Margin
from citeforge.schemas.scores import MeasureScore, ScoreFile

CHANGED = (0.02, 0.1, 0.5)
"""Shares of answers that a new version is assumed to change: few, some, many."""
_MOST_VALUES = 40
"""Values of a measure that stand for all, where there are more."""


@dataclass(frozen=True)
class PlannedQueries:
    """Queries that show that a measure did not fall by more than its margin, if nothing was lost.

    Attributes:
        measure: name; empty for whole answers that are right or wrong.
        share: share of answers that are assumed to change; None for those that two systems change.
        margin: largest loss that is allowed, in points as displayed.
        needed: queries with which the gate passes as often as asked; None if no number does.
        n: queries that the score files have; 0 without.
        n_changed: queries on which two systems differ; 0 where a share is assumed.
        power_now: how often the gate passes with these; None without score files.
    """

    measure: str
    share: float | None
    margin: float
    needed: int | None
    n: int = 0
    n_changed: int = 0
    power_now: float | None = None


@dataclass(frozen=True)
class PlanDoubt:
    """What more queries cannot make up for in the scores of one system.

    Attributes:
        system: name.
        is_baseline: whether it is the baseline.
        n_judge_failed: pairs on which the judge failed.
        varies: whether several runs or verdicts were scored, which differ.
    """

    system: str
    is_baseline: bool
    n_judge_failed: int
    varies: bool


def plan_queries(
    new: Sequence[ScoreFile], baseline: Sequence[ScoreFile], policy_source: PolicySource,
    margin: float | None = None, power: float = POWER, changed_shares: Sequence[float] = CHANGED,
) -> list[PlannedQueries]:  # fmt: skip
    """Compute how many queries a gate needs to pass, for each assumed share of changed answers.

    Args:
        new: score files of any system, whose values stand for those of others; may be empty.
        baseline: score files of a second one; its differences from ``new`` are planned for, too.
        policy_source: the policy, for critical measures and margins.
        margin: points to plan for instead of those of the policy.
        power: how often the gate is to pass if nothing was lost.
        changed_shares: shares of answers that are assumed to change.

    Raises:
        InputError: the files have none of the critical measures.
    """
    if not new:
        points = policy_source.policy.margin if margin is None else margin
        return [
            PlannedQueries(
                "", share, points, queries_to_pass(*binary_changes(share), 1.0, points / 100, power)
            )
            for share in changed_shares
        ]
    rows = [
        row
        for file in new
        for row in _plan_file(file, baseline, policy_source, margin, power, changed_shares)
    ]
    if not rows:
        raise InputError(
            "the score files have no critical measure with values by query",
            path=new[0].submission, allowed="a critical measure that was scored",
            code="not-computed",
        )  # fmt: skip
    return rows


def find_doubts(new: Iterable[ScoreFile], baseline: Iterable[ScoreFile]) -> Iterator[PlanDoubt]:
    """Yield doubts that more queries cannot remove: failed verdicts, runs of different values."""
    for files, is_baseline in ((new, False), (baseline, True)):
        for file in files:
            failed = file.counts.n_judge_failed
            varies = any(m.variance is not None for m in file.measures)
            if failed or varies:
                yield PlanDoubt(file.system, is_baseline, failed, varies)


def _plan_file(
    file: ScoreFile, baseline: Sequence[ScoreFile], policy_source: PolicySource,
    margin: float | None, power: float, changed_shares: Sequence[float],
) -> Iterator[PlannedQueries]:  # fmt: skip
    """Compute how many queries a file's critical measures need, by share of changed answers."""
    policy = policy_source.policy
    main = main_measure([file])
    critical = policy.critical or ({main: Margin()} if main and direction(main) is not None else {})
    for name, policy_margin in critical.items():
        for entry in file.measures:
            if name not in (entry.name, entry.name.partition("[")[0]) or entry.value is None:
                continue
            points = policy.allowed_drop(policy_margin, entry.value) if margin is None else margin
            n = entry.n
            largest = measure_change(entry, entry, None).largest
            cases: list[tuple[float | None, int, Floats, Floats, float, float]] = [
                (share, 0, *_redrawn_changes(entry, share), points, 0.0) for share in changed_shares
            ]
            old = next((m for f in baseline for m in f.measures if m.name == entry.name), None)
            if old is not None and len(old.per_query) == len(entry.per_query):
                found = measure_change(old, entry, None)
                sign = -1 if direction(entry.name) is False else 1
                room = points - max(judge_doubts(old, entry, sign))
                weights = np.ones(len(found.values))
                values = sign * found.values
                cases.append((None, found.n_changed, values, weights, room, found.by_runs))
            for share, n_changed, changes, shares, room, by_runs in cases:
                yield PlannedQueries(
                    entry.name, share, points,
                    queries_to_pass(changes, shares, largest, room, power, by_runs), n, n_changed,
                    pass_power(changes, shares, largest, room, n, by_runs),
                )  # fmt: skip


def _redrawn_changes(entry: MeasureScore, share: float) -> tuple[Floats, Floats]:
    """Return (changes of values, frequency of each) if ``share`` of queries got another's value.

    Args:
        entry: score of a real system, whose values by query are drawn from.
        share: share of queries whose value is replaced by that of another query, at random.
    """
    values = column(entry.per_query)
    values = entry.scale * values[~np.isnan(values)]
    points, counts = np.unique(values, return_counts=True)
    weights = counts / len(values)
    if len(points) > _MOST_VALUES:
        points = np.quantile(values, (np.arange(_MOST_VALUES) + 0.5) / _MOST_VALUES)
        weights = np.full(_MOST_VALUES, 1 / _MOST_VALUES)
    changes = np.subtract.outer(points, points).ravel()
    return np.append(changes, 0.0), np.append(share * np.outer(weights, weights), 1 - share)
