"""Normalisations."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.schemas.text import (
    normalise_answer,
    normalise_passages,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The U.S. Navy", "us navy"),
        ("An  apple,\na day", "apple day"),
        ("Theatre", "theatre"),
        ("a", ""),
        ("Hyphen-ated", "hyphenated"),
    ],
)
def test_answer_normalisation(text: str, expected: str) -> None:
    assert normalise_answer(text) == expected


def test_equal_passages() -> None:
    texts = pa.array(["Ünder\u00a0the  sea ", "U\u0308nder the sea", "ÜNDER\tTHE SEA", None])
    first, second, third, last = normalise_passages(texts).to_pylist()
    assert first == second == third == "ünder the sea"
    assert last is None


@given(st.lists(st.text()))
def test_passage_normalisation_is_idempotent(texts: list[str]) -> None:
    clean = [t.encode("utf-8", "ignore").decode() for t in texts]
    once = normalise_passages(pa.array(clean, pa.string()))
    assert normalise_passages(once).equals(once)
