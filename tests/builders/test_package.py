"""Statistics of a package."""

import sys

import pyarrow as pa

from citeforge.builders.package import WordLengths, count_words


def test_words_are_what_is_between_white_space_of_any_script() -> None:
    signs = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
    texts = [f"a{sign}b" for sign in signs]
    assert count_words(pa.array(texts)).to_pylist() == [len(text.split()) for text in texts]


def test_words_of_passages() -> None:
    texts = [
        "",
        " \u00a0\u3000",
        "35\u00a0km in 2\u202fh",
        "one\u2028two\r\nthree",
        "日本\u3000東京",
    ]
    assert count_words(pa.array(texts)).to_pylist() == [0, 0, 5, 3, 2]
    lengths = WordLengths()
    lengths.add(pa.array(texts))
    assert lengths.table()["0–10"] == len(texts)
