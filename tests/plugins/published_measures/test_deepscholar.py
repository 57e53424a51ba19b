"""DeepScholar's precision and claims, counted by hand (docs/measures/deepscholar.md)."""

import pytest

from citeforge.engines.judge.records import Pair
from conftest_evaluator import Facts, Measure

NAMES = ["DeepScholar.P", "DeepScholar.Claims"]
LONG = " is a statement of more than fifty characters in all"
OUT = 9


def long(*facts: tuple[str, tuple[int, ...]]) -> str:
    """Long sentences, each with a letter to be supported and its citations."""
    return " ".join(f"{x}{LONG}{''.join(f'[{n}]' for n in marks)}." for x, marks in facts)


# Passages: "A", "B", "C". (answer, P and Claims in strict, P and Claims in reference)
CASES = [
    (long(("A", (1, 2)), ("A", ()), ("A", (OUT,))),
     (1 / 2 + 0 + 0) / 3, (1 + 1 + 0) / 3, (1 / 2 + 0 + 0) / 3, 1 / 3),
    # Two passages support together what neither does alone; the second claim sees both, too.
    (long(("AB", (1, 2)), ("AB", (1,))), 0 / 2, (1 + 1) / 2, 0 / 2, (1 + 0) / 2),
    # The window ends one statement away.
    (long(("A", ()), ("B", (2,)), ("C", (1,))), (0 + 1 + 0) / 3, (0 + 1 + 0) / 3,
     (0 + 1 + 0) / 3, (0 + 1 + 0) / 3),
    # A citation out of range costs precision; a repeated one is one, or two.
    (long(("A", (1, OUT))), 1 / 2, 1, 1, 1),
    (long(("A", (1, 1, 2))), 1 / 2, 1, 2 / 3, 1),
    # A short statement does not count, and its citations help its neighbour.
    (f"A{LONG}. So it is [1].", 0, 1, 0, 0),
    # Marks of several numbers: the code reads the first and keeps the mark in the claim.
    (f"A{LONG} [2, 1].", 1 / 2, 1, 0, 0),
    ("A is [1].", 0, 0, 0, 0),
    ("", 0, 0, 0, 0),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[c[0][:30] or "empty" for c in CASES])
def test_values_by_hand(case: tuple[str, float, float, float, float], measure: Measure) -> None:
    strict = measure([case[0]], NAMES)
    reference = measure([case[0]], NAMES, protocol="reference")
    found = [*(strict[n][0] for n in NAMES), *(reference[n][0] for n in NAMES)]
    assert found == pytest.approx(case[1:])


def test_the_limit_is_fifty_characters_without_marks_and_in_the_code_with_them(
    measure: Measure,
) -> None:
    text = "A" + "x" * 44  # with " [1]." 50 characters, without the mark 46
    assert measure([f"{text} [1]."], NAMES[:1])[NAMES[0]] == [0]
    assert measure([f"{text} [1]."], NAMES[:1], protocol="reference")[NAMES[0]] == [1]
    assert measure([f"{text[:-1]} [1]."], NAMES[:1], protocol="reference")[NAMES[0]] == [0]
    assert measure([f"{text}xxxx [1]."], NAMES[:1])[NAMES[0]] == [1]


def test_a_missing_answer_scores_0(measure: Measure) -> None:
    found = measure([long(("A", (1,))), ""], NAMES, missing=[1])
    assert found == {"DeepScholar.P": [1, 0], "DeepScholar.Claims": [1, 0]}


def test_a_failed_judgement_leaves_bounds(measure: Measure) -> None:
    """Of two citations one is right and one unknown; the claim is unknown and has no neighbour."""
    found = measure([long(("A", (1, 2)))], NAMES, ["A", "#"])
    assert (found["DeepScholar.P"], found["DeepScholar.P/upper"]) == ([1 / 2], [2 / 2])
    assert (found["DeepScholar.Claims"], found["DeepScholar.Claims/upper"]) == ([0], [1])


def test_a_window_without_further_sources_is_not_asked_about(measure: Measure) -> None:
    """Claim 1 holds by itself; claim 2 cites nothing else than claim 1: two pairs and no more."""
    judge = Facts()
    measure([long(("A", (1,)), ("B", (1,)))], NAMES[1:], judge=judge)
    assert sorted(judge.asked) == [Pair("A", f"A{LONG}."), Pair("A", f"B{LONG}.")]


def test_the_query_is_part_of_the_premise_in_the_code_alone(measure: Measure) -> None:
    answer, query = long(("AF", (1,))), ["F?"]
    assert measure([answer], NAMES, queries=query)["DeepScholar.Claims"] == [0]
    found = measure([answer], NAMES, queries=query, protocol="reference")
    assert found == {"DeepScholar.P": [0], "DeepScholar.Claims": [1]}


def test_et_al_ends_no_sentence_in_the_code(measure: Measure) -> None:
    """One sentence of 60 characters, in place of two of 21 and 37."""
    answer = "As A was shown et al. Gardens moved by some more words [1]."
    assert measure([answer], NAMES, protocol="reference")["DeepScholar.P"] == [1]
