"""What passages do to a system, counted by hand (docs/measures/mirage.md)."""

from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from conftest import EXAMPLES, refused, write_jsonl

NAMES = [f"MIRAGE.{name}" for name in ("Vulnerable", "Acceptable", "Insensitive", "Misread")]
RIGHT = {"b1": "In 1973 [1].", "m1": "Closest to the sun [1].", "j1": "It was James Gosling [1].",
         "u1": "By Galle [2]."}  # fmt: skip
# For each query: whether the answer without passages, among noise, with the right ones is right.
FOUR = {"b1": (0, 0, 1), "m1": (0, 1, 1), "j1": (0, 1, 0), "u1": (1, 0, 0)}
SETS = ("none", "top2", "oracle")


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> cf.Benchmark:
    """Four questions with short answers, and the context sets ``top2`` and ``oracle``."""
    out = tmp_path_factory.mktemp("mirage") / "asqa"
    source = f"alce:{EXAMPLES / 'answers' / 'asqa.json'}"
    cf.build(cf.AlceRecipe(source=source, k=2, oracle=True), out)
    return cf.load(out)


def answers(
    outcomes: dict[str, tuple[int, int, int]], run: int = 0, sets: tuple[str, ...] = SETS
) -> list[dict[str, Any]]:
    return [
        {
            "query_id": query, "context": name, "run": run,
            "output": RIGHT[query] if is_right else "Nobody knows.",
        }
        for query, three in outcomes.items()
        for name, is_right in zip(SETS, three, strict=True)
        if name in sets
    ]  # fmt: skip


def values(scores: cf.Scores) -> list[list[float | None]]:
    return [scores[name].per_query for name in NAMES]


@pytest.mark.parametrize("protocol", ["strict", "reference"])
def test_each_query_is_of_one_of_four_kinds(benchmark: cf.Benchmark, protocol: str) -> None:
    found = cf.score(answers(FOUR), benchmark, ["mirage"], context="top2", protocol=protocol)
    assert benchmark.query_ids == ["b1", "m1", "j1", "u1"]
    assert values(found) == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert [found[name].value for name in NAMES] == [100 * 1 / 4] * 4
    assert "|opt:oracle=oracle|" in found[NAMES[0]].signature


def test_one_file_has_all_three_sets(benchmark: cf.Benchmark, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "all.jsonl", answers(FOUR))
    assert not cf.check(path, benchmark).errors
    found = cf.score_files([path], benchmark, cf.ScoreOptions(measures=("mirage",))).scores
    assert [scores.file.context for scores in found] == ["top2", "oracle", "none"]
    assert [len(scores.file.measures) for scores in found] == [4, 0, 0]


def test_files_of_one_system_are_joined(benchmark: cf.Benchmark, tmp_path: Path) -> None:
    paths = [write_jsonl(tmp_path / f"{name}.jsonl", answers(FOUR, sets=(name,))) for name in SETS]
    closed_book = [{k: v for k, v in row.items() if k != "context"} for row in
                   answers(FOUR, sets=("none",))]  # fmt: skip
    header = {"submission": {"system": "mine", "contexts": ["none"]}}
    paths[0] = write_jsonl(tmp_path / "none.jsonl", [header, *closed_book])
    found = cf.score(paths[1], benchmark, ["mirage"], also=[paths[0], paths[2]])
    assert values(found) == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert (
        found.file.submission_sha256
        != cf.score(paths[1], benchmark, ["alce"]).file.submission_sha256
    )
    alone = cf.score(paths[1], benchmark, ["mirage"])
    assert [one.name for one in alone.file.not_computed] == NAMES
    assert "the context set none" in alone.file.not_computed[0].reason
    closed = cf.score(paths[1], benchmark, ["mirage"], also=[paths[0]])
    assert "a context set oracle" in closed.file.not_computed[0].reason


def test_a_missing_answer_is_worst_and_leaves_in_the_reference(benchmark: cf.Benchmark) -> None:
    rows = [r for r in answers(FOUR) if (r["query_id"], r["context"]) != ("m1", "oracle")]
    strict = cf.score(rows, benchmark, ["mirage"], context="top2")
    assert [row[1] for row in values(strict)] == [1, 0, 1, 1]
    theirs = cf.score(rows, benchmark, ["mirage"], context="top2", protocol="reference")
    assert [row[1] for row in values(theirs)] == [None] * 4
    assert [theirs[name].value for name in NAMES] == pytest.approx([100 / 3, 0, 100 / 3, 100 / 3])


def test_the_reference_looks_for_letters(benchmark: cf.Benchmark) -> None:
    """`firsthand` has the letters of the short answer `first`, and not the word."""
    rows = answers(FOUR)
    for row in rows:
        if row["query_id"] == "m1":
            row["output"] = "We know it FIRSThand."
    strict = cf.score(rows, benchmark, ["mirage"], context="top2")
    theirs = cf.score(rows, benchmark, ["mirage"], context="top2", protocol="reference")
    assert [row[1] for row in values(strict)] == [0, 0, 1, 0]
    assert [row[1] for row in values(theirs)] == [0, 1, 0, 0]


def test_runs_are_compared_by_number_and_an_only_one_with_all(benchmark: cf.Benchmark) -> None:
    noisy = {query: (b, 1 - m, o) for query, (b, m, o) in FOUR.items()}
    rows = [*answers(FOUR), *answers(noisy, run=1, sets=("top2",))]
    found = cf.score(rows, benchmark, ["mirage"], context="top2")
    # Run 0: vulnerable b1, acceptable m1; run 1: the other way round.
    assert values(found)[:2] == [[1 / 2, 1 / 2, 0, 0], [1 / 2, 1 / 2, 0, 0]]


def test_several_submissions_have_no_further_files(benchmark: cf.Benchmark, tmp_path: Path) -> None:
    one = write_jsonl(tmp_path / "a.jsonl", answers(FOUR, sets=("top2",)))
    two = write_jsonl(tmp_path / "b.jsonl", answers(FOUR, sets=("top2",)))
    options = cf.ScoreOptions(measures=("mirage",), also=(one,))
    with refused("conflicting-options"):
        cf.score_files([one, two], benchmark, options)


def test_a_further_file_that_no_measure_reads_is_refused(
    benchmark: cf.Benchmark, tmp_path: Path
) -> None:
    one = write_jsonl(tmp_path / "a.jsonl", answers(FOUR, sets=("top2",)))
    two = write_jsonl(tmp_path / "b.jsonl", answers(FOUR, sets=("none",)))
    with refused("option-without-effect") as caught:
        cf.score(one, benchmark, ["alce"], also=[two])
    assert f"--also {two}: no measure asked for reads its answers to none" in str(caught.value)
    both = cf.ScoreOptions(measures=("alce",), also=(two,), context="top2")
    with refused("option-without-effect"):
        cf.score_files([one], benchmark, both)


def test_a_further_file_names_its_context_set(benchmark: cf.Benchmark, tmp_path: Path) -> None:
    rows = answers(FOUR, sets=("top2",))
    one = write_jsonl(tmp_path / "a.jsonl", rows)
    bare = [{"query_id": row["query_id"], "output": row["output"]} for row in rows]
    two = write_jsonl(tmp_path / "b.jsonl", bare)
    with refused("missing-option") as caught:
        cf.score(one, benchmark, ["mirage"], also=[two])
    assert str(two) in str(caught.value)
