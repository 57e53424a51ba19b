"""Grounded answers, decided by hand (docs/measures/grounded.md)."""

import pytest

from citeforge.engines.judge.records import JudgeFailure, Pair
from conftest_evaluator import Measure
from stand_ins import AskedJudge

FACTS, GARAGE = ["Grounded", "Grounded.Unadjusted"], ["Grounded.RAF", "Grounded.uRAF"]
NAMES = [*FACTS, *GARAGE]


def decide(pair: Pair) -> bool | JudgeFailure:
    """Facts by their letters; a sentence without a letter states none."""
    if pair.question == "llm-eligible":
        assert pair.premise == "q"
        failed, known = "?" in pair.hypothesis, "know" not in pair.hypothesis
        return JudgeFailure("failed") if failed else known
    letters = {c for c in pair.hypothesis if c in "ABCDEF"}
    if pair.question == "llm-fact-stated":
        assert pair.premise == "q"
        return bool(letters)
    assert not pair.question
    return bool(letters) and letters <= set(pair.premise)


# Passages: "A" (relevant), "B" (not), "C" (relevant). (answer, values in the order of NAMES)
CASES = [
    ("Hello! A is. B is [2].", 1, 1, 0, 0),
    ("Hello! A is. C is.", 1, 1, 1, 1),
    # Two relevant passages support a statement together.
    ("AC is [1].", 1, 1, 1, 1),
    ("AB is [1].", 1, 1, 0, 0),
    # One statement without support is enough; its citation changes nothing.
    ("A is [1]. D is [1].", 0, 0, 0, 0),
    # It says nothing that needs support, and does not do what was asked.
    ("i do not know.", 0, 1, 0, 1),
    # A fault with support does not save an answer that does not do what was asked.
    ("A is. i do not know.", 0, 1, 0, 1),
    ("", 0, 0, 0, 0),
    ("[1]", 0, 0, 0, 0),
]


@pytest.mark.parametrize("case", CASES, ids=[c[0] or "empty" for c in CASES])
@pytest.mark.parametrize("protocol", ["strict", "reference"])
def test_values_by_hand(
    case: tuple[str, int, int, int, int], protocol: str, measure: Measure
) -> None:
    found = measure(
        [case[0]], NAMES, quotes=[["p0", "p2"]], judge=AskedJudge(decide), protocol=protocol
    )
    assert [found[name][0] for name in NAMES] == list(case[1:])


def test_a_judge_of_entailment_takes_every_statement_for_a_fact(measure: Measure) -> None:
    found = measure(["Hello! A is.", "A is."], NAMES)
    assert found["Grounded.Unadjusted"] == found["Grounded.uRAF"] == [0, 1]
    needs = (
        "facts@1 decides entailment alone, and not whether an answer does what was asked: name an "
        "LLM, --judge openai:MODEL or vllm:MODEL"
    )
    assert found["Grounded"] == found["Grounded.RAF"] == needs


def test_queries_without_a_relevant_passage_are_left_out_by_raf_alone(measure: Measure) -> None:
    found = measure(["A is.", "A is."], NAMES, quotes=[["p0"], ["p9"]], judge=AskedJudge(decide))
    assert [found[name] for name in NAMES] == [[1, 1], [1, 1], [1, None], [1, None]]


def test_missing_answers_score_0(measure: Measure) -> None:
    found = measure(["A is.", ""], NAMES, judge=AskedJudge(decide), missing=[1])
    assert all(found[name] == [1, 0] for name in NAMES)


def test_failures_leave_bounds(measure: Measure) -> None:
    """The judge fails on whether the answer does what was asked; another one on the premise."""
    found = measure(["A is?"], NAMES, judge=AskedJudge(decide))
    assert (found["Grounded"], found["Grounded/upper"]) == ([0], [1])
    assert found["Grounded.Unadjusted"] == [1]
    found = measure(["A is."], FACTS[1:], ["A#"])
    assert (found[FACTS[1]], found[f"{FACTS[1]}/upper"]) == ([0], [1])


def test_nothing_more_is_asked_of_an_answer_that_does_not_do_what_was_asked(
    measure: Measure,
) -> None:
    judge = AskedJudge(decide)
    measure(["i do not know A."], FACTS[:1], judge=judge)
    assert [pair.question for pair in judge.asked] == ["llm-eligible"]
