"""Folding of spellings: case, typographic variants, digits and marks of all scripts."""

import re
import unicodedata

CURRENCY = "$¢£¤¥֏؋৳฿៛₠-⃀"
"""Signs of money, as part of a character class of regular expressions."""
_APOSTROPHES = "'’‘‛′´`ʹʼʻ׳״"
_DROPPED = "™®©℠\u0640"
_KEPT = "·×°♭♯‰"
_BREAK = ","
_SPECIAL = {
    **dict.fromkeys(_APOSTROPHES, "'"),
    **dict.fromkeys("\u2212\u05be\u30fb", "-"),
    **dict.fromkeys("⁄∕", "/"),
    **dict.fromkeys("\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", "\n"),
    "٫": ".", "٬": "'", "٪": "%", "ı": "i",
    **{c: c for c in _KEPT},
}  # fmt: skip
_ARABIC_VOWELS = re.compile("[\u064b-\u0652\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]")
_RAISED = re.compile("[⁰¹²³⁴-⁹⁻⁺]+")
_RAISED_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", "⁺")
_MIXED = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞])")
_ORDINAL_SIGN = re.compile(r"(?<=\d)\.?[ºª]")
_GREEK = re.compile("[\u0370-\u03ff\u1f00-\u1fff][\u0300-\u036f\u0370-\u03ff\u1f00-\u1fff]*")
_HEBREW_QUOTE = re.compile('(?<=[א-ת])"(?=[א-ת])')
_CURRENCY = re.compile(f"[{CURRENCY}]")


class _Characters(dict[int, str | None]):
    """Map from characters to what they are folded to, for :meth:`str.translate`; made on demand."""

    def __missing__(self, code: int) -> str | None:
        """Fold one character by its Unicode category; store the result."""
        self[code] = folded = _fold_character(chr(code))
        return folded


def _fold_character(char: str) -> str | None:
    """Fold one character for comparison, such as a dash to ``-``; None drops it."""
    if char in _SPECIAL:
        return _SPECIAL[char]
    category = unicodedata.category(char)
    if char.isascii() or _CURRENCY.match(char):
        return char
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category == "Cf" or _ARABIC_VOWELS.match(char):
        return None
    if category == "Pd":
        return "-"
    if category[0] == "Z":
        return " "
    return _BREAK if category[0] in "PS" else char


_CHARACTERS = _Characters()
_BEFORE = {**dict.fromkeys(map(ord, _DROPPED)), **dict.fromkeys(map(ord, _APOSTROPHES), "'")}
_ASCII = str.maketrans({c: v for c, v in _SPECIAL.items() if c.isascii()})


def fold(text: str) -> str:
    """Fold a text for comparison: texts that differ only in spelling variants become equal.

    Unicode case folding and NFKC. Dashes are ``-``, apostrophes ``'``, other punctuation beyond
    ASCII ``,``; digits of all scripts are 0 to 9, raised ones follow ``^``. Turkish i, Greek
    accents and Arabic vowel signs are folded, no other marks.
    """
    if text.isascii():
        return text.translate(_ASCII).lower()
    text = _ORDINAL_SIGN.sub("th", text.translate(_BEFORE))
    text = _RAISED.sub(_write_power, _MIXED.sub(" ", text))
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = _GREEK.sub(_strip_marks, text.replace("i\u0307", "i"))
    return _HEBREW_QUOTE.sub("'", text.translate(_CHARACTERS))


def _write_power(match: re.Match[str]) -> str:
    """Write superscript digits after a letter or digit as ``^2``; remove all others."""
    digits = match[0].translate(_RAISED_DIGITS)
    before = match.string[max(0, match.start() - 1) : match.start()]
    is_power = before.isalnum() and digits.strip("-")
    return f"^{digits}" if is_power else " "


def _strip_marks(match: re.Match[str]) -> str:
    """Remove the accents of a Greek word."""
    letters = unicodedata.normalize("NFD", match[0])
    return "".join(c for c in letters if not unicodedata.combining(c))
