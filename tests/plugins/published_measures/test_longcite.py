"""Grades of support, relevance and lengths, worked out by hand (docs/measures/longcite.md)."""

import pytest

from citeforge.engines.judge.records import JudgeFailure, Pair
from conftest_evaluator import Measure
from stand_ins import AskedJudge, RuleJudge

NAMES = ["LongCite.R", "LongCite.P", "LongCite.F1"]
EXAMPLE = "One is [1][2]. Two is [3]. Three is. Four is."
VERDICTS: dict[tuple[str, str], bool | float | JudgeFailure] = {
    ("llm-half-support", "One is."): 0.5,
    ("llm-relevant", "A One is."): False,
    ("llm-relevant", "B One is."): True,
    ("llm-half-support", "Two is."): 1.0,
    ("llm-relevant", "C Two is."): True,
    ("llm-half-support", "Five is."): 0.0,
    ("llm-relevant", "A Five is."): True,
    ("llm-half-support", "Six is."): JudgeFailure("failed"),
    ("llm-relevant", "A Six is."): JudgeFailure("failed"),
    ("llm-need-citation", "Three is."): True,
    ("llm-need-citation", "Four is."): False,
}


def grade(pair: Pair) -> bool | float | JudgeFailure:
    """A verdict from the table; a single passage has the letter of its text."""
    shown = f"{pair.premise} " if pair.question == "llm-relevant" else ""
    return VERDICTS[pair.question, f"{shown}{pair.hypothesis}"]


def f1(recall: float, precision: float) -> float:
    """Harmonic mean."""
    return 2 * recall * precision / (recall + precision)


@pytest.mark.parametrize("protocol", ["strict", "reference"])
@pytest.mark.parametrize(
    "answer, recall, precision",
    [
        (EXAMPLE, (0.5 + 1 + 0 + 1) / 4, (0 + 1 + 1) / 3),
        ("Five is [1]. Two is [3].", (0 + 1) / 2, (1 + 1) / 2),
    ],
)
def test_grades_are_averaged_in_each_answer(
    answer: str, recall: float, precision: float, protocol: str, measure: Measure
) -> None:
    found = measure([answer], NAMES, protocol=protocol, judge=AskedJudge(grade))
    assert found == {
        "LongCite.R": [recall],
        "LongCite.P": [pytest.approx(precision)],
        "LongCite.F1": [pytest.approx(f1(recall, precision))],
    }


def test_an_answer_without_citations_has_recall_alone(measure: Measure) -> None:
    found = measure(["Four is.", ""], NAMES, judge=AskedJudge(grade))
    assert found == {"LongCite.R": [1, 0], "LongCite.P": [0, 0], "LongCite.F1": [0, 0]}


def test_citations_of_nothing_are_not_relevant_and_reference_leaves_them_out(
    measure: Measure,
) -> None:
    answer = "Two is [3][8]. Four is [9]."  # Four cites nothing, and needs nothing
    found = measure([answer], NAMES, judge=AskedJudge(grade))
    assert found == {
        "LongCite.R": [(1 + 1) / 2], "LongCite.P": [1 / 3], "LongCite.F1": [f1(1, 1 / 3)],
    }  # fmt: skip
    found = measure([answer], NAMES, protocol="reference", judge=AskedJudge(grade))
    assert found == {"LongCite.R": [1], "LongCite.P": [1 / 1], "LongCite.F1": [1]}


def test_reference_reads_forty_statements(measure: Measure) -> None:
    answer = " ".join(["Two is [3]."] * 40 + ["Three is."] * 40)
    found = measure([answer], NAMES, judge=AskedJudge(grade))
    assert found["LongCite.R"] == [40 / 80]
    found = measure([answer], NAMES, protocol="reference", judge=AskedJudge(grade))
    assert found["LongCite.R"] == [40 / 40]


def test_failed_verdicts_leave_bounds(measure: Measure) -> None:
    found = measure(["Six is [1]. Two is [3]."], NAMES, judge=AskedJudge(grade))
    assert [found[n][0] for n in NAMES] == [1 / 2, 1 / 2, 1 / 2]
    assert [found[f"{n}/upper"][0] for n in NAMES] == [1, 1, 1]


@pytest.mark.parametrize("protocol, expected", [("strict", 0), ("reference", None)])
def test_missing_answers_are_worst_in_strict_and_left_out_in_reference(
    protocol: str, expected: float | None, measure: Measure
) -> None:
    found = measure(
        ["", "Two is [3]."], NAMES, protocol=protocol, missing=[0], judge=AskedJudge(grade)
    )
    assert all(found[name] == [expected, 1] for name in NAMES)


def test_a_judge_of_entailment_takes_every_uncited_statement_for_one_that_needs_a_citation(
    measure: Measure,
) -> None:
    judge = RuleJudge(lambda premise, hypothesis: "C" in premise)
    found = measure([EXAMPLE], NAMES, judge=judge)  # type: ignore[arg-type]
    recall, precision = (0 + 1 + 0 + 0) / 4, 1 / 3
    assert [found[n][0] for n in NAMES] == [recall, precision, pytest.approx(f1(1 / 4, 1 / 3))]
    # What one passage is cited for is one question, for grade and relevance.
    assert len(judge.asked) == 2 + 2


def test_each_question_is_asked_once(measure: Measure) -> None:
    judge = AskedJudge(grade)
    measure([EXAMPLE], NAMES, judge=judge, passages=["A", "B", "C"])
    asked = [(p.question, p.premise, p.hypothesis) for p in judge.asked if "need" not in p.question]
    assert asked == [
        ("llm-half-support", "A\nB", "One is."),
        ("llm-half-support", "C", "Two is."),
        ("llm-relevant", "A", "One is."),
        ("llm-relevant", "B", "One is."),
        ("llm-relevant", "C", "Two is."),
    ]
    judge = AskedJudge(grade)
    measure([EXAMPLE], NAMES, judge=judge, protocol="reference")
    assert judge.asked[0].premise == "A\n\nB"


def test_the_length_of_citations_is_that_of_their_passages(measure: Measure) -> None:
    shown = ["one two three", "one", "one two"]
    answers = ["One is [1][2]. Two is [1].", "Three is [3].", "Four is. Five is [9]."]
    found = measure(answers, ["LongCite.Length"], passages=shown)
    assert found["LongCite.Length"] == [(3 + 1 + 3) / 3, 2 / 1, None]


def test_no_passages_are_no_ground_for_citations(measure: Measure) -> None:
    found = measure(["One is [1]."], [*NAMES, "LongCite.Length"], passages=[])
    assert all(isinstance(reason, str) for reason in found.values())
