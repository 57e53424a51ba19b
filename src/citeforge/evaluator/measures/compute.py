"""Measures to samples: those that are computed together, in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from citeforge.engines.io.progress import Lines
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.declared import CannotError, Measure
from citeforge.evaluator.reports.entries import Row
from citeforge.evaluator.statistics.estimates import Measured, joined
from citeforge.schemas.scores import NotComputed

Results = tuple[list[Row], list[NotComputed]]
"""Measures that could be computed, and why others could not."""


def compute(inputs: Any, measures: Sequence[Measure], judge: JudgeSession | None) -> Results:
    """Samples of measures, in their order.

    Args:
        inputs: what their functions read.
        measures: all of them read the same.
        judge: whose verdicts they may ask for.
    """
    order = {m.name: i for i, m in enumerate(measures)}

    def rows_of(asked: Sequence[Measure]) -> Iterator[Row | NotComputed]:
        samples: dict[str, Measured | str] = dict(asked[0].compute(inputs, asked))
        for measure in asked:
            sample = _defined(samples[measure.name])
            yield Row(measure, sample) if isinstance(sample, Measured) else _absent(measure, sample)

    rows, missing = _compute(rows_of, measures, judge)
    rows.sort(key=lambda row: order[row.measure.name])
    return rows, sorted(missing, key=lambda absent: order[absent.name])


def compute_cells(cells: Any, measures: Sequence[Measure], judge: JudgeSession | None) -> Results:
    """Rows of measures that look at all cells of an experiment, one or more a measure."""
    return _compute(lambda asked: asked[0].compute(cells, asked), measures, judge)


def _compute(
    rows_of: Callable[[Sequence[Measure]], Iterable[Row | NotComputed]],
    measures: Sequence[Measure],
    judge: JudgeSession | None,
) -> Results:
    """Rows of measures; of those that ask a judge, by all its verdicts on every pair.

    Args:
        rows_of: calls the function that measures have in common.
        measures: all of them.
        judge: whose verdicts they may ask for.
    """
    repeats = 1 if judge is None else judge.repeats
    rows: dict[tuple[str, str | None], list[Row]] = {}
    missing: list[NotComputed] = []
    with Lines("measuring", len(measures), "measures") as lines:
        for function in dict.fromkeys(m.compute for m in measures):
            together = [m for m in measures if m.compute == function]
            judged = [m for m in together if "judge" in m.uses]
            lines.advance(0, together[0].name)
            for repeat in range(repeats if judged else 1):
                asked = judged if repeat else together
                if judge is not None:
                    judge.repeat = repeat
                try:
                    results = list(rows_of(asked))
                except CannotError as error:
                    results = [_absent(m, str(error)) for m in asked]
                for row in results:
                    if isinstance(row, Row):
                        rows.setdefault((row.measure.name, row.place), []).append(row)
                    elif not repeat or row not in missing:
                        missing.append(row)
            lines.advance(len(together))
    if judge is not None:
        judge.repeat = 0
    return [
        replace(first, measured=joined([first.measured, *(row.measured for row in more)]))
        for first, *more in rows.values()
        if 1 + len(more) == (repeats if "judge" in first.measure.uses else 1)
    ], missing


def _absent(measure: Measure, reason: str) -> NotComputed:
    return NotComputed(name=measure.name, reason=reason)


def not_computed(reasons: Mapping[str, str]) -> list[NotComputed]:
    """Measures to why they could not be computed."""
    return [NotComputed(name=name, reason=reason) for name, reason in reasons.items()]


def _defined(result: Measured | str) -> Measured | str:
    """The same, or that no query defines it; measures of whole sets need none."""
    if isinstance(result, str) or result.sample.always or not result.sample.has_interval:
        return result
    return "no query defines it" if np.isnan(result.sample.per_query).all() else result
