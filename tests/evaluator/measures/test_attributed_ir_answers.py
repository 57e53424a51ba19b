"""Attributed-IR's measures, by hand in both protocols (docs/measures/attributed_ir.md)."""

from dataclasses import replace
from typing import Any

import pytest

from citeforge.engines.text.segmenters import PunktSegmenter
from citeforge.evaluator.statements.attributed_ir import with_passages
from citeforge.package.items import Passage
from conftest_evaluator import Facts, Measure, gold
from peers.hard_answers import make_inputs

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
    result = measure([output], AIS, protocol="reference")
    assert [result[n][0] for n in AIS] == reference


def test_limits_of_the_reference(measure: Measure) -> None:
    passages = ["A", "B", "C", "D", "E", "F", "A", "D"]
    # Cut to seven before the range check, in the order of a Python set: 1 2 3 5 6 7 8, so that
    # [9] falls away, and the statement is in range.
    eight = "Says D [9][8][7][6][5][3][2][1]."
    assert measure([eight], ["NLI.rec"], passages)["NLI.rec"] == [1]
    assert measure([eight], ["NLI.rec"], passages, protocol="reference")["NLI.rec"] == [1]
    many = "Says A now [1]. " * 20 + "Says B now. " * 20
    assert measure([many], AIS, passages)["AutoAIS.cit"] == [20 / 40]
    assert measure([many], AIS, passages, protocol="reference")["AutoAIS.cit"] == [20 / 20]


# What the published code was seen to print: (output, AutoAIS.cit, NLI.rec, NLI.prec)
PRINTED: list[tuple[str, float, float, float]] = [
    ("", 0, 0, 0),
    ("Says A [1].", 1, 1 / 1, 1 / 1),
    # Out of range: NLI loses the statement, AutoAIS looks at the other citation.
    ("Says A [1][7].", 1, 0 / 1, 0),
    # A mark that opens a sentence is not its own, and there is none before.
    ("[1] Says A.", 0 / 1, 0 / 1, 0),
    # The marks open "Says B."; the first replaces what the sentence before cited, the second is
    # the citation of "Says B.".
    ("Says A. [1][2] Says B.", 2 / 2, 2 / 2, 2 / 2),
    # A sentence of several marks is a statement without text that nothing entails.
    ("Says A [1]. [2][3]", 0 / 2, 0 / 2, 0 / 2),
    # One mark alone is none, and still replaces the citation before; nor are joined ones.
    ("Says A [2]. [1]", 1 / 1, 1 / 1, 1 / 1),
    ("Says A [3]. [1], [2]", 1 / 1, 1 / 1, 1 / 2),
    # `[0]` is the last passage.
    ("Says C [0].", 1, 1, 1),
    # Joined brackets are one mark.
    ("Says A and B [1], [2].", 0 / 1, 1 / 1, 2 / 2),
]


@pytest.mark.parametrize("case", PRINTED, ids=[c[0] or "empty" for c in PRINTED])
def test_what_the_published_code_prints(measure: Measure, case: tuple[Any, ...]) -> None:
    output, *expected = case
    names = ["AutoAIS.cit", "NLI.rec", "NLI.prec"]
    result = measure([output], names, protocol="reference", segmenter=PunktSegmenter())
    assert [result[n][0] for n in names] == expected


@pytest.mark.parametrize(
    ("output", "asked"),
    [
        ("It is 100 C [1].", "It is 100 C."),
        ("Says A [1], [2].", "Says A."),
        ("Says  A [1]  now.", "Says  A   now."),
        ("Says A [1].<|endoftext|>", "Says A."),
        ("<|system|>\nx\n<|assistant|>\nSays A [1].", "Says A."),
    ],
)
def test_what_the_judge_is_asked_in_the_reference(
    measure: Measure, output: str, asked: str
) -> None:
    judge = Facts()
    measure([output], ["NLI.rec"], protocol="reference", judge=judge, segmenter=PunktSegmenter())
    assert judge.asked[0].hypothesis == asked


def test_premises_stand_in_the_order_of_the_published_code(measure: Measure) -> None:
    judge = Facts()
    measure(["Says A [2][1]."], ["NLI.rec"], protocol="reference", judge=judge)
    assert judge.asked[0].premise == "A\nB"


def test_a_passage_without_text_counts_minus_one_in_the_reference(measure: Measure) -> None:
    # The published code's "undecided" is -1 and is added as it is.
    result = measure(
        ["Says A [1]. Says B [2]."], ["NLI.rec", "NLI.prec"], ["", "B"], protocol="reference"
    )
    assert result["NLI.rec"] == [(-1 + 1) / 2]
    assert result["NLI.prec"] == [(-1 + 1) / 2]
    strict = measure(["Says A [1]. Says B [2]."], ["NLI.rec"], ["", "B"])
    assert strict["NLI.rec"] == [1 / 2]


def test_long_numbers_and_prompts_that_do_not_end(measure: Measure) -> None:
    huge = "Says A [" + "1" * 5000 + "]. Says B [2]."
    for names in (["NLI.rec"], ["ALCE.CitRec"]):
        assert measure([huge], names, protocol="reference")[names[0]] == [1 / 2]
    open_ended = "<|system|>" * 100_000
    assert measure([open_ended], ["AutoAIS.cit"], protocol="reference")["AutoAIS.cit"] == [0]


def test_premises_have_no_titles(measure: Measure) -> None:
    judge = Facts()
    measure(["Says A [1]."], ["AutoAIS.cit", "NLI.rec"], [("Title", "text")], judge=judge)
    assert {p.premise for p in judge.asked} == {"text"}


def test_queries_without_passages(measure: Measure) -> None:
    for protocol in ("strict", "reference"):
        left = measure(["Says A."], AIS, [], protocol=protocol)
        assert left["AutoAIS.cit"] == "no passages were shown"


def test_nli_is_alce_on_texts(measure: Measure) -> None:
    result = measure(["Says A [1][2]."], ["NLI.rec", "NLI.prec"])
    assert (result["NLI.rec"], result["NLI.prec"]) == ([1], [1 / 2])


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
    result = measure([output], OVERLAP, gold=rows)
    assert tuple(result[n][0] for n in OVERLAP) == strict
    result = measure([output], OVERLAP, gold=rows, protocol="reference")
    assert tuple(result[n][0] for n in OVERLAP) == reference


def test_which_gold_answer_counts(measure: Measure) -> None:
    rows = [
        answer("first [1]", ["p0"], informative=0, attributable=0),
        answer("attributable [2]", ["p1"], informative=0, attributable=1),
        answer("both [3]", ["p2"], informative=1, attributable=1),
        answer("informative", ["p0"], informative=1, attributable=0),
    ]
    for kept, cited in ((rows, "[3]"), (rows[:2], "[2]"), (rows[:1], "[1]"), (rows[::3], "[1]")):
        result = measure([f"X {cited}."], OVERLAP, gold=[list(kept)])
        assert result["Overlap.P"] == [1]


def test_empty_gold_answers_leave_the_reference(measure: Measure) -> None:
    rows = [[answer("", [])], [answer("x [1]", ["p0"])]]
    assert measure(["X [1].", "X [1]."], OVERLAP, gold=rows)["Overlap.R"] == [0, 1]
    result = measure(["X [1].", "X [1]."], OVERLAP, gold=rows, protocol="reference")
    assert result["Overlap.R"] == [None, 1]


def test_rouge_takes_the_best_gold_answer(measure: Measure) -> None:
    names = ["ROUGE-Lsum.P", "ROUGE-Lsum.R", "ROUGE-Lsum.F", "ROUGE-Lsum.F@1gold"]
    rows = [[answer("one two three four [1]", []), answer("one two", [])]]
    result = measure(["one two nine [1]"], names, gold=rows)
    # Against "one two": P 2/3, R 2/2; against the first: P 2/3, R 2/4, a lower F.
    p, r = 2 / 3, 2 / 2
    assert [result[n][0] for n in names[:3]] == pytest.approx([p, r, 2 * p * r / (p + r)])
    r = 2 / 4
    assert result["ROUGE-Lsum.F@1gold"] == pytest.approx([2 * p * r / (p + r)])


def test_bleu_by_hand_with_the_shortest_reference(measure: Measure) -> None:
    """One sentence of 5 tokens against references of 7 and 8: the penalty is exp(1 - 7/5)."""
    import math

    rows = [[answer("a b c d e f g h", []), answer("a b c d x y z", [])]]
    result = measure(["a b c d e"], ["BLEU"], gold=rows)
    # n-grams found in either reference: 5/5, 4/4, 3/3, 2/2 ("b c d e" stands in the first).
    precision = (5 / 5 * 4 / 4 * 3 / 3 * 2 / 2) ** (1 / 4)
    assert result["BLEU"] == pytest.approx([math.exp(1 - 7 / 5) * precision])
    # The closest reference to 8 tokens would be the first; the shortest is the second.
    result = measure(["a b c d e f g q"], ["BLEU"], gold=rows)
    precision = (7 / 8 * 6 / 7 * 5 / 6 * 4 / 5) ** (1 / 4)
    assert result["BLEU"] == pytest.approx([precision])


def test_closed_book_outputs_keep_their_brackets(measure: Measure) -> None:
    rows = [[answer("one [1] two", [])]]
    with_marks = measure(["one [1] two"], ["BLEU", "ROUGE-Lsum.F"], [], gold=rows)
    assert with_marks["ROUGE-Lsum.F"] == pytest.approx([2 * (2 / 3) * 1 / (2 / 3 + 1)])


def test_without_gold_answers(measure: Measure) -> None:
    result = measure(["x"], ["BLEU", "ROUGE-Lsum.F", "Overlap.P"])
    assert result["BLEU"] == result["ROUGE-Lsum.F"] == "needs gold answers"
    assert result["Overlap.P"] == "needs gold answers with citations"


def test_queries_without_passages_leave_in_the_reference() -> None:
    inputs = make_inputs([("q", "x", (Passage("p0", "", "t"),)), ("q", "y", ())])
    for protocol, kept in (("strict", ["x", "y"]), ("reference", ["x"])):
        tools = inputs.tools.with_options(protocol=protocol)
        (items,) = with_passages(replace(inputs, tools=tools)).runs
        assert [item.output for item in items] == kept
