"""How alike runs are, by hand (docs/measures/consistency.md)."""

from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from conftest import refused, write_jsonl
from conftest_evaluator import Facts

CITED, SAID, VARIATION = (f"Consistency.{name}" for name in ("Cited", "Statements", "Variation"))


def runs_of(benchmark: cf.Benchmark, *outputs: str) -> list[dict[str, Any]]:
    """Answers to the first query, one of each run; others are the same in all runs."""
    return [
        {"query_id": query, "run": run, "output": output if row == 0 else "A is [1]."}
        for run, output in enumerate(outputs)
        for row, query in enumerate(benchmark.query_ids)
    ]


@pytest.mark.parametrize("protocol", ["strict", "reference"])
def test_cited_passages_are_compared_by_pairs_of_runs(
    benchmark: cf.Benchmark, protocol: str
) -> None:
    rows = runs_of(benchmark, "A is [1][2].", "A is [1].", "B is [1][1].")
    found = cf.score(rows, benchmark, [CITED], protocol=protocol)
    values = [pytest.approx((1 / 2 + 1 / 2 + 1 / 1) / 3), *[1] * 29]
    assert found[CITED].per_query == values
    assert found[CITED].value == pytest.approx(100 * (2 / 3 + 29) / 30)


def test_what_no_run_cites_is_undefined_and_what_one_cites_alike_in_none(
    benchmark: cf.Benchmark,
) -> None:
    assert cf.score(runs_of(benchmark, "A.", "B."), benchmark, [CITED])[CITED].per_query[0] is None
    assert cf.score(runs_of(benchmark, "A.", "B [1]."), benchmark, [CITED])[CITED].per_query[0] == 0


def test_a_missing_answer_agrees_with_none(benchmark: cf.Benchmark) -> None:
    rows = runs_of(benchmark, "A is [1].", "A is [1].")[1:]
    assert cf.score(rows, benchmark, [CITED])[CITED].per_query[0] == 0
    theirs = cf.score(rows, benchmark, [CITED], protocol="reference")
    assert theirs[CITED].per_query[:2] == [None, 1]


@pytest.mark.parametrize(
    ("one", "other", "value"),
    [
        # A is in the other both times, B is not: of three statements two agree.
        ("The A is. The B is.", "An A is.", 2 / 3),
        ("The A is.", "An A is.", 2 / 2),
        ("The A is.", "The B is.", 0 / 2),
        # Word for word the same: nobody is asked, and the judge, which finds no letter, would deny.
        ("So it is.", "So it is.", 2 / 2),
        ("The A is.", "", 0 / 1),
        ("", "", None),
    ],
)
def test_statements_of_one_run_are_looked_for_in_the_other(
    benchmark: cf.Benchmark, one: str, other: str, value: float | None
) -> None:
    found = cf.score(runs_of(benchmark, one, other), benchmark, [SAID], judge=Facts())
    assert found[SAID].per_query[0] == (None if value is None else pytest.approx(value))
    assert found[SAID].per_query[1:] == [1] * 29


def test_one_run_is_not_enough(benchmark: cf.Benchmark) -> None:
    found = cf.score(runs_of(benchmark, "A is [1]."), benchmark, ["consistency"], judge="lexical")
    assert [one.name for one in found.not_computed] == [CITED, SAID, VARIATION]
    assert {one.reason.partition(":")[0] for one in found.not_computed} == {
        "needs two runs or more of one system, and there is one"
    }


def test_every_other_measure_varies_over_runs(benchmark: cf.Benchmark) -> None:
    """One run answers 12 of 30 queries with relevant passages alone, the other one 18."""
    relevant = benchmark.context("mix").relevant
    rows = [
        {
            "query_id": query, "run": run,
            "output": f"Two words [{min(relevant[row]) + 1}]." if row < n else "Two words.",
        }
        for run, n in enumerate((12, 18))
        for row, query in enumerate(benchmark.query_ids)
    ]  # fmt: skip
    found = cf.score(rows, benchmark, ["consistency", "CiteP", "Length"])
    # CiteP is 40 and 60: mean 50, standard deviation √(10² + 10²).
    assert found["CiteP"].value == pytest.approx((40 + 60) / 2)
    varied = found[f"{VARIATION}[CiteP]"]
    assert varied.value == pytest.approx(100 * 200**0.5 / 50)
    assert varied.low is not None
    assert varied.high is not None
    assert varied.low < varied.value < varied.high
    assert found[f"{VARIATION}[Length]"].value == 0
    # A mean of 0 has no variation, and keeps no other from having one.
    wrong = [{**row, "output": "Two words [99]."} for row in rows]
    varied = [
        m.name for m in cf.score(wrong, benchmark, [VARIATION, "CiteP", "Length"]).file.measures
    ]
    assert varied == ["CiteP", "Length", f"{VARIATION}[Length]"]
    alone = cf.score(rows, benchmark, [VARIATION])
    assert "needs other measures" in alone.not_computed[0].reason


def test_a_variation_has_the_settings_of_what_varies(benchmark: cf.Benchmark) -> None:
    """Else those by two judges, or in two context sets, would be compared."""
    rows = runs_of(benchmark, "A is [1].", "A is [1]. B.")
    names = [VARIATION, "ALCE.CitRec", "Length"]
    found = cf.score(rows, benchmark, names, judge=Facts())
    for name in ("ALCE.CitRec", "Length"):
        own, varied = found[name].signature, found[f"{VARIATION}[{name}]"].signature
        _, *parts = own.split("|")
        assert "ctx:mix" in parts
        first, *theirs = varied.split("|")
        assert first == VARIATION
        assert [
            p.replace("opt:of ALCE.CitRec", "").replace("of Length,", "")
            for p in theirs
            if p != "opt:of ALCE.CitRec"
        ] == parts
    assert "judge:" in found[f"{VARIATION}[ALCE.CitRec]"].signature
    assert "judge:" not in found[f"{VARIATION}[Length]"].signature


def test_what_one_run_does_not_define_is_not_computed(benchmark: cf.Benchmark) -> None:
    """The second run has no statement, so that there is no place of its citations."""
    rows = [
        {"query_id": query, "run": run, "output": output}
        for run, output in enumerate(("A is [1].", "[1]"))
        for query in benchmark.query_ids
    ]
    names = ["Placement.First", "CVCP", "CiteP"]
    found = cf.score(rows, benchmark, names)
    assert [m.name for m in found.file.measures] == ["CiteP"]
    assert {(one.name, one.reason) for one in found.not_computed} == {
        (name, "no query of one of the runs defines it") for name in names[:2]
    }
    (both,) = cf.score([r for r in rows if r["run"]], benchmark, ["CVCP"]).not_computed
    assert both.reason == "no query defines it"


def test_files_of_the_same_context_set_are_further_runs(
    benchmark: cf.Benchmark, tmp_path: Path
) -> None:
    rows = runs_of(benchmark, "A is [1][2].", "A is [1].", "B is [1].")
    paths = [
        write_jsonl(tmp_path / f"{run}.jsonl", [{**r, "run": 0} for r in rows if r["run"] == run])
        for run in range(3)
    ]
    joined = cf.score(paths[0], benchmark, [CITED, "CiteP"], also=paths[1:])
    whole = cf.score(rows, benchmark, [CITED, "CiteP"])
    assert joined.counts.n_runs == 3
    assert [m.value for m in joined.file.measures] == [m.value for m in whole.file.measures]


def test_further_files_are_others_of_one_system(benchmark: cf.Benchmark, tmp_path: Path) -> None:
    def file(name: str, system: str | None, text: str) -> Path:
        header = [] if system is None else [{"submission": {"system": system}}]
        return write_jsonl(tmp_path / name, [*header, *runs_of(benchmark, text)])

    mine, more = file("1.jsonl", "mine", "A [1]."), file("2.jsonl", "mine", "B [1].")
    other, unnamed = file("3.jsonl", "other", "C [1]."), file("4.jsonl", None, "D [1].")
    same = tmp_path / "same.jsonl"
    same.write_bytes(mine.read_bytes())
    for twice in (mine, same):
        with refused("duplicate-id") as caught:
            cf.score(mine, benchmark, [CITED], also=[more, twice])
        assert f"--also {twice}: the same as {mine}" in str(caught.value)
    with refused("conflicting-options") as caught:
        cf.score(unnamed, benchmark, [CITED], also=[mine, other])
    assert f"answers of 'other', and those of {mine} are of 'mine'" in str(caught.value)
    assert cf.score(mine, benchmark, [CITED], also=[more, unnamed]).counts.n_runs == 3
    named = cf.score(mine, benchmark, [CITED], also=[other], system="both")
    assert (named.counts.n_runs, named.file.system) == (2, "both")


def test_a_fault_in_a_further_file_is_found_there(benchmark: cf.Benchmark, tmp_path: Path) -> None:
    rows = runs_of(benchmark, "A is [1].")
    good = write_jsonl(tmp_path / "good.jsonl", rows)
    bad = write_jsonl(tmp_path / "bad.jsonl", [{"query_id": "none such", "output": "A"}])
    with refused("unknown-query", path=bad, line=1):
        cf.score(good, benchmark, [CITED], also=[bad])
