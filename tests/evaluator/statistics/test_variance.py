"""Where uncertainty comes from: closed formulas, statsmodels, and intervals."""

import math
from dataclasses import replace

import numpy as np
import pytest

from citeforge.evaluator.statistics.estimates import Floats, estimate_value, mean_sample
from citeforge.evaluator.statistics.intervals import (
    SOURCES,
    Range,
    _half_width,
    compute_shares,
    estimate_spread,
)

TABLE = np.array([[1.0, 4.0, 7.0], [3.0, 6.0, 15.0]])
"""Two runs of three queries."""


def design(*levels: int, seed: int = 0) -> Floats:
    """Judges, runs, repeats, queries: each source and some interactions move the values."""
    rng = np.random.default_rng(seed)
    values = np.zeros(levels)
    for axes, sd in (((3,), 2.0), ((1,), 1.0), ((0,), 1.5), ((2,), 0.7), ((1, 3), 0.8),
                     ((0, 3), 0.6), ((2, 3), 0.5), ((0, 1, 2, 3), 1.0)):  # fmt: skip
        values = values + rng.normal(0, sd, [n if a in axes else 1 for a, n in enumerate(levels)])
    return values


@pytest.mark.numeric
def test_components_by_hand() -> None:
    result = estimate_spread(TABLE, ("runs", "queries"))
    # Means: runs 4 and 8, queries 2, 5 and 11, all 6.
    of_runs = 3 * ((4 - 6) ** 2 + (8 - 6) ** 2) / 1
    of_queries = 2 * ((2 - 6) ** 2 + (5 - 6) ** 2 + (11 - 6) ** 2) / 2
    # What is left of each value: 1 - 4 - 2 + 6 = 1, 4 - 4 - 5 + 6 = 1, 7 - 4 - 11 + 6 = -2.
    rest = 2 * (1**2 + 1**2 + 2**2) / (1 * 2)
    assert result.components == pytest.approx({
        "runs": (of_runs - rest) / 3, "queries": (of_queries - rest) / 2, "runs:queries": rest,
    })  # fmt: skip
    assert result.levels == {"runs": 2, "queries": 3}
    # The variance of a mean of 6 values: MS(queries) + MS(runs) - MS(rest), over 6.
    assert result.stderr == pytest.approx(math.sqrt((of_queries + of_runs - rest) / 6))
    added = {"queries": (of_queries - rest) / 2 / 3, "runs": (of_runs - rest) / 3 / 2 + rest / 6}
    total = sum(added.values())
    assert compute_shares(result.components, result.levels) == pytest.approx(
        {name: value / total for name, value in added.items()}
    )


def test_one_run_is_the_usual_standard_error() -> None:
    result = estimate_spread(TABLE[1:], ("runs", "queries"))
    assert result.stderr == pytest.approx(np.std([3, 6, 15], ddof=1) / math.sqrt(3))
    assert result.df == 3 - 1
    assert result.components == {"queries": pytest.approx(np.var([3, 6, 15], ddof=1))}


def test_runs_that_differ_by_less_than_chance_leave_half() -> None:
    # Both runs have the mean 2: MS(runs) = 0, and what they add would be -MS(rest).
    result = estimate_spread(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]), ("runs", "queries"))
    assert result.components["runs"] == pytest.approx(-2 / 3)  # (0 - 2) / 3
    assert result.stderr == 0  # every query has the mean 2
    # Means of queries 2, 3, 5, of both runs 10/3: MS(queries) = 2 · 14/3 / 2, MS(runs) = 0, and
    # what is left, 6.33, says that runs differ by less than chance.
    result = estimate_spread(np.array([[1.0, 2.0, 7.0], [3.0, 4.0, 3.0]]), ("runs", "queries"))
    assert result.df == math.inf
    of_queries = 4.303**2 * (2 * 14 / 3 / 2) / 6  # Student's t of 2 degrees of freedom
    assert 1.96 * result.stderr == pytest.approx(math.sqrt(0.5 * of_queries), rel=1e-3)


@pytest.mark.parametrize("df", [1, 2, 4, 9])
@pytest.mark.parametrize("chance", [0.05, 0.2, 0.5, 0.9])
def test_coverage_in_normal_theory(df: int, chance: float) -> None:
    """One source beside many queries, of variance 1: whatever it adds, 95 of 100 hold the mean."""
    rng = np.random.default_rng([df, int(100 * chance)])
    added = np.repeat([0.0, 0.05, 0.2, 1.0, 5.0, 100.0], 3000)
    seen = (added + chance) * rng.chisquare(df, len(added)) / df
    moved = rng.normal(0, np.sqrt(1 + added))
    held = [abs(m) < _half_width(1.0, 10**6, [(s, df)], chance)
            for m, s in zip(moved, seen, strict=True)]  # fmt: skip
    shares = np.reshape(held, (6, 3000)).mean(axis=1)
    # Six shares of 3,000: four standard errors are .016.
    assert 0.935 - 0.016 < shares.min() <= shares.max() < 0.965 + 0.016, shares


@pytest.mark.numeric
@pytest.mark.parametrize("levels", [(1, 3, 1, 8), (1, 3, 4, 6), (3, 2, 1, 5), (3, 2, 2, 4)])
def test_components_are_those_of_statsmodels(levels: tuple[int, ...]) -> None:
    """The expected mean squares, solved for the components, with statsmodels' analysis."""
    pandas = pytest.importorskip("pandas")
    api = pytest.importorskip("statsmodels.formula.api")
    anova_lm = pytest.importorskip("statsmodels.stats.anova").anova_lm
    values = design(*levels)
    names = [s for s, n in zip(SOURCES, levels, strict=True) if n > 1]
    n = dict(zip(SOURCES, levels, strict=True))
    index = np.indices(values.shape).reshape(4, -1)
    frame = pandas.DataFrame(dict(zip(SOURCES, index, strict=True)) | {"y": values.ravel()})
    # All interactions but the highest, which is what one value a cell leaves.
    formula = f"y ~ ({' + '.join(f'C({s})' for s in names)}) ** {len(names) - 1}"
    table = anova_lm(api.ols(formula, frame).fit(), typ=1)
    squares = {
        frozenset(names if row == "Residual" else (p[2:-1] for p in row.split(":"))): square
        for row, square in table["mean_sq"].items()
    }
    result = estimate_spread(values, SOURCES).components
    assert len(result) == len(squares) == 2 ** len(names) - 1
    for effect, component in result.items():
        inside = frozenset(effect.split(":"))
        expected = sum(
            (-1) ** len(e - inside) * square for e, square in squares.items() if inside <= e
        ) / math.prod(n[s] for s in names if s not in inside)
        assert component == pytest.approx(expected)


def test_components_are_those_of_a_mixed_model() -> None:
    """Restricted maximum likelihood gives the same in a balanced design, above 0."""
    pandas = pytest.importorskip("pandas")
    mixed = pytest.importorskip("statsmodels.regression.mixed_linear_model").MixedLM
    values = design(1, 6, 1, 40)[0, :, 0]
    runs, queries = np.indices(values.shape).reshape(2, -1)
    frame = pandas.DataFrame({"y": values.ravel(), "runs": runs, "queries": queries, "all": 1})
    crossed = {s: f"0 + C({s})" for s in ("runs", "queries")}
    fit = mixed.from_formula("y ~ 1", frame, groups="all", vc_formula=crossed).fit()
    result = estimate_spread(values, ("runs", "queries")).components
    by_model = dict(zip(fit.model.exog_vc.names, fit.vcomp, strict=True))
    for source in ("runs", "queries"):
        assert result[source] == pytest.approx(by_model[source], rel=1e-3)
    assert result["runs:queries"] == pytest.approx(fit.scale, rel=1e-3)
    # Its standard error of the mean, too.
    assert estimate_spread(values, ("runs", "queries")).stderr == pytest.approx(
        float(fit.bse_fe["Intercept"]), rel=1e-3
    )


@pytest.mark.numeric
def test_repeats_of_a_judge_are_no_runs() -> None:
    layers = np.array([[1.0, 0.0, 0.5], [1.0, 0.5, 0.5], [0.0, 0.0, 1.0], [0.5, 0.0, 1.0]])
    sample = replace(mean_sample(layers), repeats=2, within=Range(0, 1))
    result = estimate_value(sample)
    means = [(1.5 / 3 + 2 / 3) / 2, (1 / 3 + 1.5 / 3) / 2]  # of two runs
    assert result.value == pytest.approx(sum(means) / 2)
    assert result.sd_runs == pytest.approx(np.std(means, ddof=1))
    assert result.spread is not None
    assert result.spread.levels == {"judges": 1, "runs": 2, "repeats": 2, "queries": 3}
    assert result.values == pytest.approx(layers)


def test_the_interval_is_wider_where_runs_differ() -> None:
    rng = np.random.default_rng(3)
    queries = rng.normal(0, 0.1, 50)
    alike = np.stack([queries + rng.normal(0, 0.01, 50) for _ in range(3)])
    moved = alike + np.array([[-1.0], [0.0], [1.0]])
    same, other = (estimate_value(mean_sample(values)) for values in (alike, moved))
    # Runs alone, of variance 1: Student's t with 2 degrees of freedom, 4.303 · 1 / √3 = 2.48.
    assert other.high - other.low == pytest.approx(2 * 4.303 / math.sqrt(3), rel=0.02)
    assert same.high - same.low == pytest.approx(
        2 * 2.0096 * np.std(queries, ddof=1) / math.sqrt(50), rel=0.05
    )
