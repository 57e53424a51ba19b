"""ALCE's measures, worked by hand in both protocols (docs/measures/alce.md).

Passages are sets of capital letters and statements need the letters that they name; passage 1
says A, passage 2 says B, passage 3 says C, unless a test says otherwise.
"""

from itertools import combinations
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.evaluator.measures.values import extreme_mean
from citeforge.evaluator.statements.alce import reference_clean
from conftest_evaluator import Facts, Measure, gold

NAMES = ["ALCE.CitRec", "ALCE.CitPrec"]

# (output, strict recall, strict precision, reference recall, reference precision)
CASES: list[tuple[str, float, float, float | None, float | None]] = [
    ("Says A [1].", 1, 1 / 1, 1, 1 / 1),
    ("Says A [2].", 0, 0 / 1, 0, 0 / 1),
    ("Says A.", 0, 0, 0, 0),
    # Both are needed.
    ("Says A and B [1][2].", 1, 2 / 2, 1, 2 / 2),
    # 2 alone does not entail A, and 1 without it does: irrelevant.
    ("Says A [1][2].", 1, 1 / 2, 1, 1 / 2),
    # Unsupported: none of the two counts.
    ("Says C [1][2].", 0, 0 / 2, 0, 0 / 2),
    ("Says A [1]. Says B.", 1 / 2, 1 / 1, 1 / 2, 1 / 1),
    ("Says A [1]. Says B [3].", 1 / 2, 1 / 2, 1 / 2, 1 / 2),
    # A list: strict reads both, the reference `[1` only.
    ("Says A and B [1, 2].", 1, 2 / 2, 0, 0 / 1),
    # Out of range: strict: wrong in precision only; reference: recall 0, citations enter nothing.
    ("Says A [1][9].", 1, 1 / 2, 0, 0),
    ("Says A [1][9]. Says B [2].", 2 / 2, 2 / 3, 1 / 2, 1 / 1),
    # `[0]`: out of range in strict; the last passage (C) in the reference.
    ("Says C [0].", 0, 0 / 1, 1, 1 / 1),
    # Repeats: strict counts each once; reference keeps both, and removing the first leaves one.
    ("Says A [1][1].", 1, 1 / 1, 1, 2 / 2),
    ("Says A [1][2][2].", 1, 1 / 2, 1, 1 / 3),
    # The reference looks at the first line only.
    ("Says A [1].\nSays B.", 1 / 2, 1 / 1, 1, 1 / 1),
    # An empty answer: worst in strict, left out in the reference.
    ("", 0, 0, None, None),
    ("[1]", 0, 0, 0, 0 / 1),
]


@pytest.mark.parametrize("case", CASES, ids=[c[0][:30] or "empty" for c in CASES])
def test_citation_quality(measure: Measure, case: tuple[Any, ...]) -> None:
    output, *expected = case
    strict = measure([output], NAMES)
    assert [strict[n][0] for n in NAMES] == expected[:2]
    reference = measure([output], NAMES, protocol="reference")
    result = [reference[n] if isinstance(reference[n], str) else reference[n][0] for n in NAMES]
    assert [None if isinstance(v, str) else v for v in result] == expected[2:]


def test_the_reference_cuts_to_three_after_the_range_check(measure: Measure) -> None:
    passages = ["A", "B", "C", "D"]
    # Four citations: strict needs all of them for D; the reference drops the fourth.
    output = "Says D [1][2][3][4]."
    assert measure([output], NAMES, passages)["ALCE.CitRec"] == [1]
    reference = measure([output], NAMES, passages, protocol="reference")
    assert reference["ALCE.CitRec"] == [0]
    assert reference["ALCE.CitPrec"] == [0 / 3]
    # The fourth is out of range: the whole statement is skipped before the cut.
    wrong = measure(["Says A [1][2][3][9]."], NAMES, passages, protocol="reference")
    assert (wrong["ALCE.CitRec"], wrong["ALCE.CitPrec"]) == ([0], [0])


def test_titles_are_part_of_the_premise(measure: Measure) -> None:
    judge = Facts()
    measure(["Says A [1][2]."], NAMES, [("Title T", "A"), ("", "B")], judge=judge)
    assert judge.asked[0].premise == "Title: Title T\nA\nB"
    judge = Facts()
    measure(["Says A [2]."], NAMES, [("T", "A"), ("", "B")], judge=judge, protocol="reference")
    assert judge.asked[0].premise == "Title: \nB"


def test_follow_up_questions_only_where_needed(measure: Measure) -> None:
    judge = Facts()
    measure(["Says C [1][2]. Says A [1]. Says A and B [1][2]."], NAMES, judge=judge)
    asked = [(p.premise.replace("\n", "+"), p.hypothesis) for p in judge.asked]
    assert asked == [
        ("A+B", "Says C."),
        ("A", "Says A."),
        ("A+B", "Says A and B."),
        # Only the last is supported by several: each alone, then the others without it, which
        # are the same pairs here.
        ("A", "Says A and B."),
        ("B", "Says A and B."),
    ]


def test_judge_failures_give_bounds(measure: Measure) -> None:
    result = measure(["Says A [1]. Says B [2]."], NAMES, ["A", "#"])
    assert result["ALCE.CitRec"] == [1 / 2]
    assert result["ALCE.CitRec/upper"] == [2 / 2]
    assert result["ALCE.CitPrec"] == [1 / 2]
    assert result["ALCE.CitPrec/upper"] == [2 / 2]


def test_f1_is_of_the_means(measure: Measure) -> None:
    result = measure(["Says A [1].", "Says A."], [*NAMES, "ALCE.CitF1"])
    assert result["ALCE.CitF1"] == [1, 0]


def test_short_answers(measure: Measure) -> None:
    rows = [
        gold("qa_pair", "one", aliases=["the Red Planet", "Mars"]),
        gold("qa_pair", "two", aliases=["Io"]),
    ]
    outputs = ["It is red planet [1].", "mars and io [2]", "Venus", ""]
    names = ["ALCE.StrEM", "ALCE.StrHit"]
    result = measure(outputs, names, gold=[rows] * 4)
    assert result["ALCE.StrEM"] == [1 / 2, 2 / 2, 0, 0]
    assert result["ALCE.StrHit"] == [0, 1, 0, 0]
    # The reference cuts at the first newline.
    assert measure(["Venus\nMars"], names, gold=[rows])["ALCE.StrEM"] == [1 / 2]
    cut = measure(["Venus\nMars"], names, gold=[rows], protocol="reference")
    assert cut["ALCE.StrEM"] == [0]
    assert measure(["Mars"], names)["ALCE.StrEM"] == "needs qa_pairs (ASQA)"


def test_qampari_lists(measure: Measure) -> None:
    rows = [
        gold("answer_list", aliases=[name, alias])
        for name, alias in [
            ("Marazan", "M"),
            ("On the Beach", "Beach"),
            *((f"B{i}", f"b {i}") for i in range(6)),
        ]
    ]
    names = ["QAMPARI.P", "QAMPARI.R", "QAMPARI.R5", "QAMPARI.F1", "QAMPARI.F1-5"]
    result = measure(["marazan [1], Beach [2], Other [3]."], names, gold=[rows], task="qampari")
    p, r, r5 = 2 / 3, 2 / 8, 2 / 5
    expected = [p, r, r5, 2 * p * r / (p + r), 2 * p * r5 / (p + r5)]
    assert [result[n][0] for n in names] == pytest.approx(expected)
    # `[1, 2]`: the reference leaves ", 2" behind, one more wrong item.
    odd = measure(["marazan [1, 2]"], names, gold=[rows], task="qampari", protocol="reference")
    assert odd["QAMPARI.P"] == [1 / 2]
    assert measure(["marazan [1, 2]"], names, gold=[rows], task="qampari")["QAMPARI.P"] == [1 / 1]


def test_qampari_statements_are_items_with_the_question(measure: Measure) -> None:
    judge = Facts()
    output = 'A [1], "B, or so" [2], C'
    result = measure([output], NAMES, task="qampari", queries=["Which?"], judge=judge)
    assert {p.hypothesis for p in judge.asked} == {"Which? A", 'Which? "B, or so"'}
    assert result["ALCE.CitRec"] == [2 / 3]
    judge = Facts()
    measure(["Says A. [1], C."], NAMES, task="qampari", queries=["Q?"], judge=judge)
    assert {p.hypothesis for p in judge.asked} == {"Q? Says A"}
    # An empty output is one statement scoring 0 in the reference, and stays.
    empty = measure([""], NAMES, task="qampari", protocol="reference")
    assert (empty["ALCE.CitRec"], empty["ALCE.CitPrec"]) == ([0], [0])


def test_what_the_reference_leaves_of_citations() -> None:
    assert reference_clean("A [1, 2] b [3][4] | c].") == "A, 2 b c."


def test_counters_are_shares_over_all_statements(measure: Measure) -> None:
    names = ["ALCE.Multi", "ALCE.MultiSupported", "ALCE.Overcited"]
    # Statements: A [1][2] (supported, overcited), A and B [1][2] (supported), C [1][2], A [1].
    outputs = ["Says A [1][2]. Says A and B [1][2].", "Says C [1][2]. Says A [1]."]
    result = measure(outputs, names)
    assert result["ALCE.Multi"] == [2 / 2, 1 / 2]
    assert result["ALCE.MultiSupported"] == [2 / 2, 0 / 1]
    assert result["ALCE.Overcited"] == [1 / 2, None]


def test_counters_of_the_reference(measure: Measure) -> None:
    names = ["ALCE.Multi", "ALCE.MultiSupported", "ALCE.Overcited"]
    # A [1][9] is out of range, and counts as one with several citations; of A [1][2][3] two are
    # not needed, and both count.
    outputs = ["Says A [1][9]. Says A [1][2][3].", "Says A [1]. Says B."]
    result = measure(outputs, names, protocol="reference")
    assert result["ALCE.Multi"] == [2 / 2, 0 / 2]
    assert result["ALCE.MultiSupported"] == [1 / 2, None]
    assert result["ALCE.Overcited"] == [2 / 1, None]
    # strict counts statements, and out-of-range citations do not make several.
    strict = measure(outputs, names)
    assert strict["ALCE.Multi"] == [1 / 2, 0 / 2]
    assert strict["ALCE.Overcited"] == [1 / 1, None]


COUNTERS = ["ALCE.Multi", "ALCE.MultiSupported", "ALCE.Overcited"]

# (outputs, passages, supported low and high, overcited low and high), per query; # fails the judge.
OPEN: list[tuple[list[str], list[str], list[Any], list[Any], list[Any], list[Any]]] = [
    # 1 alone entails A; whether both do is open, and so is whether 2 alone does.
    (["Says A [1][2]."], ["A", "#"], [0 / 1], [1 / 1], [0 / 1], [1 / 1]),
    # Beside it one that is supported and needs both.
    (["Says A [1][2]. Says A and B [1][3]."], ["A", "#", "B"], [1 / 2], [2 / 2], [0 / 2], [1 / 2]),
    # Beside one that is overcited the open one lowers the share if it needs both, else keeps it.
    (
        ["Says A [1][3].", "Says C [1][2]."],
        ["A", "#", "B"],
        [1 / 1, 0 / 1],
        [1 / 1, 1 / 1],
        [1 / 1, 0 / 1],
        [1 / 1, 1 / 1],
    ),
    # Of 2 nothing is asked.
    (["Says A [1][3]."], ["A", "#", "B"], [1 / 1], [1 / 1], [1 / 1], [1 / 1]),
]


@pytest.mark.parametrize("case", OPEN, ids=[str(i) for i in range(len(OPEN))])
def test_judge_failures_give_bounds_of_counters(measure: Measure, case: Any) -> None:
    outputs, passages, *expected = case
    result = measure(outputs, COUNTERS, passages)
    names = COUNTERS[1:]
    lows_and_highs = [result.get(f"{n}{side}", result[n]) for n in names for side in ("", "/upper")]
    assert lows_and_highs == expected
    assert "ALCE.Multi/upper" not in result


def test_bounds_of_counters_in_the_reference(measure: Measure) -> None:
    # A [1][2][2] is supported, if at all, with 0 to 2 citations too many;
    # A [1][3][3][9] is out of range; A [1][3][3] is supported with 2 too many.
    outputs = ["Says A [1][2][2].", "Says A [1][3][3][9]. Says A [1][3][3]."]
    result = measure(outputs, COUNTERS, ["A", "#", "B"], protocol="reference")
    assert (result[COUNTERS[1]], result[f"{COUNTERS[1]}/upper"]) == ([0 / 1, 1 / 2], [1 / 1, 1 / 2])
    assert (result[COUNTERS[2]], result[f"{COUNTERS[2]}/upper"]) == ([0 / 1, 2 / 1], [2 / 1, 2 / 1])


SHARES = st.lists(st.integers(0, 3), max_size=5)


@given(sure=SHARES, maybe=SHARES, highest=st.booleans())
def test_extreme_means_are_those_of_all_choices(
    sure: list[float], maybe: list[float], highest: bool
) -> None:
    choices = [
        [*sure, *chosen]
        for n in range(len(maybe) + 1)
        for chosen in combinations(maybe, n)
        if sure or chosen
    ]
    expected = (max if highest else min)((fmean(c) for c in choices), default=float("nan"))
    assert extreme_mean(sure, maybe, highest) == pytest.approx(expected, nan_ok=True)


def test_at_most_citations(measure: Measure) -> None:
    passages = ["A", "B", "C", "D"]
    output = ["Says A and B [1][2]. Says A [1][9]."]
    # With one: A alone does not entail A and B; the range is still checked on both.
    result = measure(output, NAMES, passages, protocol="reference", at_most_citations=1)
    assert (result["ALCE.CitRec"], result["ALCE.CitPrec"]) == ([0 / 2], [0 / 1])
    result = measure(output, NAMES, passages, protocol="reference", at_most_citations=2)
    assert (result["ALCE.CitRec"], result["ALCE.CitPrec"]) == ([1 / 2], [2 / 2])


def test_chains_of_thought_are_cited_too(measure: Measure) -> None:
    # `cot` cuts the list for QAMPARI's own measures; citations are scored on the whole output.
    output = ["Says A [1]: Says B [2]"]
    plain, cot = (
        measure(output, NAMES, task="qampari", protocol="reference", cot=c) for c in (False, True)
    )
    assert plain == cot
    # One item, "q Says A: Says B", that passages 1 and 2 entail together.
    assert cot["ALCE.CitRec"] == [1 / 1]
    assert cot["ALCE.CitPrec"] == [2 / 2]


def test_length_is_words_without_marks(measure: Measure) -> None:
    outputs = ["Says A [1].\nSays B [1, 2].", ""]
    assert measure(outputs, ["ALCE.Length"])["ALCE.Length"] == [2 + 2, 0]
    # The first line; `[1, 2]` leaves ", 2" in the reference.
    reference = measure([*outputs, "B [1, 2]."], ["ALCE.Length"], protocol="reference")
    assert reference["ALCE.Length"] == [2, 0, len(["B,", "2."])]


def test_chains_of_thought_end_at_the_first_colon(measure: Measure) -> None:
    rows = [gold("answer_list", aliases=["Io"]), gold("answer_list", aliases=["Titan"])]
    names = ["QAMPARI.P", "QAMPARI.NumPreds"]
    output = "I think of moons, and so: Io, Titan: the moon"
    plain = measure([output], names, gold=[rows], task="qampari")
    assert plain["QAMPARI.NumPreds"] == [3]
    cot = measure([output], names, gold=[rows], task="qampari", cot=True)
    assert cot["QAMPARI.NumPreds"] == [2]
    assert cot["QAMPARI.P"] == [1 / 2]
    assert measure(["no mark"], names, gold=[rows], cot=True)["QAMPARI.NumPreds"] == [0]


def test_claim_recall(measure: Measure) -> None:
    rows = [gold("claim", "A"), gold("claim", "B"), gold("claim", "A and B")]
    result = measure(["Says A [1].", "A B", ""], ["ALCE.ClaimRec"], gold=[rows] * 3)
    # The letters of the output are the premise; "Says A." has A only.
    assert result["ALCE.ClaimRec"] == [1 / 3, 3 / 3, 0]


@pytest.mark.parametrize(
    ("short", "output", "strict", "reference"),
    [
        ("1964", "Its service ran from 1964–1981 [1].", 1, 1),
        ("1964", "It opened on 1964-11-21 [1].", 1, 1),
        ("3.5", "It weighs 35 kg [1].", 0, 1),
        ("-5", "It was 5 degrees [1].", 0, 1),
        ("A", "I do not know.", 0, 1),
        ("A", "A.", 1, 1),
        ("İstanbul", "It is in Istanbul [1].", 1, 0),
        ("1964", "افتتح الجسر عام ١٩٦٤ [1].", 1, 0),
    ],
)
def test_short_answers_of_both_protocols(
    measure: Measure, short: str, output: str, strict: int, reference: int
) -> None:
    rows = [[gold("qa_pair", "q?", aliases=[short])]] * 2
    names = ["ALCE.StrEM", "ALCE.StrHit"]
    # The second answer is missing: the worst value.
    result = measure([output, ""], names, gold=rows, missing=[1])
    assert [result[name] for name in names] == [[strict, 0], [strict, 0]]
    theirs = measure([output], names, gold=rows[:1], protocol="reference")
    assert theirs["ALCE.StrEM"] == [reference]


def test_items_of_lists_are_short_answers(measure: Measure) -> None:
    rows = [[gold("answer_list", aliases=[a]) for a in ("1,298", "A", "İzmir", "12 May 1964")]]
    output = "1298, A, Izmir, 1964-05-12, 1964"
    result = measure([output], ["QAMPARI.P", "QAMPARI.R"], gold=rows, task="qampari")
    assert result["QAMPARI.P"] == [4 / 5]
    assert result["QAMPARI.R"] == [4 / 4]


def test_two_names_of_the_last_passage_are_no_repeat(measure: Measure) -> None:
    """ALCE's list is [-1, 0, 2]: without its 2 it is [-1, 0], the last passage and the first."""
    judge = Facts()
    measure(["Says A, B and C [0][1][3]."], NAMES, ["A", "B", "C B"], protocol="reference",
            judge=judge)  # fmt: skip
    order = ["".join(letter for letter in pair.premise if letter in "AC") for pair in judge.asked]
    # All three, each of the two alone, and what is left without [0], without [1], without [3].
    assert order == ["CAC", "C", "A", "AC", "CC", "CA"]
