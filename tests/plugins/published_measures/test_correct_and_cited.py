"""Answers that are correct and perfectly cited (docs/measures/correct_and_cited.md)."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import citeforge as cf
from citeforge.evaluator.measures.rage_citations import (
    AnswerValues,
    RageNumbers,
    score_reference,
    score_strict,
)
from citeforge.plugins.published_measures.correct_and_cited import _correct_and_relevant
from citeforge.schemas.citations.grammar import Grammar
from conftest_evaluator import Measure, gold

PAIRS = [gold("qa_pair", "q?", aliases=["Aa"]), gold("qa_pair", "r?", aliases=["Bb", "Be"])]


def test_an_answer_counts_if_both_parts_are_perfect(measure: Measure) -> None:
    outputs = [
        "Aa Be [1][2].",  # both short answers; both passages are needed
        "Aa Be [1][2][3].",  # the third is not
        "Aa [1].",  # perfectly cited, and half of the answer
        "Aa Be.",
        "Aa [1]. Be [3].",  # the second statement is not supported
        "",
    ]
    found = measure(
        outputs, ["CorrectAndCited"], gold=[PAIRS] * 6, missing=[5], passages=["A", "B", "C"]
    )
    assert found["CorrectAndCited"] == [1, 0, 0, 0, 0, 0]


def test_claims_and_lists_have_to_be_there_in_full(measure: Measure) -> None:
    claims = [gold("claim", "A"), gold("claim", "B")]
    outputs = ["A B [1][2].", "A [1]."]
    assert measure(outputs, ["CorrectAndCited"], gold=[claims] * 2)["CorrectAndCited"] == [1, 0]
    listed = [gold("answer_list", "", aliases=["Aa"]), gold("answer_list", "", aliases=["Bb"])]
    outputs = ["Aa [1], Bb [2].", "Aa [1]."]
    found = measure(outputs, ["CorrectAndCited"], gold=[listed] * 2, task="qampari")
    assert found["CorrectAndCited"] == [1, 0]


def test_a_failed_judgement_leaves_both_values_open(measure: Measure) -> None:
    found = measure(["Aa Be [1]."], ["CorrectAndCited"], gold=[PAIRS], passages=["A # B"])
    assert (found["CorrectAndCited"], found["CorrectAndCited/upper"]) == ([0], [1])


def test_it_says_what_gold_it_needs(measure: Measure) -> None:
    assert "short answers" in measure(["A [1]."], ["CorrectAndCited"])["CorrectAndCited"]


@pytest.mark.parametrize("protocol", ["strict", "reference"])
def test_relevant_citations_and_a_short_answer_make_one_value(protocol: str) -> None:
    """Answers that cite nothing, or nothing relevant, have 0: 1 of 7 with short answers."""
    outputs = ["Mars [1].", "Mars [1][2].", "Io [1].", "Mars.", "Mars [2].", "Who knows?", ""]
    # Of two passages the first is relevant, and has a short answer, but for the last query.
    shown: list[tuple[str, dict[int, list[str]]]] = [(o, {0: ["Mars"]}) for o in outputs]
    scored = [
        score_strict(Grammar(), output, 2, frozenset({0}), answers)
        if protocol == "strict"
        else score_reference(output, 2, frozenset({0}), answers)
        for output, answers in [*shown, ("Mars [1].", {})]
    ]
    assert _column_values(scored) == [1, 0, 0, 0, 0, 0, 0, None]


def test_citations_out_of_range_are_dropped_by_reference_alone() -> None:
    """CiteP of [1][9] is 1/2 in `strict` and 1/1 in `reference`."""
    shown = "Mars [1][9].", 2, frozenset({0}), {0: ["Mars"]}
    assert _column_values([score_strict(Grammar(), *shown)]) == [0]
    assert _column_values([score_reference(*shown)]) == [1]


def _column_values(scored: list[AnswerValues]) -> list[float | None]:
    """Value of each answer; None where it is undefined."""
    columns = RageNumbers(*(np.array([c]) for c in zip(*(s.numbers for s in scored), strict=True)))
    sample = _correct_and_relevant(SimpleNamespace(labelled=columns))  # type: ignore[arg-type]
    return [None if np.isnan(v) else v for v in sample.per_query[0]]


def test_relevant_citations_need_short_answers(package: Path) -> None:
    benchmark = cf.load(package)
    lines = [{"query_id": q, "output": "Mars [1]."} for q in benchmark.query_ids]
    (left_out,) = cf.score(lines, benchmark, ["CorrectAndCited@relevant"]).not_computed
    assert "short answers" in left_out.reason
