"""Words of texts in any script."""

import re
import unicodedata
from functools import cache

_JOINERS = "\u200c\u200d"
"""Signs without a width inside words, as in Persian and Sinhala."""
_WITH_MARKS = (range(0x20000), range(0xE0100, 0xE01F0))
"""Code points among which are marks."""


@cache
def _word_pattern() -> re.Pattern[str]:
    """Compile the pattern of a word, whose marks (vowel signs, tones) ``\\w`` does not match."""
    signs = (chr(n) for some in _WITH_MARKS for n in some)
    marks = (sign for sign in signs if unicodedata.category(sign)[0] == "M")
    sign = rf"[\w{''.join(marks)}{_JOINERS}]"
    return re.compile(rf"\w{sign}*(?:['’]\w{sign}*)*")


_ASCII_WORD = re.compile(r"\w+(?:'\w+)*")


def find_words(text: str) -> list[str]:
    """List the words of a text, without punctuation and as they are written."""
    return (_ASCII_WORD if text.isascii() else _word_pattern()).findall(text)
