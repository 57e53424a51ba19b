"""Normalisations."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.schemas.text import (
    answer_form,
    contains_answer,
    holds_form,
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


def test_an_answer_that_normalises_to_nothing_is_never_contained() -> None:
    assert not contains_answer("anything", ["the", "!"])
    assert contains_answer("red planet mars", ["The Mars"])


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("L'Aquila", "It was L’Aquila."),
        ("Verrazzano-Narrows Bridge", "the Verrazzano\u2011Narrows Bridge"),
        ("Beyoncé", "Beyonce\u0301 sang"),
        ("1298", "１２９８"),
        ("1298", "1\u202f298 metres"),
        ("Straße", "in der Strasse"),
        ("10 km", "some 10 km away"),
        ("हिंदी", "भाषा हिंदी है"),
    ],
)
def test_typographic_variants_are_one_answer(gold: str, text: str) -> None:
    assert holds_form(answer_form(text), answer_form(gold))


@pytest.mark.parametrize(("gold", "text"), [("10 km", "210 km"), ("1298", "51298765")])
def test_a_number_is_not_found_inside_another(gold: str, text: str) -> None:
    assert not holds_form(answer_form(text), answer_form(gold))


def test_a_number_is_found_behind_a_longer_one() -> None:
    assert holds_form(answer_form("210 km, then 10 km"), answer_form("10 km"))


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
