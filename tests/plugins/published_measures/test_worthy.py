"""Statements that cite or need no citation, counted by hand (docs/measures/worthy.md)."""

import pytest

from citeforge.engines.judge.records import JudgeFailure, Pair
from conftest_evaluator import Measure
from stand_ins import AskedJudge

NEEDS = {"Two is.": True, "Three is.": False, "Four is.": JudgeFailure("failed")}


def needs(pair: Pair) -> bool | JudgeFailure:
    """Whether a statement needs a citation, by its text."""
    assert pair.question == "llm-need-citation"
    return NEEDS[pair.hypothesis]


@pytest.mark.parametrize("protocol", ["strict", "reference"])
@pytest.mark.parametrize(
    "answer, low, high",
    [
        # Cites; needs none; needs one; needs one and cites no passage shown.
        ("One is [1]. Three is. Two is. Two is [9].", (1 + 1 + 0 + 0) / 4, None),
        ("One is [1]. Four is.", (1 + 0) / 2, (1 + 1) / 2),
        ("One is [1]. One is [2].", 2 / 2, None),
        ("Two is.", 0 / 1, None),
        ("", 0, None),
    ],
)
def test_statements_score_one_minus_need_without_a_citation(
    answer: str, low: float, high: float | None, protocol: str, measure: Measure
) -> None:
    found = measure([answer], ["Worthy"], protocol=protocol, judge=AskedJudge(needs))
    assert found["Worthy"] == [low]
    assert found.get("Worthy/upper", [low]) == [low if high is None else high]


def test_the_judge_sees_question_and_answer_and_each_statement_once(measure: Measure) -> None:
    judge = AskedJudge(needs)
    answers = ["Two is. One is [1]. Two is."] * 2
    measure(answers, ["Worthy"], judge=judge, queries=["How many?", "Which?"])
    answer = "Two is. One is. Two is."
    assert judge.asked == [
        Pair(f"Question: {query}\n\nAnswer: {answer}", "Two is.", "llm-need-citation")
        for query in ("How many?", "Which?")
    ]


def test_a_missing_answer_has_the_worst_value(measure: Measure) -> None:
    found = measure(["", "One is [1]."], ["Worthy"], missing=[0], judge=AskedJudge(needs))
    assert found["Worthy"] == [0, 1]


def test_a_judge_of_entailment_cannot_say(measure: Measure) -> None:
    assert "openai:MODEL" in measure(["Two is."], ["Worthy"])["Worthy"]
