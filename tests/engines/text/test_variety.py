"""Variety of texts: openers, runs of four words in several texts, distinct pairs of words."""

import pytest

from citeforge.engines.text.variety import (
    find_opener,
    measure_variety,
    variety_stats,
    word_runs,
)

TEXTS = [
    "When and where was X born?",
    "When and where was X buried?",
    "When, and where did X die?",
    "How did X die?",
]


def test_openers_are_the_first_three_words() -> None:
    assert find_opener("When, and WHERE was X born?") == "when and where"
    assert find_opener("Who's that?") == "who's that"
    found = measure_variety(TEXTS)
    # "when and where" three times, "how did x" once
    assert (found.n_openers, found.commonest, found.n_commonest) == (2, "when and where", 3)
    assert found.commonest_share == 3 / 4


def test_self_repetition_is_the_share_of_runs_in_several_texts() -> None:
    assert word_runs("How did X die?") == [("how", "did", "x", "die")]
    # Runs: 3 + 3 + 3 + 1. In two texts: "when and where was", "and where was x".
    assert measure_variety(TEXTS).self_repetition == (2 + 2) / (3 + 3 + 3 + 1)
    # A run said twice in one text counts once.
    twice = "how did x die and how did x die"
    assert measure_variety([twice, "what is it"]).self_repetition == 0
    # 9 words have 6 runs, one of them twice: 5; the other text has 1.
    assert measure_variety([twice, "How did X die?"]).self_repetition == (1 + 1) / (5 + 1)


def test_distinct_2_is_pairs_per_pair() -> None:
    # Pairs: 5 + 5 + 5 + 3 = 18. Distinct: when and, and where, where was, was x, x born; x buried;
    # where did, did x, x die; how did.
    assert measure_variety(TEXTS).distinct_2 == 10 / 18


@pytest.mark.parametrize("texts", [[], ["", "?"]])
def test_no_words_are_no_error(texts: list[str]) -> None:
    found = measure_variety(texts)
    assert (found.self_repetition, found.distinct_2, found.n_commonest) == (0, 0, len(texts))


def test_statistics_say_what_they_are_of() -> None:
    assert variety_stats("general", TEXTS) == {
        "distinct_openers[general]": 2,
        "commonest_opener[general]": "3 of 4 (75.0 %): when and where",
        "self_repetition[general]": 0.4,
        "distinct_2[general]": round(10 / 18, 4),
    }
