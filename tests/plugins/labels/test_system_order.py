"""Orders of systems by two judges."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from citeforge.plugins.labels.system_order import (
    compare_orders,
    gap_weighted_tau,
    kendall_tau_b,
    spearman,
    tau_ap,
)
from citeforge.schemas.scores import ScoreFile
from conftest import Inline, refused
from conftest_plots import scored

TRUTH = np.array([4.0, 3.0, 2.0, 1.0])


def test_by_hand() -> None:
    top = np.array([3.0, 4.0, 2.0, 1.0])  # the two best swapped
    end = np.array([4.0, 3.0, 1.0, 2.0])  # the two worst swapped
    for swapped in (top, end):
        # 5 pairs of 6 agree: (5 - 1) / 6; rho = 1 - 6 · (1 + 1) / (4 · 15).
        assert kendall_tau_b(swapped, TRUTH) == pytest.approx(4 / 6)
        assert spearman(swapped, TRUTH) == pytest.approx(1 - 12 / 60)
    # At the top the second place has 0 of 1 right, the others all: 2 · (0 + 1 + 1) / 3 - 1;
    # at the end the last place has 2 of 3 right: 2 · (1 + 1 + 2/3) / 3 - 1.
    assert tau_ap(top, TRUTH) == pytest.approx(1 / 3)
    assert tau_ap(end, TRUTH) == pytest.approx(7 / 9)
    # Gaps of all pairs: 1+2+3+1+2+1 = 10; a swap of neighbours takes 2 · 1.
    assert gap_weighted_tau(top, TRUTH) == pytest.approx(8 / 10)
    assert gap_weighted_tau(np.array([10.0, 3.0, 1.0, 2.0]), np.array([10.0, 9.0, 1.1, 1.0])) > 0.98
    for correlation in (kendall_tau_b, spearman, tau_ap, gap_weighted_tau):
        assert correlation(TRUTH, TRUTH) == pytest.approx(1)
        assert correlation(-TRUTH, TRUTH) == pytest.approx(-1)
        assert np.isnan(correlation(TRUTH, np.ones(4))) or correlation is tau_ap


def test_tau_ap_over_all_orders_is_kendalls_tau() -> None:
    """Over all orders of a judge both have the mean 0, and they agree where errors are spread."""
    orders = [np.array(o, float) for o in itertools.permutations(TRUTH)]
    assert sum(tau_ap(o, TRUTH) for o in orders) == pytest.approx(0)
    assert sum(kendalltau(o, TRUTH).statistic for o in orders) == pytest.approx(0)


def side(levels: dict[str, float], noise: int) -> list[ScoreFile]:
    rng = np.random.default_rng(noise)
    return [
        scored(name, {"M": np.clip(rng.normal(level, 0.2, 40), 0, 1).tolist()})
        for name, level in levels.items()
    ]


def test_intervals_over_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citeforge.plugins.labels.system_order.RESAMPLES", 300)
    levels = {"a": 0.8, "b": 0.5, "c": 0.2}
    truth, alike, unlike = side(levels, 1), side(levels, 2), side(dict.fromkeys(levels, 0.5), 3)
    first, other = (compare_orders(files, truth, "M") for files in (alike, unlike))
    for good, bad in zip(first, other, strict=True):
        assert good.low <= good.value <= good.high
        assert good.value == pytest.approx(1)
        assert good.low > 0.6
        assert bad.high - bad.low > good.high - good.low
    assert compare_orders(alike, truth, "M") == first


def test_sides_that_do_not_fit() -> None:
    four = side({"a": 0.8, "b": 0.6, "c": 0.4, "d": 0.2}, 1)
    with refused("no-scores"):
        compare_orders(four, four[:3], "M")
    with refused("too-few"):
        compare_orders(four[:2], four[:2], "M")
    with refused("duplicate-id"):
        compare_orders([*four, four[0]], four, "M")
    with refused("unknown-name", noun="measure", value="N"):
        compare_orders(four, four, "N")
    other = [f.model_copy(update={"query_ids": [f"x{i}" for i in range(40)]}) for f in four]
    with refused("not-comparable"):
        compare_orders(four, other, "M")


def test_meta_eval_compares_orders(inline: Inline, tmp_path: Path) -> None:
    levels = {"a": 0.8, "b": 0.6, "c": 0.4}
    words: list[str] = []
    for option, noise in (("--scores", 1), ("--against", 2)):
        for made in side(levels, noise):
            path = tmp_path / f"{made.system}{noise}.json"
            path.write_text(made.model_dump_json())
            words += [option, path.name]
    result = inline.ok("labels", "meta-eval", *words, "--measure", "M")
    assert "3 systems ordered by M" in result.stdout
    assert "gap-weighted tau    1.000" in result.stdout
    inline.fails(2, "missing-option", "labels", "meta-eval", *words)
