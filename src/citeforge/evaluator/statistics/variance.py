"""How uncertain a mean over queries, runs, judges and their repeats is, and where that comes from.

A crossed design with one value a cell and random effects: components by the closed formulas of the
analysis of variance. What all other sources add is pooled (Satterthwaite 1946), and joined with
queries by the modified large-sample method of Graybill & Wang (1980, Journal of the American
Statistical Association 75).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import get_args

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.statistics.intervals import LEVEL, quantile
from citeforge.schemas.scores import Source

SOURCES: tuple[Source, ...] = get_args(Source)
"""Where uncertainty comes from, in the order of axes."""
_NESTED = ("queries", "runs", "judges", "repeats")
"""An interaction is the share of its last source in this order."""
_LEAST_SHARE = 0.75
"""Of the variance over queries alone, what is left at least when runs, judges and repeats happen to
differ by less than chance: of the shares tried the one with coverage nearest to .95."""
Effect = tuple[int, ...]
Components = dict[str, float]
"""Variance of single values by effect: a source, or several joined by ``:`` (their interaction)."""


@dataclass(frozen=True)
class Spread:
    """What a mean over a crossed design varies by.

    Attributes:
        stderr: standard error of the mean over new queries, runs, judges and repeats.
        df: degrees of freedom that give Student's t interval the width of Graybill and Wang's.
        components: unbiased estimates, which may be negative.
        levels: how many there are of every source.
    """

    stderr: float
    df: float
    components: Components
    levels: dict[str, int]


def spread_of(values: npt.NDArray[np.float64], sources: Sequence[str]) -> Spread:
    """Spread of the mean of all values.

    Args:
        values: one a cell; sources with one level say nothing, and are passed over.
        sources: of the axes; queries last, two or more.
    """
    levels = dict(zip(sources, values.shape, strict=True))
    several = [s for s in sources if levels[s] > 1]
    squares = _mean_squares(values.squeeze())
    components = {
        ":".join(several[i] for i in effect): _signed(squares, effect)
        / math.prod(levels[s] for i, s in enumerate(several) if i not in effect)
        for effect in squares
    }
    return _spread(squares, components, levels)


def spread_at(components: Components, levels: Mapping[str, int]) -> Spread:
    """Spread to expect of a mean over so many levels; components below 0 count as 0.

    Args:
        components: of all sources that have several levels.
        levels: of every source; queries last, two or more.
    """
    several = [s for s in levels if levels[s] > 1]
    known = {tuple(e.split(":")): max(0.0, v) for e, v in components.items()}
    squares = {
        effect: sum(
            value * math.prod(levels[s] for s in several if s not in sources)
            for sources, value in known.items()
            if {several[i] for i in effect} <= set(sources)
        )
        for effect in _effects(len(several))
    }
    return _spread(squares, components, levels)


def _spread(
    squares: Mapping[Effect, float], components: Components, levels: Mapping[str, int]
) -> Spread:
    n = [k for k in levels.values() if k > 1]
    last, df = len(n) - 1, float(n[-1] - 1)
    total = max(-_signed(squares, ()), _LEAST_SHARE * squares[last,])  # of the sum of all values
    parts = [max(0.0, squares[i,] - squares[i, last]) for i in range(last)]
    if total > 0 and sum(parts) > 0:
        from scipy.special import stdtridf

        z = quantile(math.inf)
        pooled = sum(parts) ** 2 / sum(v**2 / (k - 1) for k, v in zip(n, parts, strict=False))
        of_queries, of_others = ((quantile(d) / z) ** 2 - 1 for d in (df, pooled))
        excess = math.hypot(of_queries * squares[last,], of_others * sum(parts))
        df = float(stdtridf((1 + LEVEL) / 2, z * math.sqrt(1 + excess / total)))
    stderr = math.sqrt(total / math.prod(n))
    return Spread(stderr, df, dict(components), dict(levels))


def _effects(n: int) -> list[Effect]:
    return [e for k in range(1, n + 1) for e in combinations(range(n), k)]


def _mean_squares(values: npt.NDArray[np.float64]) -> dict[Effect, float]:
    """Mean square of every effect: of the axes in its key."""
    axes, effects = range(values.ndim), [(), *_effects(values.ndim)]
    means = {
        e: values.mean(axis=tuple(a for a in axes if a not in e), keepdims=True) for e in effects
    }
    found: dict[Effect, float] = {}
    for effect in effects[1:]:
        inside = [e for e in effects if set(e) <= set(effect)]
        moved = sum((-1) ** (len(effect) - len(e)) * means[e] for e in inside)
        squares = float(np.square(moved).sum()) * values.size / np.size(moved)
        found[effect] = squares / math.prod(values.shape[a] - 1 for a in effect)
    return found


def _signed(squares: Mapping[Effect, float], effect: Effect) -> float:
    """Mean squares of the effects that hold one, those of odd distance subtracted."""
    return math.fsum(
        (-1) ** (len(e) - len(effect)) * value
        for e, value in squares.items()
        if set(effect) <= set(e)
    )


def shares_of(components: Components, levels: Mapping[str, int]) -> dict[str, float]:
    """What every source adds to the squared standard error, as shares of 1; empty where nothing
    varies."""
    found = {s: 0.0 for s in _NESTED if levels.get(s, 1) > 1}
    for effect, value in components.items():
        sources = effect.split(":")
        found[max(sources, key=_NESTED.index)] += max(0.0, value) / math.prod(
            levels[s] for s in sources
        )
    total = sum(found.values())
    return {s: v / total for s, v in found.items()} if total > 0 else {}
