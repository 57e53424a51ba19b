"""Whether intervals over several runs, judges and repeats hold the value over all there are."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from benchmarks.simulated import LEVELS
from citeforge.evaluator.statistics.estimates import estimate_value, mean_sample
from citeforge.evaluator.statistics.intervals import (
    SOURCES,
    Range,
    estimate_spread,
    half_of_difference,
)
from citeforge.schemas.scores import Variance

CROSSED: dict[str, tuple[tuple[int, int, int], dict[str, float]]] = {
    "1 run": ((1, 1, 1), {}), "2 runs": ((1, 2, 1), {}), "3 runs": ((1, 3, 1), {}),
    "2 runs that differ": ((1, 2, 1), {"run": 0.2}),
    "3 runs that differ": ((1, 3, 1), {"run": 0.1}),
    "5 runs that differ": ((1, 5, 1), {"run": 0.1}),
    "3 repeats": ((1, 1, 3), {}), "2 repeats that differ": ((1, 1, 2), {"repeat": 0.1}),
    "3 repeats that differ": ((1, 1, 3), {"repeat": 0.1}),
    "2 judges": ((2, 1, 1), {"judge": 0.3}), "3 judges": ((3, 1, 1), {"judge": 0.3}),
    "5 judges": ((5, 1, 1), {"judge": 0.3}),
    "3 runs, 3 repeats": ((1, 3, 3), {"run": 0.1, "repeat": 0.1}),
    "3 judges, 3 runs, 3 repeats": ((3, 3, 3), {"judge": 0.3, "run": 0.1, "repeat": 0.05}),
    "3 runs, 3 repeats that differ much": ((1, 3, 3), {"run": 0.3, "repeat": 0.3}),
    "2 runs, 2 repeats": ((1, 2, 2), {"run": 0.1, "repeat": 0.1}),
    "2 judges, 3 runs": ((2, 3, 1), {"judge": 0.3, "run": 0.1}),
}  # fmt: skip
"""Judges, runs and repeats; standard deviations of what moves all values of one of them at once."""
STATEMENTS = 5


def crossed_coverage(
    levels: tuple[int, int, int], moves: dict[str, float], n: int, simulations: int, seed: int
) -> float:
    """Share of intervals that hold the value of all queries, runs, judges and repeats there are.

    A statement is supported where a sum of normal effects is above 0: of its query (1), its
    answer (.5), the statement (1), one verdict (.5), of judges with each query (.3) and statement
    (.5) where there are several, and of ``moves``.
    """
    several = 1.0 if levels[0] > 1 else 0.0
    effects = [
        ("q", 1.0), ("uq", 0.5), ("uqs", 1.0), ("jurqs", 0.5), ("jq", 0.3 * several),
        ("juqs", 0.5 * several), ("j", moves.get("judge", 0.0)), ("u", moves.get("run", 0.0)),
        ("jr", moves.get("repeat", 0.0)),
    ]  # fmt: skip
    shape = dict(zip("jurqs", (*levels, n, STATEMENTS), strict=True))
    sd = math.sqrt(sum(v * v for _, v in effects))
    rng = np.random.default_rng([seed, n])
    covered = 0
    for i in range(simulations):
        level = LEVELS[i % len(LEVELS)]
        total = NormalDist(0, sd).inv_cdf(level) + sum(
            rng.normal(0, v, [k if axis in axes else 1 for axis, k in shape.items()])
            for axes, v in effects
            if v
        )
        values = np.mean(np.broadcast_to(total > 0, tuple(shape.values())), axis=-1)
        sample = mean_sample(values.reshape(-1, n))
        estimate = estimate_value(
            replace(sample, within=Range(0, 1), judges=levels[0], repeats=levels[2])
        )
        covered += estimate.low <= level <= estimate.high
    return covered / simulations


def difference_over_runs(
    runs: tuple[int, int], moved: float, n: int, simulations: int, seed: int
) -> float:
    """Share of intervals that hold the difference of two systems over all queries and runs.

    Values are sums of normal effects: of the query (1), of the query with a system (.5), an answer
    (.5), and of each run on all values of a system.

    Args:
        runs: of either system.
        moved: standard deviation of the last.
        n: queries.
        simulations: how many.
        seed: of everything.
    """
    rng = np.random.default_rng([seed, n, *runs])
    covered = 0
    for _ in range(simulations):
        queries, means, sides = rng.normal(0, 1, n), [], []
        for k in runs:
            system = queries + rng.normal(0, 0.5, n)
            values = system + rng.normal(0, 0.5, (k, n)) + rng.normal(0, moved, (k, 1))
            means.append(values.mean(axis=0))
            if k > 1:
                spread = estimate_spread(values[None, :, None], SOURCES)
                sides.append(Variance.model_validate(
                    {"levels": spread.levels, "components": spread.components, "shares": {}}
                ))  # fmt: skip
        change = means[1] - means[0]
        half = half_of_difference(float(change.std(ddof=1)) / math.sqrt(n), n, sides)
        covered += abs(float(change.mean())) <= half
    return covered / simulations
