"""Answers in statements, as score files keep them: those that were scored."""

from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.schemas.scores import AnswerDetail
from conftest_evaluator import Facts

PASSAGES = [{"text": "A.", "title": "One"}, {"text": "B.", "title": "Two"}, {"title": "ABC"}]


def answer_of(
    package: Path, output: str, measure: str, protocol: Any
) -> tuple[AnswerDetail, Facts]:
    """The first answer of a score file, and the judge that was asked."""
    judge = Facts()
    scores = cf.score(
        [{"query_id": "q01", "output": output, "passages": PASSAGES}], package, [measure],
        protocol=protocol, judge=judge, segmenter="nupunkt", details=True,
    )  # fmt: skip
    return scores.file.answers[0], judge


FIRST = ("A is so.", [0], 0, True)
SKIPPED = ("C is.", [], 1, False)
"""A citation out of range takes its statement's recall."""
EXPECTED = {
    # ALCE's code reads the first line alone, and `[2` as a mark.
    "ALCE.CitRec": [FIRST, ("B is, 9.", [1], 0, True), SKIPPED],
    # Attributed-IR's code reads all lines, and `[2, 9]` as a mark.
    "NLI.rec": [FIRST, ("B is.", [1], 1, False), SKIPPED, ("A again.", [0], 0, True)],
}


@pytest.mark.parametrize("measure", EXPECTED)
def test_reference_lists_the_statements_that_were_scored(package: Path, measure: str) -> None:
    output = "A is so [1]. B is [2, 9]. C is [9].\nA again [1]."
    answer, _ = answer_of(package, output, measure, "reference")
    result = [(s.text, s.cited, s.wrong, s.supported) for s in answer.statements]
    assert result == EXPECTED[measure]


@pytest.mark.parametrize("protocol", ["strict", "reference"])
def test_a_passage_without_text_is_never_a_premise(package: Path, protocol: str) -> None:
    """Its title alone would entail what it cites."""
    answer, judge = answer_of(package, "C is so [3].", "ALCE.CitRec", protocol)
    assert [(s.text, s.cited, s.supported) for s in answer.statements] == [("C is so.", [2], False)]
    assert judge.asked == []
    _, judge = answer_of(package, "A is C [1][3].", "ALCE.CitRec", protocol)
    assert {pair.premise for pair in judge.asked} == {"Title: One\nA."}
