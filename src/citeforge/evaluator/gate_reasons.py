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
        doubt: how far verdicts that failed could lower the difference.
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
    doubt: float
    failures: tuple[int, int]

    @property
    def allowed(self) -> float:
        """Largest loss that the policy allows."""
        return self.row.allowed or 0.0


def describe_change(test: MeasureTest) -> str:
    """Write both values, the difference with its interval, and how many queries differ."""
    row = test.row
    return (
        f"{row.baseline:.2f} → {row.new:.2f}, difference {row.difference:+z.2f} "
        f"[{row.low:+z.2f}, {row.high:+z.2f}] over {row.n:,} queries, of which "
        f"{test.found.n_changed:,} differ"
    )


def describe_fall(test: MeasureTest, p: float) -> str:
    """Write that a measure is worse, and why that fails."""
    after = "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}"
    lost = max(0.0, -test.low)
    fall = -test.sign * (test.row.difference or 0.0)
    reason = (
        ""
        if fall > test.allowed
        else f"a fall is shown, and one of up to {lost:.2f} is not excluded; "
    )
    return (
        f"{test.row.what} is worse: {describe_change(test)} ({after} after Holm); "
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
            f"be excluded; {test.allowed:.2f} less is allowed"
        )
    if test.doubt > 0:
        old, new = test.failures
        parts.append(
            f"{old:,} and {new:,} failures of the judge (baseline and new) could lower it by "
            f"{test.doubt:.2f} more"
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
        parts.append(f"if nothing changed, about {needed:,} queries would show it")
        return "; ".join(parts) + ".", needed
    parts += what_helps(test)
    return "; ".join(parts) + ".", None


def what_helps(test: MeasureTest) -> list[str]:
    """List what would show that nothing changed where no number of queries does."""
    if test.allowed == 0:
        return ["no number of queries shows that nothing at all was lost: allow a margin"]
    if test.doubt >= test.allowed:
        return ["no number of queries makes up for them: judge these pairs again"]
    if test.is_corrected:
        return ["more labelled answers make the interval narrower"]
    if math.hypot(test.found.by_runs, test.doubt) >= test.allowed:
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
        values, np.ones(len(values)), test.found.largest, test.allowed - test.doubt, POWER,
        test.found.by_runs,
    )  # fmt: skip
