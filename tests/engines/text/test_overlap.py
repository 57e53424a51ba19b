"""Text that two passages share, against difflib and plain sets."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines.text.overlap import WIDTH, shared, shingles

WORDS = [f"w{i}" for i in range(200)]


def by_hand(one: str, other: str) -> float:
    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.lower())
        width = min(WIDTH, len(words))
        return {tuple(words[i : i + width]) for i in range(len(words) - width + 1)} - {()}

    a, b = runs(one), runs(other)
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def test_neighbours_among_overlapping_chunks() -> None:
    first, second, third = (" ".join(WORDS[i : i + 100]) for i in (0, 50, 100))
    # 100 words have 96 runs of five; 50 words in common have 46.
    assert shared(shingles(first), shingles(second)) == (50 - 4) / (100 - 4)
    assert shared(shingles(first), shingles(third)) == 0
    piece = " ".join(WORDS[10:30]).upper().replace(" ", ", ")
    assert shared(shingles(piece), shingles(first)) == 1  # in part, case and commas aside


@pytest.mark.parametrize(("text", "n"), [("", 0), ("...", 0), ("one", 1), ("a b c d e f", 2)])
def test_short_texts(text: str, n: int) -> None:
    assert len(shingles(text)) == n
    assert shared(shingles(text), shingles("")) == 0


@given(*(st.lists(st.sampled_from(WORDS[:9]), max_size=30).map(" ".join) for _ in range(2)))
def test_equals_sets_of_words(one: str, other: str) -> None:
    assert shared(shingles(one), shingles(other)) == by_hand(one, other)
