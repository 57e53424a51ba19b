"""Comparisons."""

import itertools
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import citeforge as cf
from citeforge.builders.authorship.labels import choose_label_sets
from citeforge.evaluator.compare import (
    BY_QUERY_NOTE,
    compare_many,
    load_scores,
)
from citeforge.evaluator.statistics.estimates import Floats
from citeforge.evaluator.statistics.significance import (
    count_permutations,
    holm,
    paired_t,
    permutation_tests,
)
from citeforge.reports import markdown
from citeforge.reports.comparison import ComparisonReport, describe_comparison
from citeforge.reports.pages.comparison import comparison_page
from citeforge.reports.terminal import render_differences
from citeforge.schemas.authorship import Design, make_cells
from citeforge.schemas.scores import Counts, MeasureScore, NotComputed, ScoreFile, Variance
from conftest import Inline, refused
from conftest_pages import opened, serious_faults


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


def with_runs(file: ScoreFile, components: dict[str, float]) -> ScoreFile:
    """The mean of three runs."""
    levels = {"judges": 1, "runs": 3, "repeats": 1, "queries": len(file.query_ids)}
    variance = Variance.model_validate({"levels": levels, "components": components, "shares": {}})
    return file.model_copy(
        update={"measures": [m.model_copy(update={"variance": variance}) for m in file.measures]}
    )


def test_intervals_hold_over_runs_too() -> None:
    """All queries differ by a quarter, so that all uncertainty is of runs."""
    files = [scores("a", [0.0, 0.25, 0.5]), scores("b", [0.25, 0.5, 0.75])]
    components = {"runs": 6.0, "queries": 9.0, "runs:queries": 0.0}
    result = describe_comparison(compare_many([with_runs(f, components) for f in files]))
    (row,) = result.differences
    assert row.difference == 25
    (plain,) = compare_many(files).differences
    # Each adds 6 / 3 of 2 degrees of freedom; (2 + 2)² / (2² / 2 + 2² / 2) = 4, t = 2.776.
    for end, alone in ((row.high, plain.high), (row.low, plain.low)):
        added = (end - 25) ** 2 - (alone - 25) ** 2
        assert added == pytest.approx(2.776**2 * (2 + 2), rel=1e-3)
    assert any("p-values, ranks and detectable differences" in line for line in result.cautions)
    assert not any("one run" in line for line in result.cautions)
    result = describe_comparison(compare_many([with_runs(files[0], components), files[1]]))
    assert result.cautions[-1].startswith("b: one run, judged once")
    (row,) = result.differences
    # One side alone: 2 degrees of freedom, t = 4.303.
    added = (row.high - 25) ** 2 - (plain.high - 25) ** 2
    assert added == pytest.approx(4.303**2 * 2, rel=1e-3)
    assert describe_comparison(compare_many(files)).cautions == []


def test_paired_difference() -> None:
    (d,) = compare_many(
        [scores("a", [0.0, 0.5, None, 1.0]), scores("b", [1.0, 0.5, 0.0, 1.0])]
    ).differences
    assert d.n == 3
    assert d.difference == pytest.approx(100 * (1 + 0 + 0) / 3)
    sd = 100 * math.sqrt(((1 - 1 / 3) ** 2 + 2 * (1 / 3) ** 2) / 2)
    # The longer side of the interval, and .84 standard errors for 80 % power.
    reach = max(d.difference - d.low, d.high - d.difference)
    assert d.detectable == pytest.approx(reach + 0.841621 * sd / math.sqrt(3), rel=1e-5)
    # One difference is not zero: both sign patterns are as extreme.
    assert d.p_permutation == d.p_holm == 1.0


@pytest.mark.numeric
def test_t_test_against_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(2)
    a, b = rng.random(50), rng.random(50) + 0.1
    assert paired_t(b - a) == pytest.approx(stats.ttest_rel(b, a).pvalue)
    assert paired_t(np.zeros(5)) == 1.0


def permutation(d: Floats) -> float:
    return permutation_tests([d], [int(np.count_nonzero(np.nan_to_num(d)))])[0]


@pytest.mark.numeric
def test_exact_permutations() -> None:
    # Of 2**5 sign patterns of five equal differences, two are as extreme as all plus.
    assert permutation(np.ones(5)) == 2 / 32
    # 1, 2, 3: only the two patterns with all signs equal reach 6.
    assert permutation(np.array([1.0, 2.0, 3.0])) == 2 / 8
    # 1, -1: every pattern reaches 0.
    assert permutation(np.array([1.0, -1.0])) == 1.0


def test_queries_that_do_not_change_make_no_difference_likelier() -> None:
    # Linear approximations of a ratio move all eight queries, of which two really changed.
    assert permutation_tests([np.ones(8)], [2]) == [2 / 4]
    assert permutation_tests([np.ones(8)], [8]) == [2 / 2**8]
    assert permutation_tests([np.ones(40)], [0]) == [1.0]
    # Equal on paper: .1 + .2 and .3.
    values = [0.1 + 0.2, 0.1 + 0.7, 1.0, 0.5]
    (d,) = compare_many([scores("a", [0.3, 0.8, 0.0, 0.5]), scores("b", values)]).differences
    assert (d.n, d.p_permutation) == (4, 1.0)


@pytest.mark.numeric
def test_rounding_errors_are_no_differences() -> None:
    """Two queries that differ alike: two of their four sign patterns are as far from 0."""
    noise = np.array([1e-12, -2e-12, 1e-12, 3e-13, 0.0])
    assert permutation(np.concatenate([noise, [-66.6666666667, -66.6666666666]])) == 2 / 4
    # .1 + .2 - .3 is 0 on paper, so that all patterns are at least as far from it.
    assert permutation(np.array([0.1, 0.2, -0.3])) == 1.0
    # In thirds: |±1 ±2 ±3 ±3| is at least 1 + 2 + 3 - 3 = 3 but for the 4 patterns of 0 and ±1.
    assert permutation(np.array([1 / 3, 2 / 3, 1.0, -1.0])) == 12 / 16


@pytest.mark.numeric
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


@pytest.mark.numeric
@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_is_monotone(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(a >= p for a, p in zip(adjusted, p_values, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert all(adjusted[i] <= adjusted[j] for i, j in itertools.pairwise(order))


def test_unlike_signatures_are_refused_by_part() -> None:
    other = "CiteP|p:reference|gram:1,rage|ctx:mix|bench:b@1|v:1"
    with refused("not-comparable", cf.InputError) as caught:
        compare_many([scores("a", [1.0]), scores("b", [1.0], signature=other)])
    words = "a and b are not comparable on CiteP: p: strict / reference; gram: 1,strict / 1,rage; "
    assert str(caught.value).startswith(words)


def test_other_queries_and_other_measures_are_not_compared() -> None:
    one = scores("a", [1.0, 0.0])
    for other in (scores("b", [1.0]), several("b", {"M": [1.0, 0.0]})):
        with refused("not-comparable", cf.InputError):
            compare_many([one, other])


def test_the_command(inline: Inline, package: Path, tmp_path: Path) -> None:
    names = ("random", "echo-relevant")
    for name in names:
        cf.run(name, package, tmp_path / f"{name}.jsonl")
        cf.score(tmp_path / f"{name}.jsonl", package).save(tmp_path / f"{name}.json")
    both = ("compare", *(f"{name}.json" for name in names))
    result = inline.ok(*both)
    assert result.stdout.startswith("echo-relevant (control) − random (control)")
    assert "CiteP " in result.stdout
    some = inline(*both, "--measures", "CiteP,Length")
    rows = [line.split()[0] for line in some.stdout.splitlines() if line.startswith("  ")]
    assert rows[-3:] == ["measure", "CiteP", "Length"]  # below a title that may be folded
    (tmp_path / "x.json").write_text(json.dumps({"system": "x"}))
    for words, exit_code, code in (
        (both[:2], 2, "too-few"),
        ((*both[:2], "x.json"), 1, "missing-field"),
        ((*both, "--measures", "Cite"), 2, "unknown-name"),
    ):
        inline.fails(exit_code, code, *words)


def several(system: str, values: dict[str, list[float]], design: Design | None = None) -> ScoreFile:
    files = [scores(system, list(v)) for v in values.values()]
    measures = [
        f.measures[0].model_copy(update={"name": name, "signature": f"{name}|p:strict|v:1"})
        for name, f in zip(values, files, strict=True)
    ]
    return files[0].model_copy(update={"measures": measures, "design": design})


def test_a_measure_that_one_file_lacks_is_named() -> None:
    both = several("a", {"M": [1.0, 0.0], "N": [1.0, 0.0], "O": [1.0, 0.0]})
    one = several("b", {"M": [0.0, 0.0]})
    known = NotComputed(name="O", reason="needs a judge")
    report = describe_comparison(
        compare_many([both, one.model_copy(update={"not_computed": [known]})])
    )
    assert [d.measure for d in report.differences] == ["M"]
    assert report.cautions[:2] == [
        "not compared: b has no N (score it with the same --measures)",
        "not compared: b has no O (needs a judge)",
    ]
    chosen = describe_comparison(compare_many([both, one], measures=["M"]))
    assert not any("not compared" in line for line in chosen.notes)
    with refused("not-comparable", cf.InputError) as caught:
        compare_many([several("a", {"M": [1.0]}), several("b", {"N": [1.0]})])
    assert str(caught.value) == (
        "a (M) and b (N) have no measure in common; score both with the same --measures"
    )


def test_values_that_are_no_means_say_so() -> None:
    """F1 of mean P and R is .75 and .60; the queries' own mean is .50 in one and .60 in two."""
    f1 = {"CiteF1@query": [0.0, 1.0], "CiteF1": [0.0, 1.0]}
    files = [several("a", f1), several("b", {"CiteF1@query": [0.6, 0.6], "CiteF1": [0.6, 0.6]})]
    for file, value in zip(files, (75.0, 60.0), strict=True):
        file.measures[0].value = 100 * sum(v or 0 for v in file.measures[0].per_query) / 2
        file.measures[1].value = value
    first, row = compare_many(files).differences
    assert first.difference == row.difference == pytest.approx(60 - 50)
    assert (first.name, row.name) == ("CiteF1@query", "CiteF1 (by query)")
    told = render_differences([row])
    assert "CiteF1 (by query)" in told
    assert told.endswith(BY_QUERY_NOTE)
    plain = replace(row, by_query=False)
    assert BY_QUERY_NOTE not in render_differences([plain])
    assert BY_QUERY_NOTE in markdown.write_comparison(ComparisonReport([row]))
    assert BY_QUERY_NOTE not in markdown.write_comparison(ComparisonReport([plain]))


def test_a_clear_difference_passes_holm_over_a_large_family() -> None:
    """652 measures, 100 queries, of which one differs by about +62: 652 / 10,001 would be .0652."""
    rng = np.random.default_rng(8)
    noise = {f"m{i}": rng.random(100).round(3).tolist() for i in range(651)}
    one = {"clear": (rng.random(100) < 0.2).astype(float).tolist(), **noise}
    shuffled = {k: rng.permutation(v).tolist() for k, v in noise.items()}
    two = {"clear": (rng.random(100) < 0.82).astype(float).tolist(), **shuffled}
    result = compare_many([several("a", one), several("b", two)]).differences
    assert len(result) == 652
    assert result[0].difference == pytest.approx(62, abs=13)
    # 65,200 sign patterns, none as extreme: p = 1 / 65,201, times 652.
    assert result[0].p_permutation == 1 / (652 * 100 + 1)
    assert result[0].p_holm == pytest.approx(652 / 65_201)
    assert result[0].p_holm < 0.01
    assert sum(d.p_holm < 0.05 for d in result) == 1


def test_the_family_is_all_pairs_and_measures_of_the_table() -> None:
    """Ten equal differences have p = 2 / 2^10, eight 2 / 2^8, two 2 / 2^2; the other measure never
    differs (p = 1)."""
    columns = {"a": [0.0] * 10, "b": [1.0] * 10, "c": [1.0] * 8 + [0.0] * 2}
    files = [several(name, {"m": column, "n": [0.5] * 10}) for name, column in columns.items()]
    pairs = compare_many(files).differences
    assert [(d.first, d.second, d.measure) for d in pairs if d.measure == "m"] == [
        ("a", "b", "m"), ("a", "c", "m"), ("b", "c", "m"),
    ]  # fmt: skip
    # Three pairs on two measures: a family of six, of which 2 / 2^2 · 4 is 1 at most.
    assert [d.p_holm for d in pairs if d.measure == "m"] == [2 / 1024 * 6, 2 / 256 * 5, 1.0]
    assert {d.p_holm for d in pairs if d.measure == "n"} == {1.0}
    # Two pairs on two measures, and on one.
    against = compare_many(files, against="a").differences
    assert [d.p_holm for d in against] == [2 / 1024 * 4, 1.0, 2 / 256 * 3, 1.0]
    one = compare_many(files, ["m"], against="a").differences
    assert [d.p_holm for d in one] == [2 / 1024 * 2, 2 / 256]


def test_the_number_of_sign_patterns_follows_the_family() -> None:
    assert count_permutations(1) == 10_000
    assert count_permutations(652) == 65_200
    assert count_permutations(10**6) == 200_000


def test_measures_of_a_cell_with_equal_values_are_one_test() -> None:
    """Where one passage is relevant, recall is the number of relevant passages cited."""
    hits = [1.0, 0.0, 1.0, 1.0]
    one = {"Auth.R[c]": hits, "Cited.relevant[c]": hits, "Auth.P[d]": hits, "Auth.EM[c]": [1.0] * 4}
    two = {name: [0.0] * 4 for name in one}
    result = compare_many([several("a", one), several("b", two)]).differences
    assert [(d.measure, d.same_as) for d in result] == [
        ("Auth.R[c]", ""), ("Cited.relevant[c]", "Auth.R[c]"), ("Auth.P[d]", ""),
        ("Auth.EM[c]", ""),
    ]  # fmt: skip
    first, second, *_ = result
    assert first.p_holm == second.p_holm  # one test of three


def test_the_placebo_is_a_control_and_no_hypothesis() -> None:
    sets = choose_label_sets(["human_llm", "placebo"], [])
    cells = make_cells((("human", "human"),), sets)
    design = Design(k=3, label_sets=sets, cells=tuple(cells))
    rng = np.random.default_rng(9)
    names = ["CAB.P[hh_human_llm]", "CAB.P[hh_placebo]", "Auth.P[hh_placebo_cf_cf]"]
    files = [
        several(s, {n: rng.random(40).tolist() for n in names}, design) for s in ("a", "b")
    ]  # fmt: skip
    result = {d.measure: d for d in compare_many(files).differences}
    assert result[names[0]].p_holm == result[names[0]].p_permutation  # a family of one
    for name in names[1:]:
        assert math.isnan(result[name].p_holm)
        assert 0 < result[name].p_permutation <= 1


def test_measures_are_chosen_by_name_cell_or_family() -> None:
    values = {n: [0.0, 1.0] for n in ("Auth.P[a]", "Auth.P[b]", "CAB.P[a]", "CiteP", "m")}
    files = [several("a", values), several("b", values)]

    def names(*asked: str) -> set[str]:
        return {d.measure for d in compare_many(files, asked).differences}

    assert names("Auth.P") == {"Auth.P[a]", "Auth.P[b]"}
    assert names("Auth.P[b]", "m") == {"Auth.P[b]", "m"}
    assert names("authorship") == {"Auth.P[a]", "Auth.P[b]", "CAB.P[a]"}
    assert names("rage") == {"CiteP"}
    with refused("unknown-name", noun="measure", value="CAB.R"):
        compare_many(files, ["CAB.R"])


@pytest.mark.numeric
def test_permutations_against_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(5)
    few = rng.normal(0.4, 1, 9).round(2)
    theirs = stats.permutation_test((few,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert permutation(few) == pytest.approx(theirs.pvalue, abs=1e-12)
    many = rng.normal(0.2, 1, 60)
    theirs = stats.permutation_test(
        (many,), np.mean, permutation_type="samples", n_resamples=50_000, rng=3
    )
    # Both are drawn: standard errors of about .002 and .001.
    assert permutation(many) == pytest.approx(theirs.pvalue, abs=0.012)
    undefined = np.where(np.arange(60) % 3, many, np.nan)
    together = permutation_tests([many, undefined, np.full(60, np.nan)], [60, 40, 0])
    assert together[0] == permutation(many)
    assert together[1] == pytest.approx(permutation(undefined[~np.isnan(undefined)]), abs=0.02)
    assert math.isnan(together[2])


def test_constant_differences() -> None:
    assert paired_t(np.full(5, 0.1)) == 0.0
    assert math.isnan(paired_t(np.ones(1)))
    assert permutation(np.array([3.0])) == 1.0
    (row,) = compare_many(
        [scores("a", [0.0, 0.5, 0.25]), scores("b", [0.5, 1.0, 0.75])]
    ).differences
    assert row.difference == 50 and row.is_constant
    # Three equal changes: one of 1 − .025^(1/3) = .71 of the queries may be another.
    assert row.low == pytest.approx(50 - 150 * (1 - 0.025 ** (1 / 3)), abs=0.6)
    assert row.high == pytest.approx(50 + 50 * (1 - 0.025 ** (1 / 3)), abs=0.6)
    assert "+50.00" in render_differences([row])
    assert "(CiteP: the same difference in all)" in render_differences([row])


def test_score_files_that_do_not_fit_together(inline: Inline, tmp_path: Path) -> None:
    """Lists of unlike length, a signature without prefixes, figures that are none, half characters:
    every command that reads score files names the file, and none of them gets further."""
    good = json.loads(scores("a", [0.0, 0.5]).model_dump_json())
    measure = good["measures"][0]
    (tmp_path / "good.json").write_text(json.dumps({**good, "system": "b"}))
    answer = {"query_id": "q0", "query": "?", "passages": [], "statements": [
        {"text": "x", "cited": [0], "wrong": 0, "supported": None}]}  # fmt: skip
    bad = tmp_path / "bad.json"
    for change, code, field in (
        ({"measures": [{**measure, "per_query": [0.0]}]}, "wrong-value", "measures"),
        ({"measures": [{**measure, "signature": "CiteP|strict"}]}, "wrong-value", "signature"),
        ({"measures": [{**measure, "value": "nan"}]}, "wrong-value", "measures.0.value"),
        ({"counts": {**good["counts"], "n_queries": -5}}, "out-of-range", "counts.n_queries"),
        ({"measures": [{**measure, "n_undefined": -1}]}, "out-of-range", "measures.0.n_undefined"),
        ({"measures": [{**measure, "scale": 0}]}, "out-of-range", "measures.0.scale"),
        ({"measures": [measure, measure]}, "wrong-value", "measures"),
        ({"query_ids": ["q0", "q0"]}, "wrong-value", "query_ids"),
        ({"answers": [answer]}, "wrong-value", "answers"),
        (None, "wrong-type", "is not an object"),
        ({"system": "\ud800"}, "bad-json", ""),
    ):
        bad.write_text("[]" if change is None else json.dumps({**good, **change}))
        with refused(code, cf.InputError, path=bad) as caught:
            load_scores(bad)
        assert field in str(caught.value)
    for command in (("report",), ("compare", "good.json")):
        done = inline.fails(1, "bad-json", *command, "bad.json")
        assert (done.error.path, done.error.line) == ("bad.json", 1)


def other_context(system: str, values: list[float | None]) -> ScoreFile:
    signature = "CiteP|p:strict|gram:1,strict|ctx:hard|bench:b@1|v:1"
    return scores(system, values, signature=signature).model_copy(update={"context": "hard"})


def test_a_baseline_instead_of_all_pairs() -> None:
    files = [scores(name, [0.1 * i, 0.5, 0.2]) for i, name in enumerate("abcd")]
    result = compare_many(files, against="b")
    assert [(d.first, d.second) for d in result.differences] == [("b", "a"), ("b", "c"), ("b", "d")]
    assert result.differences[0].difference == pytest.approx(100 * (0.0 - 0.1) / 3)
    with refused("unknown-name", noun="system", value="e"):
        compare_many(files, against="e")


def test_across_what_is_named_alone() -> None:
    few, many = scores("g", [0.2, 0.4]), other_context("g", [0.5, 0.5])
    with refused("not-comparable") as caught:
        compare_many([few, many])
    assert re.search(r"ctx: mix / hard; .*--across", str(caught.value))
    (d,) = compare_many([few, many], across=["contexts"]).differences
    assert (d.first, d.second, d.across) == ("g · mix", "g · hard", ("ctx: mix / hard",))
    assert d.difference == pytest.approx(100 * (0.3 + 0.1) / 2)
    with refused("unknown-name", value="protocol") as unknown:
        compare_many([few, many], across=["protocol"])
    assert "contexts" in str(unknown.value)
    reference = scores("h", [0.1, 0.2], signature="CiteP|p:reference|ctx:hard|bench:b@1|v:1")
    with refused("not-comparable"):
        compare_many([few, reference], across=["contexts"])


def test_one_odd_file_does_not_block_the_others(inline: Inline, tmp_path: Path) -> None:
    files = [scores("a", [0.1, 0.2]), scores("b", [0.3, 0.1]), other_context("c", [0.3, 0.3])]
    found = compare_many(files)
    assert len(found.differences) == 1
    assert len(found.left_out) == 2
    for file in files:
        (tmp_path / f"{file.system}.json").write_text(file.model_dump_json())
    three = ("compare", "a.json", "b.json", "c.json")
    result = inline(*three)
    assert result.returncode == 3
    assert result.stdout.startswith("b · mix − a · mix\n")
    assert "not compared: a · mix and c · hard" in result.stderr
    for ending, start in (("html", "<!doctype"), ("md", "Second"), ("tex", "% Second"),
                          ("csv", "measure,first"), ("json", "{")):  # fmt: skip
        assert inline(*three, "--out", f"out.{ending}").returncode == 3
        assert (tmp_path / f"out.{ending}").read_text().startswith(start)
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["differences"][0]["difference"] == pytest.approx(100 * (0.2 - 0.1) / 2)
    assert inline(*three, "--out", "c.png").code == "bad-option"
    across = inline.ok(*three, "--against", "c", "--across", "contexts")
    assert "a · mix − c · hard (across ctx: hard / mix)" in across.stdout


def test_the_page_of_a_comparison(browser: Any, tmp_path: Path) -> None:
    evil = "<img src=x onerror=\"document.title='owned'\">"
    files = [scores(evil, [0.1 * i for i in range(10)]), scores("b", [1.0] * 10)]
    page = tmp_path / "c.html"
    page.write_text(
        comparison_page(describe_comparison(compare_many([*files, other_context("c", [0.1] * 10)])))
    )
    shown = opened(browser, page, viewport={"width": 390, "height": 844})
    assert shown.evaluate("document.documentElement.scrollWidth") <= 390
    assert serious_faults(shown) == []
    assert shown.title() == "Comparison of systems"
    assert shown.locator("tbody tr").count() == 1
    assert shown.problems == []
