"""Differences of values that are not means: harmonic means, and ratios of sums."""

import numpy as np
import pytest

from citeforge.evaluator.compare import compare_many, measure_change
from citeforge.evaluator.corrected_ranks import corrected_difference
from citeforge.evaluator.measures.registry import find_measure
from citeforge.evaluator.measures.results import make_entry
from citeforge.evaluator.ranks import rank_systems
from citeforge.evaluator.statistics.changes import change, jackknife_pseudovalues
from citeforge.evaluator.statistics.estimates import (
    Sample,
    harmonic_sample,
    influences,
    mean_sample,
    ratio_sample,
)
from citeforge.evaluator.statistics.ppi import Units, estimate_ppi, linearise
from citeforge.schemas.scores import Corrected, Counts, MeasureScore, ScoreFile
from citeforge.schemas.signature import Signature

pytestmark = pytest.mark.numeric


def entry(name: str, sample: Sample) -> MeasureScore:
    measure = find_measure(name)
    assert measure is not None
    signature = Signature(name, "strict", "1,strict3", "m", "b@00000000")
    return make_entry(measure, sample, signature)


def file(system: str, measure: MeasureScore) -> ScoreFile:
    n = len(measure.per_query)
    counts = Counts(n_queries=n, n_runs=1, n_answered=n, n_missing=0, n_unparsed=0)
    return ScoreFile(
        system=system, submission=f"{system}.jsonl", submission_format="citeforge",
        submission_sha256=system * 4, benchmark="b", benchmark_hash="0" * 64, protocol="strict",
        context="m", counts=counts, query_ids=[f"q{i}" for i in range(n)], measures=[measure],
    )  # fmt: skip


def f1(precision: list[float], recall: list[float]) -> MeasureScore:
    values = (np.array([x], np.float64) for x in (precision, recall))
    return entry("CiteF1", harmonic_sample(*values))


def test_the_difference_is_that_of_the_values_displayed() -> None:
    one, all_ = [1, 1, 1, 1], [1, 1, 0, 0]
    weak, strong = f1(all_, one), f1(one, one)
    # 2 · 1/2 · 1 / (1/2 + 1) = 2/3; the mean of the harmonic means of queries is 1/2
    assert weak.value == pytest.approx(200 / 3)
    assert np.mean(np.array(weak.per_query, float)) == 0.5
    (result,) = compare_many([file("a", weak), file("b", strong)]).differences
    assert result.difference == pytest.approx(100 / 3)
    assert jackknife_pseudovalues(weak).mean() == pytest.approx(2 / 3)


def test_its_standard_error_is_that_of_resampled_queries() -> None:
    rng = np.random.default_rng(5)
    ease = rng.beta(2, 2, 80)
    systems = [
        [np.clip(ease + up + rng.normal(0, 0.2, 80), 0, 1) for _ in range(2)] for up in (0, 0.08)
    ]
    files = [file(n, f1(*s)) for n, s in zip("ab", systems, strict=True)]
    found = measure_change(*(f.measures[0] for f in files), None)
    rows = rng.integers(0, 80, (4_000, 80))

    def value(p: np.ndarray, r: np.ndarray) -> np.ndarray:
        p, r = p[rows].mean(axis=1), r[rows].mean(axis=1)
        return 2 * p * r / (p + r)

    drawn = 100 * (value(*systems[1]) - value(*systems[0]))
    # Half of Student's t interval is 1.99 standard errors with 79 degrees of freedom.
    assert found.half / 1.99 == pytest.approx(drawn.std(), rel=0.05)
    assert rank_systems(files, [f.measures[0] for f in files]) == [(2, 2), (1, 1)]


def test_queries_that_do_not_enter_count_only_where_they_enter_the_other() -> None:
    def multi(of: list[tuple[int, int]]) -> MeasureScore:
        sums = np.array([of], np.float64)
        return entry("ALCE.MultiSupported", ratio_sample(sums))

    # 3 of 4 and 1 of 3 statements; the last query has none by either system
    a, b = multi([(2, 2), (1, 2), (0, 0), (0, 0)]), multi([(1, 1), (0, 1), (0, 1), (0, 0)])
    assert (a.value, b.value) == pytest.approx((75, 100 / 3))
    assert a.influence is not None
    assert a.influence[2:] == [None, None]
    result = change(a, b)
    assert np.isnan(result[3])
    assert result[:3].mean() == pytest.approx(100 / 3 - 75)


def test_means_need_none() -> None:
    assert influences(mean_sample(np.array([[1.0, 0.5, np.nan]]))) is None
    plain = entry("CiteP", mean_sample(np.array([[1.0, 0.5, np.nan]])))
    assert plain.influence is None
    assert np.array_equal(jackknife_pseudovalues(plain), [1.0, 0.5, np.nan], equal_nan=True)


def test_corrected_differences_are_of_corrected_values() -> None:
    """All answers are labelled: what people find, 2 · P · R / (P + R) of the two means."""
    rng = np.random.default_rng(8)

    def corrected() -> tuple[MeasureScore, float]:
        human, judged = (harmonic_sample(*(rng.integers(0, 4, (2, 1, 12)) / 3)) for _ in range(2))
        everyone, nobody = np.ones(12, bool), np.zeros(12, bool)
        units = Units(judged.sums[0], human.sums[0], everyone, nobody)
        result = estimate_ppi(units, human.combine)
        by_judge, by_people = linearise(units, human.combine, result.tuning)
        measure = entry("CiteF1", judged)
        measure.corrected = Corrected(
            value=100 * result.value, low=0, high=100, stderr=None, method="ppi++", n_labels=12,
            signature=measure.signature, human=by_people.tolist(), labelled=list(range(12)),
            linear_judged=by_judge.tolist(), linear_human=by_people.tolist(),
        )  # fmt: skip
        p, r = (human.sums[0, :, k].mean() for k in (0, 2))
        return measure, 200 * p * r / (p + r)

    (a, first), (b, second) = corrected(), corrected()
    difference = corrected_difference(a, b)
    assert difference is not None
    assert difference.value == pytest.approx(second - first)
