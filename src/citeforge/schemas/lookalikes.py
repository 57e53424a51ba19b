"""Characters that nobody sees, and letters that look like Latin ones."""

import unicodedata

_INVISIBLE_LETTERS = frozenset(
    chr(n)
    for n in (
        0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0,
        *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0),
    )
)  # fmt: skip
"""Invisible characters that are letters or accents by their category."""
# A subset of Unicode's confusables (UTS 39): letters of other scripts that look like Latin ones.
_LETTERS = str.maketrans(
    {
        letter: latin
        for latin, letters in {
            "A": "АΑᎪ", "B": "ВΒᏴ", "C": "СᏟ", "D": "Ꭰ", "E": "ЕΕᎬ", "G": "Ꮐ", "H": "НΗᎻ",
            "I": "ІΙ", "J": "ЈᎫ", "K": "КΚᏦ", "L": "Ꮮ", "M": "МΜᎷ", "N": "Ν", "O": "ОΟ", "P": "РΡᏢ",
            "S": "ЅᏚ", "T": "ТΤᎢ", "V": "Ꮩ", "W": "ԜᎳ", "X": "ХΧ", "Y": "УΥ", "Z": "ΖᏃ",
            "a": "аαɑ", "c": "с", "d": "ԁ", "e": "е", "g": "ɡ", "h": "һհ", "i": "іιı", "j": "ј",
            "k": "кκ", "n": "ո", "o": "оοσօ", "p": "рρ", "q": "ԛ", "s": "ѕ", "u": "υս", "v": "ѵν",
            "w": "ԝ", "x": "х", "y": "уγ", "-": "‐‑‒–—−⁃", "'": "‘’ʼ`′",
        }.items()
        for letter in letters
    }
)  # fmt: skip


def is_invisible(character: str) -> bool:
    """Whether a character is a zero-width, bidi or filling one that is not white space."""
    return character in _INVISIBLE_LETTERS or unicodedata.category(character) == "Cf"


def latin_letters(text: str) -> str:
    """Compose a text (NFKC), and replace letters that look like Latin ones by these."""
    return unicodedata.normalize("NFKC", text).translate(_LETTERS)
