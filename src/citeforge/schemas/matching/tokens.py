"""The tokeniser of short answers: words, numbers, dates, ranges."""

import re
from functools import cache

from citeforge.schemas.matching.dates import DATE, read_date
from citeforge.schemas.matching.folding import CURRENCY
from citeforge.schemas.matching.merging import Tokens, Words, join_compounds, merge_values
from citeforge.schemas.matching.numbers import NUMBER, Token, make_token, range_keys, read_number

ARTICLES = frozenset({"a", "an", "the"})
# Scripts without spaces, one token per character or (in the south of Asia) per cluster of signs.
_THAI = "\u0e01-\u0e5b\u0e81-\u0edf"
_SOUTH = "\u1000-\u109f\u1780-\u17ff"
_KANA = "\u30a1-\u30ff\u31f0-\u31ff"
_HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3041-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7af"
_NO_LETTER = f"\x00-\x40\x5b-\x60\x7b-\x7f\u00a0·×°‰{CURRENCY}"
_L = f"[^{_NO_LETTER}{_THAI}{_SOUTH}{_KANA}{_HAN}{_HANGUL}]"
_CLUSTER = rf"""[{_HAN}]
      |[\u0e40-\u0e44\u0ec0-\u0ec4]*[{_THAI}][\u0e30-\u0e3a\u0e45-\u0e4e\u0eb0-\u0ebd\u0ec8-\u0ece]*
      |[\u1000-\u109f](?:\u1039[\u1000-\u1021]|[\u102b-\u1038\u103a-\u103e])*
      |[\u1780-\u17ff](?:\u17d2[\u1780-\u17b3]|[\u17b4-\u17d1\u17d3\u17dd])*"""
_SIGN = re.compile(f"{_CLUSTER}|[{_KANA}]", re.VERBOSE)
_PLAIN = "a-zß-öø-ɏͰ-ԯ"
_TOKEN = rf"""(?![\s,;:!?()'"]|\.(?!\d))(?:
    (?P<plain>[{_PLAIN}]++(?:[ ][{_PLAIN}]++)*(?![^\s,;.?!)])(?!\.[^\s]))
  | (?P<word>{_L}{_L}(?:{_L}|\d)*(?:\^-?\d+)?(?:[+\#]{{1,2}}(?![^\s,.;:!?)\]}}'"/-]))?)
  | (?P<initials>{_L}(?:\.{_L}(?!{_L}))+\.?)
  | (?P<letter>(?:{_L}|°)(?:{_L}|\d)*(?:\^-?\d+)?(?:[+\#]{{1,2}}(?![^\s,.;:!?)\]}}'"/-]))?)
  | (?P<date>{DATE})
  | (?P<time>(?<![\d:])\d{{1,3}}:\d{{1,2}}(?::\d{{2}})?(?![\d:]))
  | (?P<year>[〇零一二三四五六七八九]{{4}}年)
  | (?P<number>{NUMBER})
  | (?P<and>(?<=[ ])&(?=[ ]))
  | (?P<hangul>[{_HANGUL}]+)
  | (?P<kana>[{_KANA}]+)
  | (?P<cluster>{_CLUSTER}))
    """
_WORDS = re.compile(f"[{_PLAIN}]+(?: [{_PLAIN}]+)*")
_KANJI_DIGITS = str.maketrans("〇零一二三四五六七八九", "00123456789")
_HOURS = 24
# Particles and endings that follow a Korean noun.
_PARTICLES = re.compile(
    r"(?:에서|에게|께서|으로|로서|로써|부터|까지|처럼|보다|마다|조차|마저|밖에|한테|하고|이랑|에|의|은|는|이|가|을|를"
    r"|와|과|도|만|로|께|랑|들|님|씨){0,3}"
    r"(?:이?(?:다|었다|였다|라고|라는|라|란|며|고|나|지만|자|던|었던|었으며|었고|어서|에요|예요|죠|네)|입니다|였습니다"
    r"|이었습니다|인|일|임|인데|였고|였으며|이야|야)?"
)
_SEMITIC = re.compile(r"(?:[והבלמשכ]{1,2}|[وف]?(?:[بك]?ال|لل|[بكلوف]))")
_IS_SEMITIC = re.compile("[\u0590-\u06ff]")
_LEAST_STEM = 3
"""Letters of a Hebrew or Arabic word behind its prefix."""
_SCIENCE_UNIT = 3
"""Letters of a unit with a power, such as ``km^2``; behind longer words it is a footnote's mark."""


@cache
def _token_pattern() -> re.Pattern[str]:
    """Compile the regular expression of a token, once and on first use, as that is slow."""
    return re.compile(_TOKEN, re.VERBOSE)


def separate_signs(text: str) -> str:
    """Put spaces around each character of scripts without spaces: each is a token."""
    return _SIGN.sub(r" \g<0> ", text)


def tokenize(folded: str) -> Tokens:
    """Cut a text folded by :func:`fold` into tokens: words, numbers, dates, amounts of money."""
    if _WORDS.fullmatch(folded):
        return Tokens(list(folded.split(" ")))
    tokens: Words = []
    separators: list[str] = []
    end, has_numbers = 0, False
    for match in _token_pattern().finditer(folded):
        form = match.lastgroup
        start, stop = match.span()
        separators.append(folded[end:start])
        end = stop
        if form == "plain":
            words = match[0].split(" ")
            tokens += words
            separators += [" "] * (len(words) - 1)
        elif form == "word" and match[0].isascii() and match[0].isalpha():
            tokens.append(match[0])
        else:
            tokens.append(_read_token(match))
            has_numbers = has_numbers or form == "number"
    if has_numbers:
        merge_values(tokens, separators)
    return join_compounds(tokens, separators)


def _read_token(match: re.Match[str]) -> str | Token:
    """Make the token (word, number, date, …) of a match of the token pattern."""
    group, text = match.lastgroup, match[0]
    if group in ("word", "letter"):
        text = text.removeprefix("°") or text  # `10 °C` is `10 C`
        if "^" in text:
            base, _, power = text.partition("^")
            text = base + power if len(base) <= _SCIENCE_UNIT else base
        return _with_stems(text) if _IS_SEMITIC.match(text) else text
    if group == "initials":
        return text.replace(".", "")
    if group == "number":
        return read_number(match)
    if group == "date":
        return read_date(match) or make_token(frozenset({text}))
    if group == "time":
        return _read_time(text)
    if group == "year":
        return make_token(frozenset({int(text[:4].translate(_KANJI_DIGITS))}))
    if group == "hangul":
        return _with_particles(text)
    return "and" if group == "and" else text


def _with_particles(word: str) -> str | Token:
    """Make the token of a Korean word; it also contains the noun without particles."""
    stems = [word[:i] for i in range(1, len(word)) if _PARTICLES.fullmatch(word, i)]
    return Token(frozenset({word}), frozenset({word, *stems})) if stems else word


def _with_stems(word: str) -> str | Token:
    """Make the token of a Hebrew or Arabic word; it also contains the word without prefixes."""
    ends_of_prefixes = [
        i for i in range(1, len(word) - _LEAST_STEM + 1) if _SEMITIC.fullmatch(word, 0, i)
    ]
    stems = [word[i:] for i in ends_of_prefixes]
    return Token(frozenset({word}), frozenset({word, *stems})) if stems else word


def _read_time(text: str) -> Token:
    """Make the token of ``10:30`` (a time) or ``3:1`` (a score, which contains both numbers)."""
    first, second, *others = text.split(":")
    numbers = [int(first), int(second), *map(int, others)]
    if others or (numbers[0] <= _HOURS and len(second) == 2):
        return make_token(frozenset({("time", *numbers)}))
    keys = range_keys(frozenset(numbers[:1]), frozenset(numbers[1:]))
    return Token(keys, keys | frozenset(numbers))
