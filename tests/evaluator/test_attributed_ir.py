"""Attributed-IR's measures, worked by hand in both protocols (METRICS section 3)."""

from __future__ import annotations

from typing import Any

import pytest

from conftest_evaluator import Measure, gold

AIS = ["AutoAIS.cit", "AutoAIS.cit@cited", "AutoAIS.psg"]

# (output, strict cit, cited, psg; reference cit, cited, psg); passages A, B, C
CASES: list[tuple[str, list[float], list[float]]] = [
    ("Says A [1]. Says B.", [1 / 2, 1 / 1, 2 / 2], [1 / 2, 1 / 1, 2 / 2]),
    # The best citation counts.
    ("Says A [2][1].", [1, 1, 1], [1, 1, 1]),
    ("Says D [1].", [0, 0, 0], [0, 0, 0]),
    ("Says A.", [0, 0, 1], [0, 0, 1]),
    # Both read lists.
    ("Says B [1, 2].", [1, 1, 1], [1, 1, 1]),
    # Out of range: in strict the statement is cited (wrongly); skipped in the reference.
    ("Says A [9].", [0, 0, 1], [0, 0, 1]),
    # A marker that opens a sentence belongs to the one before; in the reference it replaces that
    # statement's own citations.
    ("Says A [1]. [2] Says B [2].", [2 / 2, 2 / 2, 2 / 2], [1 / 2, 1 / 2, 2 / 2]),
    ("", [0, 0, 0], [0, 0, 0]),
]


@pytest.mark.parametrize("case", CASES, ids=[c[0] or "empty" for c in CASES])
def test_auto_ais(measure: Measure, case: tuple[Any, ...]) -> None:
    output, strict, reference = case
    assert [measure([output], AIS)[n][0] for n in AIS] == strict
    found = measure([output], AIS, protocol="reference")
    assert [found[n][0] for n in AIS] == reference


def test_limits_of_the_reference(measure: Measure) -> None:
    passages = ["A", "B", "C", "D", "E", "F", "A", "D"]
    eight = "Says D [1][2][3][5][6][7][9][4]."
    # Cut to seven before the range check: [4] falls away and [9] with it.
    assert measure([eight], AIS, passages)["AutoAIS.cit"] == [1]
    assert measure([eight], AIS, passages, protocol="reference")["AutoAIS.cit"] == [0]
    many = "Says A now [1]. " * 20 + "Says B now. " * 20
    assert measure([many], AIS, passages)["AutoAIS.cit"] == [20 / 40]
    assert measure([many], AIS, passages, protocol="reference")["AutoAIS.cit"] == [20 / 20]


def test_premises_have_no_titles(measure: Measure) -> None:
    from conftest_evaluator import Facts

    judge = Facts()
    measure(["Says A [1]."], ["AutoAIS.cit", "NLI.rec"], [("Title", "text")], judge=judge)
    assert {p.premise for p in judge.asked} == {"text"}


def test_queries_without_passages(measure: Measure) -> None:
    assert measure(["Says A."], AIS, [])["AutoAIS.cit"] == [0]
    left = measure(["Says A."], AIS, [], protocol="reference")
    assert left["AutoAIS.cit"] == "the submission brings no passages"


def test_nli_is_alce_on_texts(measure: Measure) -> None:
    found = measure(["Says A [1][2]."], ["NLI.rec", "NLI.prec"])
    assert (found["NLI.rec"], found["NLI.prec"]) == ([1], [1 / 2])


def answer(text: str, citations: list[str], **labels: Any) -> Any:
    return gold("answer", text, citations=citations, **labels)


OVERLAP = ["Overlap.P", "Overlap.R"]


@pytest.mark.parametrize(
    ("output", "strict", "reference"),
    [
        # Gold cites p0 and p1 ([1][2] of its quotes).
        ("X [1].", (1 / 1, 1 / 2), (1 / 1, 1 / 2)),
        ("X [1][2].", (2 / 2, 2 / 2), (1 / 1, 1 / 2)),
        ("X [2].", (1 / 1, 1 / 2), (0, 0)),
        ("X [3].", (0, 0), (0, 0)),
        ("X [1][9].", (1 / 2, 1 / 2), (1 / 1, 1 / 2)),
        # The published code lets [0] through: the last passage, p2.
        ("X [0].", (0 / 1, 0), (0 / 1, 0)),
        ("X.", (0, 0), (0, 0)),
    ],
)
def test_overlap(
    measure: Measure, output: str, strict: tuple[float, float], reference: tuple[float, float]
) -> None:
    rows = [[answer("Gold [1][2].", ["p0", "p1"])]]
    found = measure([output], OVERLAP, gold=rows)
    assert tuple(found[n][0] for n in OVERLAP) == strict
    found = measure([output], OVERLAP, gold=rows, protocol="reference")
    assert tuple(found[n][0] for n in OVERLAP) == reference


def test_which_gold_answer_counts(measure: Measure) -> None:
    rows = [
        answer("first [1]", ["p0"], informative=0, attributable=0),
        answer("attributable [2]", ["p1"], informative=0, attributable=1),
        answer("both [3]", ["p2"], informative=1, attributable=1),
        answer("informative", ["p0"], informative=1, attributable=0),
    ]
    for kept, cited in ((rows, "[3]"), (rows[:2], "[2]"), (rows[:1], "[1]"), (rows[::3], "[1]")):
        found = measure([f"X {cited}."], OVERLAP, gold=[list(kept)])
        assert found["Overlap.P"] == [1]


def test_empty_gold_answers_leave_the_reference(measure: Measure) -> None:
    rows = [[answer("", [])], [answer("x [1]", ["p0"])]]
    assert measure(["X [1].", "X [1]."], OVERLAP, gold=rows)["Overlap.R"] == [0, 1]
    found = measure(["X [1].", "X [1]."], OVERLAP, gold=rows, protocol="reference")
    assert found["Overlap.R"] == [None, 1]


def test_rouge_takes_the_best_gold_answer(measure: Measure) -> None:
    names = ["ROUGE-Lsum.P", "ROUGE-Lsum.R", "ROUGE-Lsum.F", "ROUGE-Lsum.F@1gold"]
    rows = [[answer("one two three four [1]", []), answer("one two", [])]]
    found = measure(["one two nine [1]"], names, gold=rows)
    # Against "one two": P 2/3, R 2/2; against the first: P 2/3, R 2/4, a lower F.
    p, r = 2 / 3, 2 / 2
    assert [found[n][0] for n in names[:3]] == pytest.approx([p, r, 2 * p * r / (p + r)])
    r = 2 / 4
    assert found["ROUGE-Lsum.F@1gold"] == pytest.approx([2 * p * r / (p + r)])


def test_bleu_by_hand_with_the_shortest_reference(measure: Measure) -> None:
    """One sentence of 5 tokens against references of 7 and 8: the penalty is exp(1 - 7/5)."""
    import math

    rows = [[answer("a b c d e f g h", []), answer("a b c d x y z", [])]]
    found = measure(["a b c d e"], ["BLEU"], gold=rows)
    # n-grams found in either reference: 5/5, 4/4, 3/3, 2/2 ("b c d e" stands in the first).
    precision = (5 / 5 * 4 / 4 * 3 / 3 * 2 / 2) ** (1 / 4)
    assert found["BLEU"] == pytest.approx([math.exp(1 - 7 / 5) * precision])
    # The closest reference to 8 tokens would be the first; the shortest is the second.
    found = measure(["a b c d e f g q"], ["BLEU"], gold=rows)
    precision = (7 / 8 * 6 / 7 * 5 / 6 * 4 / 5) ** (1 / 4)
    assert found["BLEU"] == pytest.approx([precision])


def test_closed_book_outputs_keep_their_brackets(measure: Measure) -> None:
    rows = [[answer("one [1] two", [])]]
    with_marks = measure(["one [1] two"], ["BLEU", "ROUGE-Lsum.F"], [], gold=rows)
    assert with_marks["ROUGE-Lsum.F"] == pytest.approx([2 * (2 / 3) * 1 / (2 / 3 + 1)])


def test_without_gold_answers(measure: Measure) -> None:
    found = measure(["x"], ["BLEU", "ROUGE-Lsum.F", "Overlap.P"])
    assert found["BLEU"] == found["ROUGE-Lsum.F"] == "needs gold answers"
    assert found["Overlap.P"] == "needs gold answers with citations"
