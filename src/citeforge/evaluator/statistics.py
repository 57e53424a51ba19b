"""Means, ratios, standard errors and intervals (METRICS section 6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RESAMPLES = 10_000
BOOTSTRAP_LIMIT = 20_000
"""Queries above which the normal interval is given instead (and said so)."""

STUDENT_LIMIT = 100
"""Queries below which Student's t interval is given: percentiles of resamples are too narrow there
(of systems without bias, 9 % instead of 5 % seemed biased on 30 queries)."""

_SEED = 20240913
_CHUNK = 1 << 24


@dataclass(frozen=True)
class Sample:
    """What one measure needs of every query.

    Attributes:
        name: measure.
        sums: sufficient statistics, shape (runs, queries, k); a query enters the value through
            their sums over queries.
        combine: sums over queries, shape (…, k), to values, shape (…); NaN where undefined.
        per_query: shape (runs, queries), NaN where the measure is not defined.
        has_interval: whether queries may be resampled; False for measures of whole sets.
        always: whether it has a value, 0, even where no single query has one.
    """

    name: str
    sums: Floats
    combine: Callable[[Floats], Floats]
    per_query: Floats
    has_interval: bool = True
    always: bool = False


@dataclass(frozen=True)
class Measured:
    """A measure's sample, with its upper bound when the judge failed somewhere."""

    sample: Sample
    upper: Sample | None = None


def mean_sample(name: str, values: Floats) -> Sample:
    """A plain mean over the queries that define the measure.

    Args:
        name: measure.
        values: shape (runs, queries), NaN where not defined.
    """
    defined = ~np.isnan(values)
    sums = np.stack([np.where(defined, values, 0.0), defined.astype(np.float64)], axis=-1)
    return Sample(name, sums, lambda s: ratio(s[..., 0], s[..., 1]), values)


def harmonic_sample(name: str, precision: Floats, recall: Floats) -> Sample:
    """Harmonic mean of two means, each over the queries that define it.

    The value of a single query, kept for reports, is the harmonic mean of its own two.
    """
    p, r = mean_sample(name, precision), mean_sample(name, recall)
    sums = np.concatenate([p.sums, r.sums], axis=-1)
    per_query = harmonic(precision, recall)

    def combine(s: Floats) -> Floats:
        return harmonic(ratio(s[..., 0], s[..., 1]), ratio(s[..., 2], s[..., 3]))

    return Sample(name, sums, combine, per_query)


def clustered(sample: Sample, clusters: npt.NDArray[np.int64]) -> Sample:
    """The same sample with one row a cluster of queries, which are then drawn together.

    Args:
        sample: see :class:`Sample`.
        clusters: cluster of each query, 0-based.
    """
    n = int(clusters.max()) + 1
    runs, _, k = sample.sums.shape
    sums = np.zeros((runs, n, k))
    for run in range(runs):
        np.add.at(sums[run], clusters, sample.sums[run])
    per_query = np.full((runs, n), np.nan)
    known = ~np.isnan(sample.per_query)
    for run in range(runs):
        per_query[run, clusters[known[run]]] = 0.0  # only whether it is defined is asked for
    return replace(sample, sums=sums, per_query=per_query)


def ratio(above: Floats, below: Floats) -> Floats:
    """Quotient; NaN where the divisor is zero."""
    out = np.full(np.broadcast(above, below).shape, np.nan)
    np.divide(above, below, out=out, where=below != 0)
    return out


def harmonic(a: Floats, b: Floats) -> Floats:
    """Harmonic mean; 0 where both are 0, NaN where one is undefined."""
    total = a + b
    product = 2 * a * b
    both: Floats = np.where(total == 0, 0.0, ratio(product, total))
    return both


def wilson(share: float, n: float) -> tuple[float, float]:
    """95 % score interval of a share (Wilson 1927, JASA 22).

    For means of values between 0 and 1 that are not all 0 or 1 it is too wide rather than too
    narrow: none of them varies more than share (1 - share).

    Args:
        share: between 0 and 1.
        n: observations, at least 1; of weighted ones as many as vary as little.
    """
    z = 1.959963984540054
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Estimate:
    """A value with its uncertainty, on the raw scale; NaN where there is none.

    Attributes:
        value: averaged over runs.
        low: lower end of the 95 % interval over queries.
        high: upper end.
        stderr: standard error over queries.
        sd_runs: standard deviation between runs; NaN with one run.
        interval: ``bootstrap``, ``t``, ``normal`` or ``none``.
    """

    value: float
    low: float
    high: float
    stderr: float
    sd_runs: float
    interval: str


def estimate_all(
    samples: Sequence[Sample],
    resamples: int = RESAMPLES,
    clusters: npt.NDArray[np.int64] | None = None,
) -> list[Estimate]:
    """Estimates of several measures over the same queries, with one set of resamples.

    Queries are drawn with replacement; every resample keeps all runs of a query together. The
    draws depend on the number of queries alone. Measures that fewer than ``STUDENT_LIMIT`` queries
    enter have Student's t interval instead. With ``clusters``, queries of one cluster are drawn
    together, and clusters are counted.
    """
    if not samples:
        return []
    if clusters is not None:
        samples = [clustered(s, clusters) for s in samples]
    n = samples[0].sums.shape[1]
    by_runs = [s.combine(_exact_sums(s.sums)) for s in samples]
    if n > BOOTSTRAP_LIMIT:
        return [
            _normal(s, runs) if s.has_interval else _without_interval(runs)
            for s, runs in zip(samples, by_runs, strict=True)
        ]
    if n < STUDENT_LIMIT:
        return [
            _student(s, runs) if s.has_interval else _without_interval(runs)
            for s, runs in zip(samples, by_runs, strict=True)
        ]
    widths = [s.sums.shape[0] * s.sums.shape[2] for s in samples]
    columns = np.concatenate([s.sums.transpose(1, 0, 2).reshape(n, -1) for s in samples], axis=1)
    totals = _resampled(columns, resamples)
    estimates = []
    for sample, runs, end in zip(samples, by_runs, np.cumsum(widths).tolist(), strict=True):
        shape = (resamples, sample.sums.shape[0], sample.sums.shape[2])
        part = totals[:, end - shape[1] * shape[2] : end].reshape(shape)
        if not sample.has_interval:
            estimates.append(_without_interval(runs))
            continue
        if _enters(sample).sum() < STUDENT_LIMIT:
            estimates.append(_student(sample, runs))
            continue
        draws = sample.combine(part).mean(axis=1)
        estimates.append(_bootstrap(runs, draws[~np.isnan(draws)]))
    return estimates


def _exact_sums(sums: Floats) -> Floats:
    """Sums over queries that do not depend on the order of addition, shape (runs, k)."""
    return np.array([[math.fsum(run[:, k].tolist()) for k in range(sums.shape[2])] for run in sums])


def _resampled(columns: Floats, resamples: int) -> Floats:
    """Column sums of each resample, shape (resamples, columns)."""
    n = len(columns)
    rng = np.random.default_rng([_SEED, n])
    totals = np.empty((resamples, columns.shape[1]))
    parts = exact_parts(columns, n)
    step = max(1, _CHUNK // n)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        drawn = rng.integers(0, n, (size, n))
        drawn += np.arange(size)[:, None] * n
        weights = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        totals[start : start + size] = exact_product(weights.astype(np.float64), parts)
    return totals


def exact_parts(columns: Floats, weight: int) -> list[Floats]:
    """Summands of ``columns`` with so few digits that weighted sums of each are exact.

    Sums of floats depend on their order, which a matrix product takes from the number of threads.
    Each part is a multiple of one power of two a column, so small that every sum of it, under
    integer weights that add up to ``weight`` at most, is a float64: the order is nothing to it
    (Ozaki et al. 2012, Numerical Algorithms 59). What the parts leave lies below 2**-60 of a
    column's largest value.

    Args:
        columns: shape (n, k).
        weight: bound on the sum of the weights' magnitudes.

    Returns:
        Arrays of shape (n, k), largest first; one where the values are whole numbers.
    """
    digits = 52 - math.ceil(math.log2(max(2, weight)))
    parts: list[Floats] = []
    rest = columns
    top = np.abs(columns).max(axis=0, initial=0.0)
    _, exponents = np.frexp(top)
    unit = exponents.astype(np.int64) - digits
    while not parts or (rest.any() and len(parts) * digits < 60):
        part = np.ldexp(np.rint(np.ldexp(rest, -unit)), unit)
        parts.append(part)
        rest = rest - part
        unit = unit - digits
    return parts


def exact_product(weights: Floats, parts: Sequence[Floats]) -> Floats:
    """``weights @ columns`` for parts of :func:`exact_parts`, the same bits on any processor.

    Args:
        weights: whole numbers, shape (m, n).
        parts: arrays of shape (n, k).

    Returns:
        Shape (m, k).
    """
    product: Floats = weights @ parts[-1]
    for part in parts[-2::-1]:
        product = weights @ part + product
    return product


def _bootstrap(runs: Floats, draws: Floats) -> Estimate:
    value = float(np.mean(runs))
    if math.isnan(value) or len(draws) == 0:
        return Estimate(value, math.nan, math.nan, math.nan, math.nan, "none")
    low, high = np.quantile(draws, [0.025, 0.975])
    spread = float(np.std(draws, ddof=1))
    return Estimate(value, float(low), float(high), spread, _sd(runs), "bootstrap")


def _enters(sample: Sample) -> npt.NDArray[np.bool_]:
    """Queries that the value depends on."""
    weighs: npt.NDArray[np.bool_] = (sample.sums != 0).any(axis=(0, 2))
    return weighs | ~np.isnan(sample.per_query).all(axis=0)


def _student(sample: Sample, runs: Floats) -> Estimate:
    """Student's t with the jackknife's standard error, which for a mean is the usual one."""
    from scipy.special import stdtrit  # scipy.stats has the same, and takes half a second to import

    value = float(np.mean(runs))
    sums = sample.sums[:, _enters(sample)]
    n = sums.shape[1]
    if math.isnan(value) or n < 2:
        return Estimate(value, math.nan, math.nan, math.nan, _sd(runs), "none")
    without_one = sample.combine(_exact_sums(sums)[:, None, :] - sums).mean(axis=0)
    if np.isnan(without_one).any():  # all hangs on one query
        return Estimate(value, math.nan, math.nan, math.nan, _sd(runs), "none")
    stderr = float(np.std(without_one, ddof=1)) * (n - 1) / math.sqrt(n)
    half = float(stdtrit(n - 1, 0.975)) * stderr
    return Estimate(value, value - half, value + half, stderr, _sd(runs), "t")


def _normal(sample: Sample, runs: Floats) -> Estimate:
    """Delta method: the influence of each query on the value, then the normal interval."""
    value = float(np.mean(runs))
    n = sample.sums.shape[1]
    if math.isnan(value) or n < 2:
        return Estimate(value, math.nan, math.nan, math.nan, _sd(runs), "none")
    influence = np.zeros(n)
    for run in sample.sums:
        mean = run.mean(axis=0)
        for k in range(run.shape[1]):
            step = np.zeros_like(mean)
            step[k] = 1e-6 * max(1.0, abs(mean[k]))
            slope = (sample.combine(mean + step) - sample.combine(mean - step)) / (2 * step[k])
            influence += np.nan_to_num(slope) * (run[:, k] - mean[k])
    influence /= len(sample.sums)
    stderr = float(np.std(influence, ddof=1) / math.sqrt(n))
    half = 1.959963984540054 * stderr
    return Estimate(value, value - half, value + half, stderr, _sd(runs), "normal")


def _without_interval(runs: Floats) -> Estimate:
    return Estimate(float(np.mean(runs)), math.nan, math.nan, math.nan, _sd(runs), "none")


def _sd(runs: Floats) -> float:
    return float(np.std(runs, ddof=1)) if len(runs) > 1 else math.nan
