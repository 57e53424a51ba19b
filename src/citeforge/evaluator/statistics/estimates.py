"""Means, ratios, standard errors and intervals (docs/definitions.md#intervals)."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.statistics.intervals import (
    ANYTHING,
    COVERAGE,
    NONE,
    SKEW,
    SOURCES,
    STUDENT,
    WILSON,
    Range,
    Spread,
    effective_wilson,
    equal_values_interval,
    estimate_skewness,
    estimate_spread,
    skewed_interval,
    student_interval,
)
from citeforge.schemas.scores import Weights

Floats = npt.NDArray[np.float64]


def column(values: Sequence[float | None]) -> Floats:
    """Turn values into an array, with NaN for None."""
    return np.array([math.nan if v is None else v for v in values], np.float64)


class NumberColumns:
    """Numbers of the answers to one context set, in columns; no text is kept."""

    def __init__(self, n_queries: int, n_columns: int) -> None:
        """Prepare to keep ``n_columns`` numbers of each answer to ``n_queries`` queries."""
        self._shape = n_queries, n_columns
        self._runs: dict[int, tuple[Floats, bytearray]] = {}

    def add(self, run: int, row: int, numbers: Sequence[float]) -> None:
        """Store the numbers of one answer to the query in this row."""
        kept = self._runs.get(run)
        if kept is None:
            kept = np.full(self._shape, np.nan), bytearray(self._shape[0])
            self._runs[run] = kept
        kept[0][row] = numbers
        kept[1][row] = 1

    def missing(self) -> Iterator[tuple[int, int]]:
        """Yield (run, row of the query) of each answer that is not stored."""
        for run, (_, answered) in self._runs.items():
            rows = np.flatnonzero(np.frombuffer(answered, np.uint8) == 0)
            yield from ((run, row) for row in rows.tolist())

    @property
    def runs(self) -> list[int]:
        """Numbers of the runs with answers, in ascending order."""
        return sorted(self._runs)

    def arrays(self) -> list[Floats]:
        """List the columns of all answers, each of shape (runs, queries)."""
        return [
            np.stack([self._runs[run][0][:, at] for run in self.runs])
            for at in range(self._shape[1])
        ]


@dataclass(frozen=True)
class Sample:
    """Sufficient statistics of a measure, for each run and query.

    Of means and ratios; others are classes based on it, with a :meth:`combine` of their own.

    Attributes:
        sums: sufficient statistics, shape (runs, queries, k); a query enters the value through
            their sums over queries.
        per_query: shape (runs, queries), NaN where the measure is not defined.
        has_interval: whether queries may be resampled; False for measures of whole sets.
        always: whether it has a value, 0, even where no single query has one.
        within: what values the measure can have, which its interval depends on.
        repeats: verdicts of each judge on every pair.
        judges: how many there are; rows are in the order (judge, run, repeat).
        upper: the highest possible values, where the judge failed somewhere; None elsewhere.
        place: cells that it is of, where a measure is computed for several.
        p_t: p of the difference that it is.
        table: name of the table whose p are adjusted together; None where it stays out.
        choices: what the benchmark's texts decided, for signatures, such as a tokeniser.
        weights: what decides how much each query weighs in the value.
        derived_from: entry of the scores that it is computed from, whose settings it has, too.
    """

    sums: Floats
    per_query: Floats
    has_interval: bool = True
    always: bool = False
    within: Range = ANYTHING
    repeats: int = 1
    judges: int = 1
    upper: "Sample | None" = None
    place: str | None = None
    p_t: float | None = None
    table: str | None = None
    choices: tuple[str, ...] = ()
    weights: Weights = "own"
    derived_from: str | None = None

    def combine(self, sums: Floats) -> Floats:
        """Compute values from sums over queries: the first sum divided by the second.

        Args:
            sums: shape (…, k).

        Returns:
            Shape (…); NaN where undefined.
        """
        return divide_sums(sums)

    def count_undefined(self, value: float) -> "Sample":
        """Copy the sample so that queries without a value count with the given raw value.

        Each query then has the same weight, whatever the answers contain.

        Args:
            value: of queries that do not define a mean.
        """
        pairs = self.sums.reshape(*self.sums.shape[:2], -1, 2)  # (sum, 1 if defined), per mean
        filled = np.where(pairs[..., 1:] == 0, [value, 1.0], pairs).reshape(self.sums.shape)
        upper = None if self.upper is None else self.upper.count_undefined(value)
        return replace(self, sums=filled, per_query=self.combine(filled), upper=upper)

    def without_queries(self, excluded: npt.NDArray[np.bool_]) -> "Sample":
        """Copy a sample, excluding the queries of a mask."""
        return replace(
            self,
            sums=np.where(excluded[:, None], 0.0, self.sums),
            per_query=np.where(excluded, np.nan, self.per_query),
            upper=None if self.upper is None else self.upper.without_queries(excluded),
        )


def join_repeats(samples: Sequence[Sample]) -> Sample:
    """Join one measure's samples, one for each repeat of the judge, into one sample."""
    has_bounds = any(s.upper is not None for s in samples)
    upper = join_repeats([s.upper or s for s in samples]) if has_bounds else None
    sums = np.concatenate([s.sums[:, None] for s in samples], axis=1)
    values = np.concatenate([s.per_query[:, None] for s in samples], axis=1)
    return replace(
        samples[0], sums=sums.reshape(-1, *sums.shape[2:]),
        per_query=values.reshape(-1, values.shape[2]), repeats=len(samples), upper=upper,
    )  # fmt: skip


def mean_sample(values: Floats) -> Sample:
    """Make the sample of a plain mean over the queries that have a value.

    Args:
        values: shape (runs, queries), NaN where not defined.
    """
    defined = ~np.isnan(values)
    sums = np.stack([np.where(defined, values, 0.0), defined.astype(np.float64)], axis=-1)
    return replace(ratio_sample(sums), weights="equal")


def ratio_sample(sums: Floats) -> Sample:
    """Make the sample of a quotient of sums over queries.

    Args:
        sums: shape (runs, queries, 2): what is above the line, and below.
    """

    return Sample(sums, divide_sums(sums))


def divide_sums(sums: Floats) -> Floats:
    """Divide the first sums by the second; NaN where the divisor is zero."""
    return ratio(sums[..., 0], sums[..., 1])


def sample_between(make_sample: Callable[[Floats], Sample], low: Floats, high: Floats) -> Sample:
    """Make a sample of the lowest values; highest values that differ become its upper bound."""
    same = np.array_equal(low, high, equal_nan=True)
    return replace(make_sample(low), upper=None if same else make_sample(high))


class HarmonicSample(Sample):
    """Sufficient statistics of the harmonic mean of two means."""

    def combine(self, sums: Floats) -> Floats:
        """Compute the harmonic mean of two quotients of sums."""
        return harmonic(divide_sums(sums[..., :2]), divide_sums(sums[..., 2:]))


def harmonic_sample(precision: Floats, recall: Floats) -> Sample:
    """Make the sample of the harmonic mean of two means, such as F1 of precision and recall.

    The value of a single query, kept for reports, is the harmonic mean of its own two.
    """
    p, r = mean_sample(precision), mean_sample(recall)
    sums = np.concatenate([p.sums, r.sums], axis=-1)
    per_query = harmonic(precision, recall)
    return HarmonicSample(sums, per_query, weights="equal")


def clustered(sample: Sample, clusters: npt.NDArray[np.int64]) -> Sample:
    """Sum a sample over clusters of queries, each of which then counts as one query.

    Args:
        sample: see :class:`Sample`.
        clusters: cluster of each query, 0-based.
    """
    n = int(clusters.max()) + 1
    runs, _, k = sample.sums.shape
    sums = np.zeros((runs, n, k))
    for sums_of_run, values in zip(sums, sample.sums, strict=True):
        np.add.at(sums_of_run, clusters, values)
    # The sums may be of all runs together.
    per_query = np.full((len(sample.per_query), n), np.nan)
    run, query = np.nonzero(~np.isnan(sample.per_query))
    per_query[run, clusters[query]] = 0.0  # only whether it is defined is asked for
    return replace(sample, sums=sums, per_query=per_query)


def ratio(above: Floats, below: Floats) -> Floats:
    """Divide two arrays; NaN where the divisor is zero."""
    out = np.full(np.broadcast(above, below).shape, np.nan)
    np.divide(above, below, out=out, where=below != 0)
    return out


def mean_of_runs(values: Floats) -> Floats:
    """Average over runs (the first axis) that define a value; NaN where none does."""
    defined = ~np.isnan(values)
    total = np.where(defined, values, 0.0).sum(axis=0)
    return ratio(total, defined.sum(axis=0))


def harmonic(a: Floats, b: Floats) -> Floats:
    """Compute the harmonic mean of two arrays; 0 where both are 0, NaN where one is undefined."""
    total = a + b
    both: Floats = np.where(total == 0, 0.0, ratio(2 * a * b, total))
    return both


@dataclass(frozen=True)
class Estimate:
    """A value with its uncertainty, on the raw scale; NaN where there is none.

    Attributes:
        value: averaged over runs.
        low: lower end of the 95 % interval.
        high: upper end.
        stderr: standard error.
        sd_runs: standard deviation between runs; NaN with one run.
        interval: ``wilson``, ``skew-t``, ``t`` or ``none``.
        spread: by queries, runs and repeats; None of one run that was judged once.
        values: likewise, of every query, or cluster, shape (rows, queries), with the value as mean.
    """

    value: float
    low: float
    high: float
    stderr: float
    sd_runs: float
    interval: str
    spread: Spread | None = None
    values: Floats | None = None


def estimate_value(
    sample: Sample, clusters: npt.NDArray[np.int64] | None = None, level: float = COVERAGE
) -> Estimate:
    """Estimate a value over queries, its standard error and its interval by the jackknife.

    The standard error is the jackknife's over queries (for a mean, the usual one), with what runs
    and repeats of the judge add to it (:mod:`~citeforge.evaluator.statistics.intervals`); the
    interval is that of :attr:`~citeforge.evaluator.statistics.intervals.Range.interval`. With
    ``clusters``, queries of a cluster stay together, and clusters are counted. ``level`` is how
    often the interval is to cover.
    """
    if clusters is not None:
        sample = clustered(sample, clusters)
    runs = sample.combine(_exact_sums(sample.sums))
    value = float(np.mean(runs))
    sums = sample.sums[:, _has_influence(sample)]
    n = sums.shape[1]
    if math.isnan(value) or n < 2 or not sample.has_interval:
        return _without_interval(runs, sample)
    without_one = sample.combine(_exact_sums(sums)[:, None, :] - sums)
    if np.isnan(without_one.mean(axis=0)).any():  # all hangs on one query
        return _without_interval(runs, sample)
    # Values of queries whose mean is the value of their run: the jackknife's, to first order.
    values = runs[:, None] + (n - 1) * (without_one.mean(axis=1, keepdims=True) - without_one)
    spread = estimate_spread(values.reshape(sample.judges, -1, sample.repeats, n), SOURCES)
    stderr, df, interval = spread.stderr, spread.df, sample.within.interval
    # Papers' own code can give 140 %: an interval of shares would not hold such a value.
    if not sample.within.low <= value <= sample.within.high:
        interval = STUDENT
    if interval == WILSON:
        df = math.inf if _is_binary(sums) else df
        low, high = effective_wilson(value, stderr, n, df, sample.within, level)
    elif interval == SKEW:
        skewness = estimate_skewness(values.mean(axis=0) - values.mean())
        low, high = skewed_interval(value, stderr, df, skewness, level)
    else:
        low, high = student_interval(value, stderr, df, level)
        if stderr == 0 and math.isfinite(sample.within.high - sample.within.low):
            low, high = equal_values_interval(value, n, sample.within, level)
    more = (spread, values) if len(runs) > 1 else (None, None)
    return Estimate(value, low, high, stderr, _sd_over_runs(runs, sample), interval, *more)


def influences(sample: Sample) -> Floats | None:
    """Compute each query's influence on a value that is not a plain mean over queries.

    Returns:
        Shape (queries,), with the sum 0, NaN where a query does not enter; n / (n − 1) times the
        sum of squares is the jackknife's variance. None of plain means, and without an interval.
    """
    if _is_mean(sample) or not sample.has_interval:
        return None
    enters = _has_influence(sample)
    sums = sample.sums[:, enters]
    n = sums.shape[1]
    if n < 2 or np.isnan(sample.combine(_exact_sums(sample.sums))).any():
        return None
    without_one = sample.combine(_exact_sums(sums)[:, None, :] - sums).mean(axis=0)
    if np.isnan(without_one).any():
        return None
    result = np.full(len(enters), np.nan)
    result[enters] = (n - 1) / n * (without_one.mean() - without_one)
    return result


def _is_mean(sample: Sample) -> bool:
    """Whether a sample is a plain mean over queries, as :func:`mean_sample` makes it."""
    if sample.sums.shape[2] != 2:
        return False
    defined = ~np.isnan(sample.per_query)
    plain = np.stack([np.where(defined, sample.per_query, 0.0), defined], axis=-1)
    total = _exact_sums(sample.sums)
    same = np.array_equal(sample.combine(total), ratio(total[:, 0], total[:, 1]), equal_nan=True)
    return same and np.array_equal(sample.sums, plain)


def _exact_sums(sums: Floats) -> Floats:
    """Sum over queries exactly, so that their order does not matter; shape (runs, k)."""
    return np.array([[math.fsum(run[:, k].tolist()) for k in range(sums.shape[2])] for run in sums])


def _has_influence(sample: Sample) -> npt.NDArray[np.bool_]:
    """Make a mask, shape (queries,), of the queries that contribute to a sample's value."""
    weighs: npt.NDArray[np.bool_] = (sample.sums != 0).any(axis=(0, 2))
    return weighs | ~np.isnan(sample.per_query).all(axis=0)


def _is_binary(sums: Floats) -> bool:
    """Whether an estimate is a share of queries, each 0 or 1; ``sums`` are those of a sample."""
    return sums.shape[0] == 1 and sums.shape[2] == 2 and bool(np.isin(sums, (0.0, 1.0)).all())


def _without_interval(runs: Floats, sample: Sample) -> Estimate:
    """Make an estimate from values by run, without standard error and interval."""
    nan = math.nan
    return Estimate(float(np.mean(runs)), nan, nan, nan, _sd_over_runs(runs, sample), NONE)


def _sd_over_runs(values: Floats, sample: Sample) -> float:
    """Compute the standard deviation of values between runs; NaN with a single run."""
    runs = values.reshape(sample.judges, -1, sample.repeats).mean(axis=(0, 2))
    return float(np.std(runs, ddof=1)) if len(runs) > 1 else math.nan
