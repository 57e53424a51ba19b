"""Measures to samples: those that are computed together, in one call."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from citeforge.engines.io.progress import Lines
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.declared import CannotError, Measure
from citeforge.evaluator.statistics.estimates import Sample, join_repeats
from citeforge.schemas.scores import NotComputed

Results = tuple[list[tuple[Measure, Sample]], list[NotComputed]]
"""Measures with their samples, and why others could not be computed."""


def compute(
    inputs: Any, measures: Sequence[Measure], judge: JudgeSession | None, is_of_cells: bool = False
) -> Results:
    """Compute the samples of measures; judged ones once for each repeat of the judge.

    Args:
        inputs: what their functions read.
        measures: all of them read the same.
        judge: whose verdicts they may ask for.
        is_of_cells: whether their functions look at all cells of an experiment and give samples,
            any number a measure, which keep their order; else samples are in that of the measures.
    """
    repeats = 1 if judge is None else judge.repeats
    by_name = {m.name: m for m in measures}
    by_place: dict[tuple[str, str | None], list[Sample]] = {}
    missing: list[NotComputed] = []
    with Lines("measuring", len(measures), "measures") as lines:
        for function in dict.fromkeys(m.compute for m in measures):
            together = [m for m in measures if m.compute == function]
            judged = [m for m in together if "judge" in m.uses]
            lines.advance(0, together[0].name)
            for repeat in range(repeats if judged else 1):
                wanted = judged if repeat else together
                if judge is not None:
                    judge.repeat = repeat
                try:
                    results = list(function(inputs, wanted))
                    if not is_of_cells:
                        samples = dict(results)
                        results = [(m.name, _defined(samples[m.name])) for m in wanted]
                except CannotError as error:
                    results = [(m.name, str(error)) for m in wanted]
                for name, result in results:
                    if isinstance(result, Sample):
                        by_place.setdefault((name, result.place), []).append(result)
                    elif (absent := NotComputed(name=name, reason=result)) not in missing:
                        missing.append(absent)
            lines.advance(len(together))
    if judge is not None:
        judge.repeat = 0
    computed = [
        (by_name[name], join_repeats(samples))
        for (name, _), samples in by_place.items()
        if len(samples) == (repeats if "judge" in by_name[name].uses else 1)
    ]
    if not is_of_cells:
        order = {m.name: i for i, m in enumerate(measures)}
        computed.sort(key=lambda row: order[row[0].name])
        missing.sort(key=lambda absent: order[absent.name])
    return computed, missing


def _defined(result: Sample | str) -> Sample | str:
    """Give a sample that some query defines, or the reason why a measure has none."""
    if isinstance(result, str) or not result.has_interval or result.always:
        return result
    return "no query defines it" if np.isnan(result.per_query).all() else result


def not_computed(measures: Sequence[Measure], reason: str) -> list[NotComputed]:
    """List measures with the reason why they could not be computed."""
    return [NotComputed(name=measure.name, reason=reason) for measure in measures]
