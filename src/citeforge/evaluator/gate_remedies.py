"""Doubts that failed judgements leave, and what would show that a measure did not change."""

import numpy as np

from citeforge.evaluator.gate_findings import MeasureTest, Remedy
from citeforge.evaluator.statistics.power import queries_to_pass
from citeforge.schemas.scores import MeasureScore

POWER = 0.9
"""How often as many queries as a decision names show that nothing changed."""


def judge_doubts(old: MeasureScore, new: MeasureScore, direction: int) -> tuple[float, float]:
    """Compute how much a difference could (worsen, improve) if failed judge verdicts were known.

    Args:
        old: score of the baseline.
        new: score of the new system.
        direction: 1 if a higher value is better, −1 if a lower one is.
    """
    sides = []
    for entry in (old, new):
        value = entry.value or 0.0
        down = value - (value if entry.lower_bound is None else entry.lower_bound)
        up = (value if entry.upper_bound is None else entry.upper_bound) - value
        sides.append((down, up) if direction > 0 else (up, down))
    (old_worse, old_better), (new_worse, new_better) = sides
    return new_worse + old_better, new_better + old_worse


def find_remedies(test: MeasureTest) -> tuple[Remedy, ...]:
    """Find a remedy if more queries cannot decide a test: empty, or one (such as ``margin``).

    A remedy is a wider margin, decided verdicts, more labels, or more runs.
    """
    if test.allowed == 0:
        return ("margin",)
    if max(test.doubts) >= test.allowed:
        return ("verdicts",)
    if test.is_corrected:
        return ("labels",)
    if test.found.by_runs + max(test.doubts) >= test.allowed:
        return ("runs",)
    return ()


def queries_needed(test: MeasureTest) -> int | None:
    """Estimate how many queries show with 90 % power that nothing changed; None if none do.

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
