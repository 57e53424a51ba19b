"""Combine the values of one submission by several judges."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from citeforge.evaluator.measures.registry import find_measure
from citeforge.evaluator.statistics.changes import jackknife_pseudovalues
from citeforge.evaluator.statistics.estimates import Floats, estimate_value, mean_sample
from citeforge.evaluator.statistics.intervals import SOURCES, Components
from citeforge.schemas.errors import InputError
from citeforge.schemas.scores import MeasureScore, ScoreFile


def values_by_layer(file: ScoreFile, entry: MeasureScore) -> Floats:
    """Get a measure's unscaled values as an array (runs, judge repeats, queries or clusters).

    Their mean is the value of the measure.
    """
    variance = entry.variance
    if variance is not None and variance.values:
        shape = variance.levels["runs"], variance.levels["repeats"], -1
        return np.array(variance.values).reshape(shape)
    values = jackknife_pseudovalues(entry)
    defined = ~np.isnan(values)
    values = values[defined]
    if file.clusters:
        _, clusters = np.unique(np.array(file.clusters)[defined], return_inverse=True)
        sums = np.bincount(clusters, values)
        return np.asarray(sums * (len(sums) / len(values)), np.float64)[None, None]
    return values[None, None]


class JudgesEstimate(NamedTuple):
    """Mean of a measure over several judges.

    Attributes:
        value: mean, as a raw value.
        low: lower end of its interval.
        high: upper end.
        levels: number of judges, runs, repeats and queries.
        components: variance by source.
    """

    value: float
    low: float
    high: float
    levels: dict[str, int]
    components: Components


def over_judges(name: str, values: Sequence[Floats]) -> JudgesEstimate:
    """Estimate a measure's mean over several judges, with an interval and its variance by source.

    Sources of variance are judges, runs, repeats of a verdict, and queries.

    Args:
        name: name of the measure, for its range and for errors.
        values: raw values by each judge, shape (runs, repeats, queries).

    Raises:
        InputError: the judges give values to different queries, or there are too few for an
            interval.
    """
    if len({v.shape[2] for v in values}) > 1:
        raise InputError(
            f"{name}: the judges give values to different queries",
            allowed="a measure that all judges define on the same queries",
            code="not-comparable",
        )
    for axis in (1, 0):  # unequal numbers of repeats or runs are averaged
        if len({v.shape[axis] for v in values}) > 1:
            values = [v.mean(axis=axis, keepdims=True) for v in values]
    layers = np.stack(values)
    judges, _, repeats, n = layers.shape
    if n < 2:
        raise InputError(
            f"{name} has no interval", allowed="a measure of two queries or more", code="too-few"
        )
    declared = find_measure(name.partition("[")[0])
    sample = mean_sample(layers.reshape(-1, n))
    if declared is not None:
        sample = replace(sample, within=declared.range)
    estimate = estimate_value(replace(sample, judges=judges, repeats=repeats))
    spread = estimate.spread
    if spread is None:
        levels = dict(zip(map(str, SOURCES), layers.shape, strict=True))
        components = {"queries": n * estimate.stderr**2}
    else:
        levels, components = spread.levels, spread.components
    return JudgesEstimate(estimate.value, estimate.low, estimate.high, levels, components)
