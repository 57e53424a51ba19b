"""Comparisons."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.evaluator.compare import compare, holm, paired_t, permutation
from citeforge.schemas.errors import InputError
from citeforge.schemas.scores import Counts, MeasureScore, ScoreFile
from conftest import Cli


def scores(system: str, values: list[float | None], **changes: str) -> ScoreFile:
    signature = changes.pop("signature", "CiteP|p:strict|gram:1,strict|ctx:mix|bench:b@1|v:1")
    measure = MeasureScore(
        name="CiteP",
        signature=signature,
        scale=100,
        value=0.0,
        low=None,
        high=None,
        stderr=None,
        interval="none",
        n=len(values),
        n_undefined=0,
        per_query=values,
    )
    return ScoreFile(
        system=system,
        submission="s",
        submission_sha256="0",
        benchmark="b",
        benchmark_hash="1",
        protocol="strict",
        context="mix",
        counts=Counts(n_queries=len(values), n_runs=1, n_answered=0, n_missing=0, n_unparsed=0),
        query_ids=[f"q{i}" for i in range(len(values))],
        measures=[measure],
    )


def test_paired_difference() -> None:
    (d,) = compare([scores("a", [0.0, 0.5, None, 1.0]), scores("b", [1.0, 0.5, 0.0, 1.0])])
    assert d.n == 3
    assert d.difference == pytest.approx(100 * (1 + 0 + 0) / 3)
    sd = 100 * math.sqrt(((1 - 1 / 3) ** 2 + 2 * (1 / 3) ** 2) / 2)
    assert d.detectable == pytest.approx((1.959964 + 0.841621) * sd / math.sqrt(3), rel=1e-5)
    # One difference is not zero: both sign patterns are as extreme.
    assert d.p_permutation == d.p_holm == 1.0


def test_t_test_against_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(2)
    a, b = rng.random(50), rng.random(50) + 0.1
    assert paired_t(b - a) == pytest.approx(stats.ttest_rel(b, a).pvalue)
    assert paired_t(np.zeros(5)) == 1.0


def test_exact_permutations() -> None:
    # Of 2**5 sign patterns of five equal differences, two are as extreme as all plus.
    assert permutation(np.ones(5)) == 2 / 32
    # 1, 2, 3: only the two patterns with all signs equal reach 6.
    assert permutation(np.array([1.0, 2.0, 3.0])) == 2 / 8
    # 1, -1: every pattern reaches 0.
    assert permutation(np.array([1.0, -1.0])) == 1.0


def test_drawn_permutations_agree_with_the_normal_approximation() -> None:
    rng = np.random.default_rng(3)
    d = rng.normal(0.15, 1, 400)
    z = d.sum() / math.sqrt((d**2).sum())
    expected = math.erfc(abs(z) / math.sqrt(2))
    assert permutation(d) == pytest.approx(expected, abs=0.01)


def test_holm_by_hand() -> None:
    # Sorted: .01 × 3 = .03, .02 × 2 = .04, .04 × 1 = .04.
    assert holm([0.02, 0.01, 0.04]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert math.isnan(holm([math.nan, 0.01])[0])


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_is_monotone(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(a >= p for a, p in zip(adjusted, p_values, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert all(adjusted[i] <= adjusted[j] for i, j in itertools.pairwise(order))


def test_unlike_signatures_are_refused_by_part() -> None:
    other = "CiteP|p:reference|gram:1,rage|ctx:mix|bench:b@1|v:1"
    with pytest.raises(InputError, match="p: strict / reference; gram: 1,strict / 1,rage"):
        compare([scores("a", [1.0]), scores("b", [1.0], signature=other)])


def test_the_command(cli: Cli, package: Path, tmp_path: Path) -> None:
    for name in ("random", "echo-relevant"):
        cli("run", name, "--benchmark", package, "--out", f"{name}.jsonl")
        cli("score", f"{name}.jsonl", "--benchmark", package, "--out", f"{name}.json")
    result = cli("compare", "random.json", "echo-relevant.json")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("echo-relevant − random\n")
    assert "CiteP " in result.stdout
    assert cli("compare", "random.json").returncode == 2
    (tmp_path / "x.json").write_text(json.dumps({"system": "x"}))
    broken = cli("compare", "random.json", "x.json")
    assert broken.returncode == 1
    assert "a score file" in broken.stderr
