"""Sentences of a gate decision on one measure: what was found, what decided, what would help."""

import math
from dataclasses import dataclass

import numpy as np

from citeforge.evaluator.gate_rows import Row
from citeforge.evaluator.statistics.paired import PairedChange
from citeforge.evaluator.statistics.power import queries_to_pass
from citeforge.schemas.recipes.gate import Tier
from citeforge.schemas.scores import MeasureScore

POWER = 0.9
"""How often as many queries as a sentence names show that nothing changed."""


@dataclass(frozen=True)
class MeasureTest:
    """A measure of a pair; differences are turned so that a positive one is better.

    Attributes:
        tier: of the measure.
        new: the new system's entry.
        low: lower end of the difference's 95 % interval, corrected where labels allow it, and by
            the worst verdicts where the judge failed.
        likely_high: upper end of Student's t interval, by the best verdicts where the judge failed.
        p: two-sided p of no difference.
        is_corrected: whether the difference is corrected by labels.
        row: the row of the decision, still without verdict and sentence.
        found: changes of the queries.
        sign: −1 where lower is better.
        doubts: how far verdicts that failed could lower the difference, and raise it.
        failures: pairs on which the judge failed, of the baseline and of the new system.
    """

    tier: Tier
    new: MeasureScore
    low: float
    likely_high: float
    p: float
    is_corrected: bool
    row: Row
    found: PairedChange
    sign: int
    doubts: tuple[float, float]
    failures: tuple[int, int]

    @property
    def allowed(self) -> float:
        """Largest loss that the policy allows."""
        return self.row.allowed or 0.0


def judge_doubts(old: MeasureScore, new: MeasureScore, sign: int) -> tuple[float, float]:
    """Compute how far a difference may (fall, rise), once failed judgements are decided.

    Args:
        old: score of the baseline.
        new: score of the new system.
        sign: 1 if a higher value is better, −1 if a lower one is.
    """
    sides = []
    for entry in (old, new):
        value = entry.value or 0.0
        down = value - (value if entry.lower_bound is None else entry.lower_bound)
        up = (value if entry.upper_bound is None else entry.upper_bound) - value
        sides.append((down, up) if sign > 0 else (up, down))
    (old_worse, old_better), (new_worse, new_better) = sides
    return new_worse + old_better, new_better + old_worse


def describe_change(test: MeasureTest, p: float = math.nan) -> str:
    """Write both values, the difference, how many queries differ, and the judge's failures.

    Args:
        test: a measure's change.
        p: adjusted p-value to write; NaN for none.
    """
    row = test.row
    number = "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}"
    after = "" if math.isnan(p) else f" ({number} after Holm)"
    return (
        f"{row.baseline:.2f} → {row.new:.2f}, difference {row.difference:+z.2f} "
        f"[{row.low:+z.2f}, {row.high:+z.2f}] over {row.n:,} queries, of which "
        f"{test.found.n_changed:,} differ{after}{_describe_failures(test)}"
    )


def _describe_failures(test: MeasureTest) -> str:
    """Write how far the judge's failures could move a difference, in points; empty without any."""
    words = ("lower", "raise") if test.sign > 0 else ("raise", "lower")
    moves = [
        f"{word} it by {most:.2f}{more}"
        for word, most, more in zip(words, test.doubts, (" more", ""), strict=True) if most > 0
    ]  # fmt: skip
    old, new = test.failures
    return (
        f"; {old:,} and {new:,} failures of the judge (baseline and new) could {' or '.join(moves)}"
        if moves
        else ""
    )


def describe_fall(test: MeasureTest, p: float) -> str:
    """Write that a measure is worse, by how much, and how much is allowed."""
    lost = max(0.0, -test.low)
    fall = -test.sign * (test.row.difference or 0.0)
    reason = (
        ""
        if fall > test.allowed
        else f"a fall is shown, and one of up to {lost:.2f} is not excluded; "
    )
    return (
        f"{test.row.what} is worse: {describe_change(test, p)}; "
        f"{reason}{test.allowed:.2f} less is allowed."
    )


def describe_doubt(test: MeasureTest) -> tuple[str, int | None]:
    """Write why a measure is not shown to be no worse, and what would show it.

    Returns:
        The sentence, and how many queries would show that nothing changed; None where they do not
        help.
    """
    row, found = test.row, test.found
    lost = max(0.0, -test.low)
    parts = [f"{row.what} may be worse by more than {test.allowed:.2f}: {describe_change(test)}"]
    if not found.n_changed and not test.is_corrected:
        parts[0] = (
            f"{row.what}: 0 of {row.n:,} answers differ: a loss of up to {lost:.1f} points cannot "
            f"be excluded; {test.allowed:.2f} less is allowed{_describe_failures(test)}"
        )
    if found.by_runs > 0 and not test.is_corrected:
        ends = [abs(end - found.value) for end in found.by_queries]
        width = ends[0] if test.sign > 0 else ends[1]
        parts.append(
            f"the interval reaches {width:.2f} down by queries alone, and {found.by_runs:.2f} by "
            "runs and verdicts"
        )
    needed = queries_needed(test)
    if needed is not None and needed > row.n:
        parts.append(
            f"if nothing changed, about {needed:,} queries would show it with {POWER:.0%} power"
        )
        return "; ".join(parts) + ".", needed
    parts += what_helps(test)
    return "; ".join(parts) + ".", None


def what_helps(test: MeasureTest) -> list[str]:
    """List what would show that nothing changed where no number of queries does."""
    if test.allowed == 0:
        return ["no number of queries shows that nothing at all was lost: allow a margin"]
    if max(test.doubts) >= test.allowed:
        return ["no number of queries makes up for them: judge these pairs again"]
    if test.is_corrected:
        return ["more labelled answers make the interval narrower"]
    if test.found.by_runs + max(test.doubts) >= test.allowed:
        return ["no number of queries makes up for that: score more runs"]
    return []


def queries_needed(test: MeasureTest) -> int | None:
    """Estimate how many queries would show, with 90 % power, that nothing changed.

    None where no number does: the margin is 0, the judge's failures or the runs alone take it up,
    or labels decide.
    """
    if test.is_corrected or test.allowed == 0:
        return None
    values = test.sign * test.found.values
    return queries_to_pass(
        values, np.ones(len(values)), test.found.largest, test.allowed - max(test.doubts), POWER,
        test.found.by_runs,
    )  # fmt: skip
