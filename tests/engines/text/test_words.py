"""Words in any script: signs of vowels and tones are parts of them."""

import pytest

from citeforge.builders.authorship.facts import bare_words
from citeforge.engines.text.variety import words_of
from citeforge.engines.text.words import find_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The lock's gate, at 12:30!", ["The", "lock's", "gate", "at", "12", "30"]),
        ("L’écluse — fermée", ["L’écluse", "fermée"]),
        ("हिन्दी में, नहीं।", ["हिन्दी", "में", "नहीं"]),
        ("বাংলা ভাষা, না।", ["বাংলা", "ভাষা", "না"]),
        ("தமிழ் மொழி, இல்லை.", ["தமிழ்", "மொழி", "இல்லை"]),
        ("น้ำสูง ที่นี่", ["น้ำสูง", "ที่นี่"]),
        ("cafe\u0301, oui", ["cafe\u0301", "oui"]),
        ("\u0301 a", ["a"]),  # a mark of nothing
        ("کتاب\u200cها، بله", ["کتاب\u200cها", "بله"]),
        ("шлюз, ворота", ["шлюз", "ворота"]),
    ],
)
def test_words_keep_their_signs(text: str, words: list[str]) -> None:
    assert find_words(text) == words
    assert bare_words(text) == words_of(text) == [word.lower() for word in words]
