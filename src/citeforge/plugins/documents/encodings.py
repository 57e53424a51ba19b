"""Find the encoding of a text file: declared by a mark, UTF-8, or the likeliest code page."""

import codecs
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from citeforge.engines.text.languages import language_probabilities

_SAMPLE_BYTES = 1 << 16
"""Bytes of lines with other characters than ASCII from which a code page is guessed."""
_LEAST_FIT = 0.5
"""Least probability that a text is in a language that people write in the code page."""
_MOST_CHAOS = 0.2
"""charset_normalizer's own limit for signs that do not go together."""

_WESTERN = (
    "en fr de es pt it nl da sv no nb nn fi is fo ca gl eu af ga et sq lb br oc id ms sw la mt eo "
    "wa an ht"
)
_CENTRAL = {
    "pl": "ąćęłńóśźż", "cs": "áčďéěíňóřšťúůýž", "sk": "áäčďéíĺľňóôŕšťúýž", "hu": "áéíóöőúüű",
    **dict.fromkeys(("sl", "hr", "bs", "sr"), "čćđšž"), "ro": "ăâîşţ", "sq": "çë",
}  # fmt: skip
"""Language to its letters outside ASCII, of languages whose two pages differ in some letters."""
_CYRILLIC = "ru uk be bg sr mk kk ky mn"
_CHINESE = "zh yue wuu lzh"
_LANGUAGES = {
    **dict.fromkeys(("cp1252", "iso8859_15"), _WESTERN),
    **dict.fromkeys(("cp1250", "iso8859_2"), " ".join(_CENTRAL)),
    **dict.fromkeys(("cp1251", "koi8_r", "koi8_u", "cp866", "iso8859_5"), _CYRILLIC),
    **dict.fromkeys(("cp1253", "iso8859_7"), "el"),
    "cp1254": "tr az", "cp1255": "he", "cp1256": "ar fa ur ps ug", "cp1257": "lt lv et",
    **dict.fromkeys(("gb18030", "big5hkscs"), _CHINESE),
    **dict.fromkeys(("cp932", "euc_jp"), "ja"),
    "cp949": "ko", "mac_roman": _WESTERN, "cp874": "th",
}  # fmt: skip
PAGES = {page: frozenset(languages.split()) for page, languages in _LANGUAGES.items()}
"""Code page to the languages that are written in it; of equally likely ones the first is taken."""

_VARIANTS = {
    "iso8859_15": "cp1252", "mac_roman": "cp1252", "iso8859_2": "cp1250", "koi8_u": "koi8_r"
}  # fmt: skip
"""Code pages that differ in few signs from another one, which is taken if both fit alike."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),  # begins as UTF-16's does
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_SHIFTED = {b"\x1b$)C": "iso2022_kr", b"\x1b$": "iso2022_jp"}
"""Escape sequences of encodings whose bytes are all ASCII."""
_SYMBOLS = ("So", "Sm", "Sc", "Sk", "No", "Po")
_TAG = re.compile(rb"<[^>]*>")
_DECLARED = re.compile(
    rb"""<(?:meta|\?xml)\b[^>]*?\b(?:charset|encoding)\s*=\s*["']?([\w.:-]+)""", re.I
)
_WIDER = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "tis-620": "cp874",
    "shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949",
    "big5": "big5hkscs",
}  # fmt: skip
"""Encodings that pages declare, to those that browsers read them in."""


@dataclass(frozen=True)
class DecodedText:
    """A decoded text.

    Attributes:
        text: the text.
        encoding: its encoding; None for UTF-8.
    """

    text: str
    encoding: str | None = None


def decode_text(data: bytes, declared: str | None = None) -> DecodedText | None:
    """Decode a text's bytes in a declared or guessed encoding; None if they are no text.

    Args:
        data: bytes of the whole file.
        declared: encoding that the file names for itself.
    """
    for encoding in _possible_encodings(data, declared):
        if (text := _decode(data, encoding)) is not None:
            is_utf8 = codecs.lookup(encoding).name.startswith("utf-8")
            return DecodedText(text, None if is_utf8 else encoding)
    return None


def declared_encoding(page: bytes) -> str | None:
    """Get the encoding that a web page declares; None if it is unknown or absent."""
    match = _DECLARED.search(page[:4096])
    try:
        name = codecs.lookup(match[1].decode()).name if match else None
    except LookupError:
        return None
    return name and _WIDER.get(name, name)


def _possible_encodings(data: bytes, declared: str | None) -> Iterator[str]:
    """Yield encodings that bytes may be in, a declared one included, the most certain first."""
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if marked is not None:
        yield marked
        return
    yield from (name for escape, name in _SHIFTED.items() if escape in data)
    if b"\0" in data:
        # ASCII characters and line ends of UTF-16 have a NUL byte: the second, or the first.
        yield "utf-16-le" if data[1::2].count(0) > data[::2].count(0) else "utf-16-be"
        return
    yield "utf-8"
    if declared is not None:
        yield declared
    yield from _likely_pages(data)


def _decode(data: bytes, encoding: str) -> str | None:
    """Decode bytes in a given encoding; None if that fails or gives control characters."""
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None
    if encoding.startswith("utf-8"):
        return None if "\0" in text else text
    return None if any(_is_no_character(sign) for sign in set(text)) else text


def _is_no_character(character: str) -> bool:
    """Whether a character is unassigned, or a control character other than white space."""
    return (
        unicodedata.category(character) in ("Cc", "Cn", "Co")
        and character not in "\t\n\v\f\r\x1a\x1b\x85"
    )


def _likely_pages(data: bytes) -> Iterator[str]:
    """Yield legacy code pages in which bytes are text of a fitting language, likeliest first.

    French read as cp1250 is still French to a classifier of languages ("prčs" among other words),
    and no language of that page. Among the pages that fit, charset_normalizer's measures decide:
    how well signs go together, and how common the letters are.
    """
    from charset_normalizer import from_bytes

    lines = (line for line in data.splitlines(keepends=True) if not line.isascii())
    sample = _TAG.sub(b" ", b"".join(lines)[:_SAMPLE_BYTES])
    scores: dict[str, float] = {}
    odd: dict[str, float] = {}
    for page in PAGES:
        # Alone: of several, it leaves out those that are like one that does not fit.
        matches = from_bytes(
            sample, cp_isolation=[page], preemptive_behaviour=False, enable_fallback=False
        )
        if (match := matches.best()) is None or match.chaos > _MOST_CHAOS:
            continue
        text = codecs.getincrementaldecoder(page)().decode(sample)
        languages = language_probabilities(text)
        fit = sum(share for name, share in languages.items() if name in PAGES[page])
        if fit >= _LEAST_FIT:
            first = max(languages, key=languages.__getitem__)
            letters = _CENTRAL.get(first) if PAGES[page] == _CENTRAL.keys() else None
            odd[page] = _misdecoded_share(text, letters)
            scores[page] = fit - match.chaos + match.coherence - odd[page]
    for page, other in _VARIANTS.items():
        if page in scores and other in scores:
            del scores[page if odd[page] >= odd[other] else other]
    # Thai letters are on all bytes that those of others are on: it is taken where no other fits.
    yield from sorted(scores, key=lambda page: (page == "cp874", -scores[page]))


def _misdecoded_share(text: str, expected_letters: str | None) -> float:
    """Compute the share of a text's non-ASCII characters that look misdecoded (``dzia³a``).

    Args:
        text: text in a code page that may be the wrong one.
        expected_letters: letters of its language outside ASCII; None for any.
    """
    n_odd = n_signs = 0.0
    for before, sign, after in zip(f" {text}", text, f"{text[1:]} ", strict=False):
        if sign.isascii():
            continue
        n_signs += 1
        category = unicodedata.category(sign)
        if (
            sign == "¤"
            or category == "Cc"
            or (expected_letters and sign.isalpha() and sign.lower() not in expected_letters)
        ):
            n_odd += 1
        elif category in _SYMBOLS:
            n_odd += after.islower() or (before.islower() and category in ("Po", "Sm"))
        elif sign.isupper():
            n_odd += 1 if before.islower() else before.isupper() / 2
    return n_odd / max(1, n_signs)
