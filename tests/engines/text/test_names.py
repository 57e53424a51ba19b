"""Names inside texts: masked by X, or by one word of the same length."""

import pytest

from citeforge.engines.text.names import blank_names, mask_names
from citeforge.engines.text.sentences import SentenceSegmenter


def test_a_name_becomes_x() -> None:
    names = ["Ada", "Ada Lovelace", "Alan Turing"]
    assert mask_names("Who was Ada Lovelace's tutor, Adam or Ada?", names) == (
        "Who was X's tutor, Adam or X?"
    )
    assert mask_names("Who was it?", []) == "Who was it?"


@pytest.mark.parametrize(
    ("name", "blank"),
    [
        ("Guards! Guards!", "Gxxxxxxxxxxxxxx"),
        ("Who's Afraid of Virginia Woolf?", "W" + "x" * 30),
        ("J. R. R. Tolkien", "J" + "x" * 15),
        ("Dr. No", "Dxxxxx"),
        ("the Girl who Never Played", "t" + "x" * 24),
        ("No", "No"),  # one word has no mark inside
    ],
)
def test_a_name_keeps_its_place_and_its_capital(name: str, blank: str) -> None:
    assert blank_names(f"It is {name} that was meant.", [name]) == f"It is {blank} that was meant."
    assert len(blank) == len(name)


def test_the_last_mark_of_a_name_may_end_the_sentence() -> None:
    names, split = ["Monsters, Inc.", "Oliver! Twist!"], SentenceSegmenter().split
    inc, oliver = "M" + "x" * 12, "O" + "x" * 12
    for text, blanked in (
        ("It is Monsters, Inc. She made Oliver! Twist!", f"It is {inc}. She made {oliver}!"),
        ("Monsters, Inc. was made. Oliver! Twist! too.", f"{inc}x was made. {oliver}x too."),
    ):
        assert blank_names(text, names) == blanked
        assert len(split(blanked)) == 2
