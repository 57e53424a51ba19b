"""Letters that look like Latin ones."""

import unicodedata

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


def latin_letters(text: str) -> str:
    """Compose a text (NFKC), and replace letters that look like Latin ones by these."""
    return unicodedata.normalize("NFKC", text).translate(_LETTERS)
