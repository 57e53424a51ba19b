"""Comparing score files pairwise (METRICS section 6)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from citeforge.engines.files import read_json
from citeforge.engines.textfiles import validated
from citeforge.evaluator.statistics import Floats
from citeforge.schemas.errors import InputError
from citeforge.schemas.scores import SCORES_VERSION, MeasureScore, ScoreFile
from citeforge.schemas.signature import differing_parts

PERMUTATIONS = 10_000
_SEED = 20240914
_CHUNK = 1 << 22
# Quantiles of the normal distribution: two-sided 5 %, and 80 % power.
_ALPHA, _POWER = 1.959963984540054, 0.8416212335729143


@dataclass(frozen=True)
class Difference:
    """Second minus first system on one measure, as displayed.

    Attributes:
        measure: name.
        first: name of the first system.
        second: name of the second.
        n: queries that both define.
        difference: mean paired difference.
        low: lower end of its 95 % interval (bootstrap over queries).
        high: upper end.
        p_t: two-sided paired t-test.
        p_permutation: two-sided paired permutation test (signs flipped).
        p_holm: ``p_permutation`` adjusted by Holm over the measures of one pair of systems.
        detectable: smallest difference found with 80 % power at p < .05.
    """

    measure: str
    first: str
    second: str
    n: int
    difference: float
    low: float
    high: float
    p_t: float
    p_permutation: float
    p_holm: float
    detectable: float


def load_scores(path: Path) -> ScoreFile:
    """Read a score file.

    Raises:
        InputError: not one.
    """
    version = ("scores_version", SCORES_VERSION)
    return validated(ScoreFile, read_json(path), path, allowed="a score file", version=version)


def compare(files: Sequence[ScoreFile]) -> list[Difference]:
    """All pairs of systems on all measures that they share.

    Raises:
        InputError: signatures of a measure differ in anything but the system; names the parts.
    """
    found: list[Difference] = []
    for first, second in itertools.combinations(files, 2):
        pairs = list(_shared(first, second))
        if not pairs:
            raise InputError(f"{first.system} and {second.system} share no measure")
        raw = [_difference(first, second, a, b) for a, b in pairs]
        adjusted = holm([d.p_permutation for d in raw])
        found += [replace(d, p_holm=p) for d, p in zip(raw, adjusted, strict=True)]
    return found


def _shared(first: ScoreFile, second: ScoreFile) -> list[tuple[MeasureScore, MeasureScore]]:
    others = {m.name: m for m in second.measures}
    pairs = []
    for mine in first.measures:
        other = others.get(mine.name)
        if other is None:
            continue
        parts = differing_parts(mine.signature, other.signature)
        if parts:
            raise InputError(
                f"{first.system} and {second.system} are not comparable on {mine.name}: "
                + "; ".join(parts),
                allowed="scores whose signatures differ in nothing",
            )
        if first.query_ids != second.query_ids:
            raise InputError(f"{first.system} and {second.system} list other queries")
        pairs.append((mine, other))
    return pairs


def _difference(
    first: ScoreFile, second: ScoreFile, a: MeasureScore, b: MeasureScore
) -> Difference:
    rows = [
        (x, y)
        for x, y in zip(a.per_query, b.per_query, strict=True)
        if x is not None and y is not None
    ]
    scale = a.scale
    d = scale * np.array([y - x for x, y in rows], np.float64)
    n = len(d)
    mean = math.fsum(d.tolist()) / n if n else math.nan
    low, high = _bootstrap(d)
    sd = float(np.std(d, ddof=1)) if n > 1 else math.nan
    detectable = (_ALPHA + _POWER) * sd / math.sqrt(n) if n > 1 else math.nan
    return Difference(
        a.name,
        first.system,
        second.system,
        n,
        mean,
        low,
        high,
        paired_t(d),
        permutation(d),
        math.nan,
        detectable,
    )


def _bootstrap(d: Floats) -> tuple[float, float]:
    n = len(d)
    if n < 2:
        return math.nan, math.nan
    rng = np.random.default_rng([_SEED, n])
    means = np.concatenate(
        [
            d[rng.integers(0, n, (min(_CHUNK // n + 1, PERMUTATIONS - start), n))].mean(axis=1)
            for start in range(0, PERMUTATIONS, _CHUNK // n + 1)
        ]
    )
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def paired_t(d: Floats) -> float:
    """Two-sided p of a paired t-test; 1 when all differences are zero, NaN below two."""
    from scipy import stats

    if len(d) < 2:
        return math.nan
    if not d.any():
        return 1.0
    sd = float(np.std(d, ddof=1))
    if sd == 0:
        return 0.0
    t = float(np.mean(d)) / (sd / math.sqrt(len(d)))
    return float(2 * stats.t.sf(abs(t), len(d) - 1))


def permutation(d: Floats) -> float:
    """Two-sided p of a paired permutation test: signs flipped at random.

    All sign patterns when there are at most 2**13 of them, else 10,000 drawn ones and the observed.
    """
    moving = d[d != 0]
    n = len(moving)
    if len(d) == 0:
        return math.nan
    if n == 0:
        return 1.0
    observed = abs(float(moving.sum()))
    slack = 1e-9 * float(np.abs(moving).sum())
    if n <= 13:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
        return float((np.abs(signs @ moving) >= observed - slack).mean())
    rng = np.random.default_rng([_SEED, n, 1])
    extreme = 0
    step = max(1, _CHUNK // n)
    for start in range(0, PERMUTATIONS, step):
        size = min(step, PERMUTATIONS - start)
        signs = rng.integers(0, 2, (size, n), dtype=np.int8).astype(np.float64) * 2 - 1
        extreme += int((np.abs(signs @ moving) >= observed - slack).sum())
    return (extreme + 1) / (PERMUTATIONS + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment; NaN stays."""
    known = sorted((p, i) for i, p in enumerate(p_values) if not math.isnan(p))
    adjusted = [math.nan] * len(p_values)
    highest = 0.0
    for rank, (p, i) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        adjusted[i] = highest
    return adjusted
