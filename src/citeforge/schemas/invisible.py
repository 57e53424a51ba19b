"""Characters without width: marks of direction, soft hyphens, byte order marks, zero-width spaces.

The joiners U+200C and U+200D are not among them: Persian, Hindi and emoji are spelt with these.
"""

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
"""All of them; none is a part of a word."""
_DELETED = dict.fromkeys(map(ord, INVISIBLE))


def without_invisible(text: str) -> str:
    """Remove characters without width from a text."""
    return text if text.isascii() else text.translate(_DELETED)
