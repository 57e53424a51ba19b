"""RAGE's measures, worked by hand (docs/measures/rage.md)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.evaluator.measures.rage_citations import (
    _strip_markers,
    score_reference,
    score_strict,
)
from citeforge.schemas.citations.grammar import Grammar, without_markers

GRAMMAR = Grammar()
RELEVANT = frozenset({0, 3})  # passages 1 and 4 of 5
ANSWERS = {0: ["Mars"], 3: ["the Red Planet"]}

# (output, strict precision, strict recall, strict distinct,
#  reference precision, reference recall, reference distinct)
CASES = [
    ("A [1].", 1 / 1, 1 / 2, 1, 1 / 1, 1 / 2, 1),
    ("A [1][4].", 2 / 2, 2 / 2, 2, 2 / 2, 2 / 2, 2),
    ("A [1][2].", 1 / 2, 1 / 2, 2, 1 / 2, 1 / 2, 2),
    ("A [1][1][1].", 1 / 1, 1 / 2, 1, 1 / 1, 1 / 2, 1),
    # The reference reader does not know lists and ranges.
    ("A [1, 2].", 1 / 2, 1 / 2, 2, 0, 0, 0),
    ("A [1-4].", 2 / 4, 2 / 2, 4, 0, 0, 0),
    # Out of range: wrong in strict, dropped before counting in reference.
    ("A [1][9].", 1 / 2, 1 / 2, 2, 1 / 1, 1 / 2, 1),
    ("A [0].", 0 / 1, 0 / 2, 1, 0, 0, 0),
    # A year is no citation in strict; the reference drops it as out of range.
    ("A [2019] [4].", 1 / 1, 1 / 2, 1, 1 / 1, 1 / 2, 1),
    ("No citation.", 0, 0 / 2, 0, 0, 0 / 2, 0),
    ("", 0, 0 / 2, 0, 0, 0 / 2, 0),
    # The last passage is one of them.
    ("A [5].", 0 / 1, 0 / 2, 1, 0 / 1, 0 / 2, 1),
    # The reference reads code and links; strict does not.
    ("Code `[1]`", 0, 0, 0, 1 / 1, 1 / 2, 1),
    ("Link [1](https://example.org)", 0, 0, 0, 1 / 1, 1 / 2, 1),
]


@pytest.mark.parametrize("case", CASES, ids=[c[0] or "empty" for c in CASES])
def test_citations(case: tuple[str, float, float, int, float, float, int]) -> None:
    output = case[0]
    strict = score_strict(GRAMMAR, output, 5, RELEVANT, {})
    assert (strict.numbers.precision, strict.numbers.recall, strict.numbers.distinct) == case[1:4]
    reference = score_reference(output, 5, RELEVANT, {})
    assert (
        reference.numbers.precision,
        reference.numbers.recall,
        reference.numbers.distinct,
    ) == case[4:]


def test_brackets_that_cannot_be_read_are_counted_in_strict() -> None:
    assert score_strict(GRAMMAR, "A [1, x].", 5, RELEVANT, {}).n_unparsed == 1
    assert score_reference("A [1, x].", 5, RELEVANT, {}).n_unparsed == 0
    assert math.isnan(score_strict(GRAMMAR, "A [1].", 5, RELEVANT, {}).numbers.short_em)
    assert math.isnan(score_reference("A [1].", 5, RELEVANT, {}).numbers.short_em)


@pytest.mark.parametrize(
    ("output", "strict", "reference"),
    [("A [1][9].", 1, 1), ("A [1][2].", 0, 0), ("A [0][7][8][8].", 3, 3), ("A [2019][1].", 0, 1)],
)
def test_citations_out_of_range_are_counted(output: str, strict: int, reference: int) -> None:
    assert score_strict(GRAMMAR, output, 5, RELEVANT, {}).n_out_of_range == strict
    assert score_reference(output, 5, RELEVANT, {}).n_out_of_range == reference


def test_without_relevant_passages_there_is_no_recall() -> None:
    for answer in (
        score_strict(GRAMMAR, "A [1].", 5, frozenset(), {}),
        score_reference("A [1].", 5, frozenset(), {}),
    ):
        assert math.isnan(answer.numbers.recall)
        assert answer.numbers.precision == 0


@pytest.mark.parametrize(
    ("output", "strict", "reference"),
    [
        # Strict: any short answer of a relevant passage in the context, normalised.
        ("It is mars.", 1, math.nan),  # nothing cited: the reference leaves the mean
        ("It is Mars [1].", 1, 1),
        ("It is mars [1].", 1, 0),  # the reference compares letter by letter
        ("It is Mars [4].", 1, 0),  # cited passage 4 has another answer
        ("The red, planet! [4]", 1, 0),
        ("It is the Red Planet [4].", 1, 1),
        ("Venus [1][4].", 0, 0),
        ("Mars [2].", 1, math.nan),
    ],
)
def test_short_answers(output: str, strict: float, reference: float) -> None:
    assert score_strict(GRAMMAR, output, 5, RELEVANT, ANSWERS).numbers.short_em == strict
    got = score_reference(output, 5, RELEVANT, ANSWERS).numbers.short_em
    assert got == reference or (math.isnan(got) and math.isnan(reference))


def test_an_empty_list_of_short_answers_is_defined_and_zero() -> None:
    assert score_reference("[1]", 5, RELEVANT, {0: []}).numbers.short_em == 0


@pytest.mark.parametrize(
    ("output", "strict", "reference"),
    [
        ("One two three [1].", 3, 4),
        ("One  two", 2, 3),  # two spaces: the reference counts the empty piece between
        ("One\ntwo", 2, 1),
        ("", 0, 1),
        ("[1]", 0, 1),
        ("One [1] two.", 2, 3),
    ],
)
def test_length(output: str, strict: int, reference: int) -> None:
    assert score_strict(GRAMMAR, output, 5, RELEVANT, {}).numbers.length == strict
    assert score_reference(output, 5, RELEVANT, {}).numbers.length == reference


@given(st.text(st.sampled_from("[]12 \t\n.,;x(`【】") | st.characters()))
def test_the_short_way_counts_the_same_words(output: str) -> None:
    slow = without_markers(output, GRAMMAR.parse(output, 5).markers)
    assert _strip_markers(output, 5, GRAMMAR).split() == slow.split()
