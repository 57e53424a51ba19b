"""Measures to samples: those that are computed together, in one call."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from citeforge.engines.io.progress import ProgressLines
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.declared import CannotError, Measure, Row
from citeforge.evaluator.statistics.estimates import Measured, joined
from citeforge.schemas.scores import NotComputed

Results = tuple[list[Row], list[NotComputed]]
"""Measures that could be computed, and why others could not."""


def compute(
    inputs: Any, measures: Sequence[Measure], judge: JudgeSession | None, is_of_cells: bool = False
) -> Results:
    """Compute the samples of measures; judged ones once for each repeat of the judge.

    Args:
        inputs: what their functions read.
        measures: all of them read the same.
        judge: whose verdicts they may ask for.
        is_of_cells: whether their functions look at all cells of an experiment and give rows, one
            or more a measure, which keep their order; else rows are in that of the measures.
    """
    repeats = 1 if judge is None else judge.repeats
    by_place: dict[tuple[str, str | None], list[Row]] = {}
    missing: list[NotComputed] = []
    with ProgressLines("measuring", len(measures), "measures") as lines:
        for function in dict.fromkeys(m.compute for m in measures):
            together = [m for m in measures if m.compute == function]
            judged = [m for m in together if "judge" in m.uses]
            lines.advance(0, together[0].name)
            for repeat in range(repeats if judged else 1):
                wanted = judged if repeat else together
                if judge is not None:
                    judge.repeat = repeat
                try:
                    results: list[Any] = list(function(inputs, wanted))
                    if not is_of_cells:
                        samples = dict(results)
                        results = [_row(m, samples[m.name]) for m in wanted]
                except CannotError as error:
                    results = not_computed(dict.fromkeys((m.name for m in wanted), str(error)))
                for row in results:
                    if isinstance(row, Row):
                        by_place.setdefault((row.measure.name, row.place), []).append(row)
                    elif not repeat or row not in missing:
                        missing.append(row)
            lines.advance(len(together))
    if judge is not None:
        judge.repeat = 0
    rows = [
        replace(first, measured=joined([first.measured, *(row.measured for row in more)]))
        for first, *more in by_place.values()
        if 1 + len(more) == (repeats if "judge" in first.measure.uses else 1)
    ]
    if not is_of_cells:
        order = {m.name: i for i, m in enumerate(measures)}
        rows.sort(key=lambda row: order[row.measure.name])
        missing.sort(key=lambda absent: order[absent.name])
    return rows, missing


def _row(measure: Measure, result: Measured | str) -> Row | NotComputed:
    """Make a row of a measure, or the reason why it could not be computed."""
    if isinstance(result, str):
        return NotComputed(name=measure.name, reason=result)
    sample = result.sample
    if sample.has_interval and not sample.always and np.isnan(sample.per_query).all():
        return NotComputed(name=measure.name, reason="no query defines it")
    return Row(measure, result)


def not_computed(reasons: Mapping[str, str]) -> list[NotComputed]:
    """List measures with the reasons why they could not be computed."""
    return [NotComputed(name=name, reason=reason) for name, reason in reasons.items()]
