"""Characters without width: marks of direction, soft hyphens, byte order marks, zero-width spaces.

The joiners U+200C and U+200D are apart: Persian, Hindi and emoji are spelt with these, so shown
texts keep them, and comparisons ignore them.
"""

import unicodedata
from itertools import chain

INVISIBLE = "".join(
    map(
        chr,
        chain(
            (0xAD, 0x34F, 0x61C, 0x180E, 0xFEFF),
            *(range(first, last + 1) for first, last in
              ((0x200B, 0x200B), (0x200E, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F))),
        ),
    )
)  # fmt: skip
"""All of them but the joiners; none is a part of a word, and none has a meaning in a pattern."""
JOINERS = "\u200c\u200d"
WORD_JOINER = "\u2060"
"""Put behind a bracket of an answer that would be read as a citation mark and is none."""
_DELETED = {joiners: dict.fromkeys(map(ord, INVISIBLE + joiners)) for joiners in ("", JOINERS)}
_FILLERS = frozenset(
    chr(n)
    for n in (
        0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0,
        *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0),
    )
)  # fmt: skip
"""Characters that are letters or accents by their category, and show nothing."""


def without_invisible(text: str, joiners: str = "") -> str:
    """Remove zero-width characters from a text, also the ``joiners`` (U+200C, U+200D) if passed."""
    return text if text.isascii() else text.translate(_DELETED[joiners])


def is_invisible(character: str) -> bool:
    """Whether a character shows nothing and is not white space, such as a zero-width joiner."""
    return character in _FILLERS or unicodedata.category(character) == "Cf"
