"""Queries that a gate needs, from score files or from assumed shares of changed answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from citeforge.engines.report_table import Displayed, Table, folded_note
from citeforge.evaluator.compare import measure_change
from citeforge.evaluator.gate_policy import PolicySource
from citeforge.evaluator.gate_reasons import POWER, judge_doubts
from citeforge.evaluator.measures.registry import direction
from citeforge.evaluator.rows import main_measure
from citeforge.evaluator.statistics.estimates import Floats, column
from citeforge.evaluator.statistics.power import full_changes, pass_power, queries_to_pass
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
        changed: which answers are assumed to change.
        margin: largest loss that is allowed, in points as displayed.
        needed: queries with which the gate passes as often as asked; None if no number does.
        n: queries that the score files have; 0 without.
        power_now: how often the gate passes with these; None without score files.
    """

    measure: str
    changed: str
    margin: float
    needed: int | None
    n: int = 0
    power_now: float | None = None


@dataclass(frozen=True, repr=False)
class GatePlan(Displayed):
    """How many queries a gate needs.

    Attributes:
        power: how often it is to pass if nothing was lost.
        rows: a row per measure and assumed share.
        notes: what the numbers stand on.
    """

    power: float
    rows: list[PlannedQueries]
    notes: list[str] = field(default_factory=list)

    def _headline(self) -> str:
        """Say what the numbers of the table are."""
        return f"queries with which a gate passes in {self.power:.0%} of runs if nothing was lost"

    def _tables(self) -> Iterator[Table]:
        """Make a table of all rows."""
        head = ["measure", "answers that change", "margin", "queries"]
        cells = [
            [
                r.measure or "right or wrong", r.changed, f"{r.margin:.2f}",
                "no number" if r.needed is None else f"{r.needed:,}",
                *([] if r.power_now is None else [f"{r.power_now:.0%} of {r.n:,}"]),
            ]
            for r in self.rows
        ]  # fmt: skip
        if any(r.power_now is not None for r in self.rows):
            head.append("passes now")
        yield Table(head, cells, left=2, notes=self.notes)

    def text(self, width: int | None = None) -> str:
        """Write the plan as text, no wider than a terminal."""
        (table,) = self._tables()
        notes = [line for note in self.notes for line in folded_note(f"note: {note}", width)]
        return "\n".join([self._headline(), "", *table.text(width), "", *notes])


def plan_gate(
    new: Sequence[ScoreFile], baseline: Sequence[ScoreFile], source: PolicySource,
    margin: float | None = None, power: float = POWER, changed: Sequence[float] = CHANGED,
) -> GatePlan:  # fmt: skip
    """Plan the queries of a gate.

    Args:
        new: score files of any system, whose values stand for those of others; may be empty.
        baseline: score files of a second one; its differences from ``new`` are planned for, too.
        source: the policy, for critical measures and margins.
        margin: points to plan for instead of those of the policy.
        power: how often the gate is to pass if nothing was lost.
        changed: shares of answers that are assumed to change.

    Raises:
        InputError: the files have none of the critical measures.
    """
    notes = [
        "if nothing was lost: as much is gained as lost; plan more where a small loss is expected",
        "0 of n answers differ: a loss of up to 3.7 / n of the range cannot be excluded, whatever "
        "is planned",
    ]
    if not new:
        points = source.policy.margin if margin is None else margin
        rows = [
            PlannedQueries(
                "", f"{share:.0%}", points,
                queries_to_pass(*full_changes(share), 1.0, points / 100, power),
            )
            for share in changed
        ]  # fmt: skip
        return GatePlan(power, rows, ["changed answers go from right to wrong or back", *notes])
    rows = [
        row for file in new for row in _plan_file(file, baseline, source, margin, power, changed)
    ]
    if not rows:
        raise InputError(
            "the score files have no critical measure with values by query",
            path=new[0].submission, allowed="a critical measure that was scored",
            code="not-computed",
        )  # fmt: skip
    notes.insert(0, "an answer that changes gets the value of another query's, drawn at random")
    notes += [note for file in new for note in _open_notes(file, file.system)]
    notes += [note for file in baseline for note in _open_notes(file, f"baseline {file.system}")]
    return GatePlan(power, rows, notes)


def _plan_file(
    file: ScoreFile, baseline: Sequence[ScoreFile], source: PolicySource, margin: float | None,
    power: float, changed: Sequence[float],
) -> Iterator[PlannedQueries]:  # fmt: skip
    """Plan the queries for the critical measures of a score file, as :func:`plan_gate` does."""
    policy = source.policy
    main = main_measure([file])
    critical = policy.critical or ({main: Margin()} if main and direction(main) is not None else {})
    for name, policy_margin in critical.items():
        for entry in file.measures:
            if name not in (entry.name, entry.name.partition("[")[0]) or entry.value is None:
                continue
            points = policy.allowed_drop(policy_margin, entry.value) if margin is None else margin
            n = entry.n
            largest = measure_change(entry, entry, None).largest
            pairs = [(f"{s:.0%}", *_redrawn_changes(entry, s), points, 0.0) for s in changed]
            old = next((m for f in baseline for m in f.measures if m.name == entry.name), None)
            if old is not None and len(old.per_query) == len(entry.per_query):
                found = measure_change(old, entry, None)
                sign = -1 if direction(entry.name) is False else 1
                text = f"as here: {found.n_changed:,} of {found.n:,}"
                room = points - max(judge_doubts(old, entry, sign))
                shares = np.ones(len(found.values))
                pairs.append((text, sign * found.values, shares, room, found.by_runs))
            for text, changes, shares, room, by_runs in pairs:
                yield PlannedQueries(
                    entry.name, text, points,
                    queries_to_pass(changes, shares, largest, room, power, by_runs), n,
                    pass_power(changes, shares, largest, room, n, by_runs),
                )  # fmt: skip


def _open_notes(file: ScoreFile, name: str) -> Iterator[str]:
    """Write notes on what more queries cannot make up for: failed verdicts, and runs that differ.

    Args:
        file: score file.
        name: its name in the notes.
    """
    if failed := file.counts.n_judge_failed:
        yield (
            f"{name}: the judge failed on {failed:,} pairs, and no number of queries makes up for "
            "them: judge these pairs again; only a row `as here` includes them"
        )
    if any(m.variance is not None for m in file.measures):
        yield (
            f"{name}: runs and verdicts that differ widen the interval; only a row `as here` "
            "includes them: if it has no number, score more runs"
        )


def _redrawn_changes(entry: MeasureScore, share: float) -> tuple[Floats, Floats]:
    """List (possible changes of a value in points, share of queries with each) of a made-up system.

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
