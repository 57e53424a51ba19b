"""A judge that is asked several times: the score is the mean, and its uncertainty counts it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.engines.judge.records import JudgeFailure, Keep, Pair, Verdict
from citeforge.evaluator.compare import compare_many
from citeforge.reports.notes import variance_lines
from citeforge.reports.terminal import render_scores
from conftest import refused


class Wavering:
    """Says yes; asked again, no (or fails); the third time, yes of statements with an x."""

    comparable = False
    signature = "wavering@1"

    def __init__(self, repeat: int = 0, fails: bool = False) -> None:
        self.repeat, self.fails = repeat, fails

    def repeated(self, repeat: int) -> "Wavering":
        return Wavering(repeat, self.fails)

    def identity(self) -> dict[str, Any]:
        return {"name": "wavering", "repeat": self.repeat}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        return None

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        says = [[True, False, "x" in p.hypothesis][self.repeat] for p in pairs]
        failed = self.fails and self.repeat == 1
        keep([
            (i, JudgeFailure("failed") if failed else Verdict(said))
            for i, said in enumerate(says)
        ])  # fmt: skip


def answers(package: Path) -> list[dict[str, Any]]:
    ids = cf.load(package).query_ids
    return [{"query_id": q, "output": f"Word {'yx'[i % 2]} [1]."} for i, q in enumerate(ids)]


def test_the_score_is_the_mean_of_all_verdicts(package: Path) -> None:
    measures = ["ALCE.CitRec", "CiteF1"]
    result = cf.score(answers(package), package, measures, judge=Wavering(), judge_repeats=3)
    recall = result["ALCE.CitRec"]
    assert recall.value == pytest.approx((100 + 0 + 50) / 3)
    assert recall.sd_runs is None  # one run
    assert "|opt:judge-repeats 3|" in recall.signature
    assert recall.variance is not None
    assert recall.variance.levels == {"judges": 1, "runs": 1, "repeats": 3, "queries": 30}
    # Of 3 · 30 values around .5: all squares 90 · .25, of repeats 30 · (.25 + .25), of queries
    # (means 2/3 and 1/3) 3 · 30 / 36; the rest has 2 · 29 degrees of freedom.
    rest = (90 * 0.25 - 30 * 0.5 - 90 / 36) / (2 * 29)
    expected = {
        "repeats": (30 * 0.5 / 2 - rest) / 30, "queries": (90 / 36 / 29 - rest) / 3,
        "repeats:queries": rest,
    }  # fmt: skip
    assert recall.variance.components == pytest.approx(
        {name: 100**2 * value for name, value in expected.items()}
    )
    assert expected["queries"] < 1e-9  # so that all comes from repeats
    assert recall.variance.shares == pytest.approx({"queries": 0, "repeats": 1}, abs=1e-9)
    # Three verdicts that differ so much tell hardly anything.
    assert recall.low is not None and recall.high is not None
    assert recall.high - recall.low > 90
    (line,) = variance_lines([result.file])
    assert "ALCE.CitRec queries 0 %, repeats 100 %" in line
    assert line in render_scores([result.file])
    # A measure without a judge is as ever.
    assert result["CiteF1"].variance is None
    assert "judge-repeats" not in result["CiteF1"].signature


def test_one_repeat_is_what_it_was(package: Path) -> None:
    once = cf.score(answers(package), package, ["ALCE.CitRec"], judge=Wavering())
    assert once["ALCE.CitRec"].value == 100
    assert once["ALCE.CitRec"].variance is None
    assert "opt:" not in once["ALCE.CitRec"].signature
    thrice = cf.score(
        answers(package), package, ["ALCE.CitRec"], judge=Wavering(), judge_repeats=3, system="b"
    )
    files = [once.file, thrice.file]
    with refused("not-comparable") as caught:
        compare_many(files)
    assert re.search(r"opt: .* / judge-repeats 3", str(caught.value))
    assert len(compare_many(files, across=["options"]).differences) == 1


def test_a_repeat_that_fails_leaves_bounds(package: Path) -> None:
    result = cf.score(
        answers(package), package, ["ALCE.CitRec"], judge=Wavering(fails=True), judge_repeats=3
    )
    recall = result["ALCE.CitRec"]
    assert recall.lower_bound == recall.value == pytest.approx((100 + 0 + 50) / 3)
    assert recall.upper_bound == pytest.approx((100 + 100 + 50) / 3)
    assert result.counts.n_judge_failed > 0


def test_runs_and_repeats(package: Path) -> None:
    rows = [{**row, "run": run} for run in range(2) for row in answers(package)]
    for row in rows[30:]:
        row["output"] = "Word z [1]."  # the second run: no x at all
    result = cf.score(rows, package, ["ALCE.CitRec"], judge=Wavering(), judge_repeats=3)
    recall = result["ALCE.CitRec"]
    of_runs = [(100 + 0 + 50) / 3, (100 + 0 + 0) / 3]
    assert recall.value == pytest.approx(sum(of_runs) / 2)
    assert recall.sd_runs == pytest.approx((of_runs[0] - of_runs[1]) / 2**0.5)
    assert recall.variance is not None
    assert recall.variance.levels == {"judges": 1, "runs": 2, "repeats": 3, "queries": 30}
    assert [sum(row) / 30 for row in recall.variance.values] == pytest.approx([1, 0, 0.5, 1, 0, 0])


def test_what_has_no_repeats(package: Path) -> None:
    with refused("option-without-effect", cf.UsageError):
        cf.score(answers(package), package, ["ALCE.CitRec"], judge="lexical", judge_repeats=2)


def test_several_judges_of_one_submission(package: Path) -> None:
    """One says yes to all, one to every second answer: means 100 and 50."""

    class Stern(Wavering):
        signature = "stern@1"

        def repeated(self, repeat: int) -> "Stern":
            return Stern(2)

    given = answers(package)
    files = [
        cf.score(given, package, ["ALCE.CitRec"], judge=judge, system="a").file
        for judge in (Wavering(), Stern(2))
    ]
    (line,) = variance_lines(files)
    assert line.startswith("uncertainty of a over 2 judges")
    assert "ALCE.CitRec 75.00 [" in line  # (100 + 50) / 2
    # Judges: MS = 30 · (.25² + .25²) = 3.75. Queries have means 1 and 1/2, so that what is left of
    # each value is .25 from them: MS(queries) = MS(rest) = 2 · 30 · .25² / 29.
    rest = 2 * 30 * 0.25**2 / 29
    of_judges = (3.75 - rest) / 30 / 2 + rest / 30 / 2
    assert of_judges > 0
    assert "queries 0 %, judges 100 %" in line
    assert variance_lines(files[:1]) == variance_lines([files[0], files[0]]) == []
