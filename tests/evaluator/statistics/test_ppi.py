"""Prediction-powered inference: against ppi-python, by hand, and by simulation."""

import math

import numpy as np
import pytest

from citeforge.evaluator.statistics.error_rates import (
    Rates,
    compute_rates,
    rogan_gladen,
    why_not_corrected,
)
from citeforge.evaluator.statistics.estimates import Floats, harmonic_sample, mean_sample
from citeforge.evaluator.statistics.intervals import Range
from citeforge.evaluator.statistics.ppi import Units, estimate_ppi, power_tuning

SE = 0.9
SP = 0.8


def units(human: Floats, judged: Floats, n: int) -> Units:
    """The first n are labelled; shape (queries, k)."""
    labelled = np.arange(len(human)) < n
    return Units(judged, human, labelled, np.zeros(len(human), bool))


def drawn(seed: int, size: int, quality: float) -> tuple[Floats, Floats]:
    """(by people, by the judge), shares in quarters."""
    rng = np.random.default_rng(seed)
    human = rng.binomial(4, 0.7, size) / 4
    other = rng.binomial(4, 0.4, size) / 4
    return human, np.where(rng.random(size) < quality, human, other)


@pytest.mark.parametrize(
    "seed, n, total, quality", [(0, 50, 224, 0.8), (1, 20, 1000, 0.3), (2, 150, 200, 0.0)]
)
def test_the_mean_is_that_of_ppi_python(seed: int, n: int, total: int, quality: float) -> None:
    import ppi_py

    human, judged = drawn(seed, total, quality)
    sample = mean_sample(judged[None])
    result = estimate_ppi(
        units(mean_sample(human[None]).sums[0], sample.sums[0], n), sample.combine
    )
    given = (human[:n], judged[:n], judged[n:])
    assert result.value == pytest.approx(ppi_py.ppi_mean_pointestimate(*given).item(), abs=1e-9)
    assert result.tuning == pytest.approx(power_tuning(*given), abs=1e-9)
    # Theirs is the normal interval with divisors n; ours Student's t with divisors n − 1.
    (low,), (high,) = ppi_py.ppi_mean_ci(*given, alpha=0.05)
    theirs = (high - low) / 2 / 1.959963984540054
    given_weight = estimate_ppi(
        units(human[:, None], judged[:, None], n), lambda s: s[..., 0], tuning=result.tuning
    )
    assert given_weight.stderr / theirs == pytest.approx(math.sqrt(n / (n - 1)), rel=0.02)
    # That the weight was fitted to the labels is in ours alone.
    assert 0.999 < result.stderr / given_weight.stderr < 1.2
    fixed = estimate_ppi(units(human[:, None], judged[:, None], n), lambda s: s[..., 0], tuning=1.0)
    at_one = ppi_py.ppi_mean_pointestimate(*given, lam=1).item()
    assert fixed.value == pytest.approx(at_one, abs=1e-9)


def test_labels_alone_by_hand() -> None:
    # No judge worth anything: λ = 0, and the labels' mean with Student's t on 3 degrees of freedom.
    human = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    judged = np.ones(6)
    result = estimate_ppi(units(human[:, None], judged[:, None], 4), lambda s: s[..., 0])
    assert (result.value, result.tuning, result.n_labels) == (3 / 4, 0.0, 4)
    sd = math.sqrt((3 * (1 / 4) ** 2 + (3 / 4) ** 2) / 3)
    assert result.stderr == pytest.approx(sd / math.sqrt(4))
    assert result.high - result.value == pytest.approx(3.182446305284263 * sd / 2)


def test_a_perfect_judge_leaves_the_error_of_the_sample_of_queries() -> None:
    human, _ = drawn(3, 400, 1.0)
    result = estimate_ppi(
        units(human[:, None], human[:, None], 100), lambda s: s[..., 0], tuning=1.0
    )
    assert result.value == pytest.approx(human[100:].mean())
    assert result.stderr == pytest.approx(human[100:].std(ddof=1) / math.sqrt(300))


def test_answers_that_need_no_verdict_need_no_labels() -> None:
    # Four answers cite nothing and are worth 0; of the other four, two are labelled 1 and 0.5.
    judged = np.array([0, 0, 0, 0, 1, 1, 0.5, 1])[:, None]
    human = np.array([0, 0, 0, 0, 1, 0.5, 9, 9])[:, None]
    labelled = np.array([0, 0, 0, 0, 1, 1, 0, 0], bool)
    verdict_free = np.array([1, 1, 1, 1, 0, 0, 0, 0], bool)
    result = estimate_ppi(
        Units(judged, human, labelled, verdict_free), lambda s: s[..., 0], tuning=1.0
    )
    # Judge on the unlabelled: .75; error on the labelled: (0 − .5) / 2; of half of the answers.
    assert result.value == pytest.approx(0.5 * (0.75 - 0.25))
    # Variances of (0, −.5) and of (.5, 1), over two answers each, of half of the answers.
    within = 0.5**2 * (0.125 / 2 + 0.125 / 2)
    assert result.stderr == pytest.approx(math.sqrt(within + 0.5 * 0.5 * 0.5**2 / 8))


def test_clusters_count_once() -> None:
    # Every answer twice: the standard error is that of half as many.
    human, judged = drawn(4, 300, 0.7)
    once = units(human[:, None], judged[:, None], 100)
    twice = Units(
        np.repeat(once.judged, 2, 0), np.repeat(once.human, 2, 0), np.repeat(once.labelled, 2),
        np.repeat(once.verdict_free, 2), np.repeat(np.arange(300), 2),
    )  # fmt: skip
    one = estimate_ppi(once, lambda s: s[..., 0], tuning=0.5)
    two = estimate_ppi(twice, lambda s: s[..., 0], tuning=0.5)
    assert two.value == pytest.approx(one.value)
    assert two.stderr == pytest.approx(one.stderr, rel=0.01)
    alone = estimate_ppi(
        Units(twice.judged, twice.human, twice.labelled, twice.verdict_free), lambda s: s[..., 0],
        tuning=0.5,
    )  # fmt: skip
    assert alone.stderr == pytest.approx(one.stderr / math.sqrt(2), rel=0.01)


def test_harmonic_means_are_covered() -> None:
    """Two measures of the same answers, the judge biased: 60 draws of 60 labels."""
    rng = np.random.default_rng(5)
    size = 20_000
    p, r = rng.binomial(3, 0.6, size) / 3, rng.binomial(4, 0.8, size) / 4
    jp, jr = (np.where(rng.random(size) < 0.7, x, 0.0) for x in (p, r))
    human, judged = harmonic_sample(p[None], r[None]), harmonic_sample(jp[None], jr[None])
    truth = float(human.combine(human.sums[0].mean(axis=0)))
    covered = 0
    for _ in range(60):
        chosen = rng.choice(size, 300, replace=False)
        result = estimate_ppi(
            units(human.sums[0][chosen], judged.sums[0][chosen], 60), human.combine
        )
        covered += result.low <= truth <= result.high
    # Binomial(60, .95): 1 in 1,000 is below 51.
    assert covered >= 51


def test_rogan_gladen_by_hand() -> None:
    # Three statements an answer, all asked; the judge says yes to 2, 1, 3 of them.
    said = np.array([2 / 3, 1 / 3, 1.0])[:, None]
    yes, no = np.ones((3, 1)), np.zeros((3, 1))
    result = rogan_gladen(said, np.stack([yes, no]), lambda s: s[..., 0], Rates(SE, SP, 0.02, 0.03))
    # (q + sp − 1) / (se + sp − 1)
    value = (2 / 3 + SP - 1) / (SE + SP - 1)
    assert result.value == pytest.approx(value)
    of_answers = np.var(said, ddof=1) / 3 / (SE + SP - 1) ** 2
    of_rates = (value / 0.7 * 0.02) ** 2 + ((1 - value) / 0.7 * 0.03) ** 2
    assert result.stderr == pytest.approx(math.sqrt(of_answers + of_rates))
    useless = rogan_gladen(said, np.stack([yes, no]), lambda s: s[..., 0], Rates(0.5, 0.5, 0, 0))
    assert math.isnan(useless.value)


@pytest.mark.parametrize(
    ("found", "rates", "said"),
    [
        # With rates of .130 and 1 - .925 a judge finds 7.5 to 13.0 %, and never 37.1 %.
        (0.371, Rates(0.130, 0.925, 0.01, 0.01), "between 7.5 % and 13.0 %"),
        (0.010, Rates(0.130, 0.925, 0.001, 0.001), "between 7.5 % and 13.0 %"),
        # .52 + .50 - 1 = .02, with a standard error of .028: nothing to divide by.
        (0.371, Rates(0.52, 0.50, 0.02, 0.02), "cannot tell the judge from chance"),
        (0.371, Rates(0.40, 0.50, 0.0, 0.0), "cannot tell the judge from chance"),
        (0.371, Rates(0.90, 0.90, math.nan, math.nan), "cannot tell the judge from chance"),
        # A little beyond an end is what chance does to a share near it.
        (0.89, Rates(0.88, 0.90, 0.03, 0.03), ""),
        (0.371, Rates(0.88, 0.90, 0.03, 0.03), ""),
    ],
)
def test_a_share_that_the_rates_do_not_allow_is_not_corrected(
    found: float, rates: Rates, said: str
) -> None:
    n = 1000
    verdicts = np.zeros((n, 1))
    verdicts[: round(found * n)] = 1
    extremes = np.stack([np.ones((n, 1)), np.zeros((n, 1))])
    within = Range(0, 1)
    estimate = rogan_gladen(verdicts, extremes, lambda s: s[..., 0], rates, within)
    why = why_not_corrected(estimate, rates, within)
    assert said in why if said else not why


def test_rates_by_hand() -> None:
    # (people, judge): 3 supported, 2 found; 2 not supported, 1 found.
    yes, no = True, False
    result = compute_rates([[(yes, yes), (yes, no)], [(yes, yes), (no, no)], [(no, yes)]])
    assert (result.sensitivity, result.specificity) == (2 / 3, 1 / 2)
    # Clustered by answer: residuals of sensitivity are 1 − 2·2/3, 1 − 2/3, 0, over 3 supported.
    squares = (-1 / 3) ** 2 + (1 / 3) ** 2
    assert result.sensitivity_stderr == pytest.approx(math.sqrt(squares * 3 / 2) / 3)
