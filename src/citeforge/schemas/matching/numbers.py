"""Values of numbers: separators by both customs, fractions, powers, per cent and money."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from citeforge.schemas.matching.folding import CURRENCY

Key = int | Fraction | str | tuple[object, ...]
"""What a token is: a number's value, a word, or a tuple such as ``("%", 50)``."""

_LONGEST = 40
"""Digits of a number that is read as a value; longer ones are compared as they are written."""
_LARGEST_POWER = 400
_LONGEST_BASE = 2
"""Digits of a base other than 10; behind longer numbers a raised digit is a footnote's mark."""
_UNITS = {
    **dict.fromkeys(("$", "us$", "usd", "dollar", "dollars"), "$"),
    **dict.fromkeys(("€", "eur", "euro", "euros"), "€"),
    **dict.fromkeys(("£", "gbp"), "£"),
    **dict.fromkeys(("¥", "jpy", "yen", "円"), "¥"),
    **dict.fromkeys(("₹", "inr", "rs", "rs.", "rupee", "rupees"), "₹"),
}
_MONEY_WORDS = "|".join(re.escape(u) for u in sorted(_UNITS, key=len, reverse=True) if u.isalpha())
_PER_CENT = (
    r"%|(?:per|pour|por)[ ]?cent\b|por[ ]?ciento\b|p[eo]r[ ]?cento\b|pct\b|pro[zc]ent\b|процент\w*"
)
_SIZES = {
    **dict.fromkeys(("thousand", "тыс.", "tsd."), 3),
    **dict.fromkeys(("million", "millions", "millionen", "millones", "milhões", "mio", "mio.",
                     "млн", "млн."), 6),
    **dict.fromkeys(("billion", "billions", "bn", "milliarde", "milliarden", "milliard",
                     "milliards", "mrd", "mrd.", "млрд", "млрд."), 9),
    **dict.fromkeys(("trillion", "trillions", "billionen"), 12),
    "lakh": 5, "lakhs": 5, "crore": 7, "crores": 7, "万": 4, "萬": 4, "億": 8, "亿": 8,
}  # fmt: skip
_BY_LENGTH = sorted(_SIZES, key=len, reverse=True)
_SIZE_WORDS = "|".join(re.escape(word) for word in _BY_LENGTH if word[0] < "\u0500")
MONEY_CODES = {code: _UNITS[code] for code in ("usd", "eur", "gbp", "jpy", "inr", "rs")}
"""Codes of currencies that stand before an amount, and their signs."""
_RUN = r"""
    (?P<mixed>\d{1,3}[ ])?(?P<top>\d{1,6})/(?P<bottom>\d{1,6})(?![\d/])(?!\.\d)
  | (?P<run>(?!0)\d{1,3}(?:[ ]\d{3})+(?!\d)(?:[.,]\d+)?
    | \d+(?:[.,']\d+|·\d+(?![\d^]))*
    | (?<![\w.)])\.\d+)
    (?:\^(?P<power>-?\d+)|[ ]?[x×*·][ ]?10\^(?P<ten>-?\d+)|e(?P<e>[+-]?\d{1,3})(?!\w))?"""
NUMBER = rf"""
    (?P<sign>(?:(?<=[\s(\[{{,;:=<>~"])|(?<![\s\S]))[-+])?
    (?P<before>(?<!\w)[{CURRENCY}][ ]?|%[ ]?)?
    (?P<inner>(?<=[{CURRENCY}])[-+])?
    (?:{_RUN})
    (?:[ ]?(?P<size>(?:{_SIZE_WORDS})(?!\w)|[万萬億亿]))?
    (?:[ ]?(?P<percent>{_PER_CENT}|‰)
      |(?P<ordinal>(?:st|nd|rd|th|er|re|eme|ème|ère|e)(?!\w))
      |(?P<decade>'?s(?!\w))
      |[ ]?(?P<after>(?:us)?[{CURRENCY}](?![\d])|(?:{_MONEY_WORDS})(?!\w)))?"""
"""Pattern of a number in folded text (verbose)."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token that is more than one word.

    Attributes:
        keys: what it is; several where it can be read in several ways.
        held: keys of all that is in it, its own included: a date's year, the ends of a range.
        raw: digits and sign as written, where it is a whole number and nothing else.
        is_number: whether it can be an end of a range.
    """

    keys: frozenset[Key]
    held: frozenset[Key]
    raw: str = ""
    is_number: bool = False


def make_token(keys: frozenset[Key], raw: str = "", is_number: bool = False) -> Token:
    """Make a token from comparison keys and its written text; it contains no other token."""
    return Token(keys, keys, raw, is_number)


def read_number(match: re.Match[str]) -> Token:
    """Make the token of a match of :data:`NUMBER`: a number, share, amount of money or ordinal."""
    if match[0].isdecimal():
        return _whole_number(match[0])
    groups = match.groupdict()
    run = groups["run"]
    if run is None:
        values = _read_fraction(groups["mixed"], groups["top"], groups["bottom"])
    else:
        values = _raise_values(read_values(run), run, groups)
    if groups["size"]:
        ten = Fraction(10) ** _SIZES[groups["size"]]
        values = frozenset(v * ten if isinstance(v, int | Fraction) else (v, ten) for v in values)
    if "-" in (groups["sign"], groups["inner"]):
        values = negated(values)
    if groups["decade"]:
        return make_token(frozenset({f"{run or match[0]}s"}))
    if groups["ordinal"]:
        return make_token(frozenset(("th", v) for v in values), run or "")
    unit = (groups["before"] or groups["after"] or "").strip()
    if groups["percent"] or unit == "%":
        sign = "‰" if groups["percent"] == "‰" else "%"
        return make_token(with_unit(sign, values), is_number=True)
    if unit:
        return money_token(_UNITS.get(unit, unit), make_token(values))
    if run is None and groups["mixed"] is None and len(groups["top"]) == 4:
        return _read_season(groups["top"], groups["bottom"], values)
    raw = match[0] if match[0].removeprefix("-").isdecimal() else ""
    return make_token(values, raw, is_number=True)


@lru_cache(maxsize=4096)
def _whole_number(digits: str) -> Token:
    """Make the token of a whole number written in digits alone."""
    return make_token(read_values(digits), digits, is_number=True)


def money_token(sign: str, amount: Token) -> Token:
    """Make the token of an amount of money; it also contains the number without currency."""
    keys = with_unit(sign, amount.keys)
    return Token(keys, keys | amount.keys, is_number=True)


def with_unit(unit: str, values: frozenset[Key]) -> frozenset[Key]:
    """Pair each possible value of a number with a unit such as ``%``."""
    return frozenset((unit, v) for v in values)


def read_values(digits: str) -> frozenset[Key]:
    """Read digits with separators as all values they may mean: ``1,234`` is 1234 or 1.234."""
    is_plain = digits.isdecimal()
    if len(digits) > _LONGEST or (is_plain and len(digits) > 2 and digits[0] == "0"):
        return frozenset({digits})
    if is_plain:
        return frozenset({int(digits)})
    groups, separators = re.split(r"\D", digits), re.findall(r"\D", digits)
    values: set[Key] = set()
    first, last = separators[0], separators[-1]
    if len(set(separators)) == 1 and _are_groups(groups, first):
        values.add(int("".join(groups)))
    whole = groups[:-1]
    # 50,000 and 50.000 are never fifty.
    is_decimal = last in ".,·" and not (values and groups[-1] == "000") and (
        len(separators) == 1
        or (last not in separators[:-1] and len(set(separators[:-1])) == 1
            and _are_groups(whole, first))
    )  # fmt: skip
    if is_decimal:
        values.add(Fraction(int("".join(whole) or "0") * 10 ** len(groups[-1]) + int(groups[-1]),
                            10 ** len(groups[-1])))  # fmt: skip
    return frozenset(values or {digits})


def negated(values: frozenset[Key]) -> frozenset[Key]:
    """Negate each possible value of a number; keys that are not numeric get a minus."""
    return frozenset(("-", v) if isinstance(v, (str, tuple)) else -v for v in values)


def _are_groups(groups: list[str], separator: str) -> bool:
    """Whether groups of digits are thousands, or lakhs and crores between commas."""
    first, *others = groups
    if not 1 <= len(first) <= 3 or first[0] == "0" or separator == "·" or not others:
        return False
    sizes = list(map(len, others))
    is_indian = separator == "," and len(first) < 3 and sizes[:-1] == [2] * (len(sizes) - 1)
    return all(size == 3 for size in sizes) or (is_indian and sizes[-1] == 3 and len(sizes) > 1)


def _raise_values(
    values: frozenset[Key], digits: str, groups: dict[str, str | None]
) -> frozenset[Key]:
    """Apply the power in a number's match (``groups``) to its values: ``10^23``, ``6e23``.

    Args:
        values: values of the number before the power, one per way to read it.
        digits: its digits as written.
        groups: named groups of the match of :data:`NUMBER`.
    """
    power, ten = groups["power"], groups["ten"] or groups["e"]
    if power is not None and digits != "10" and len(digits) > _LONGEST_BASE:
        return values
    written = power or ten
    if written is None:
        return values
    is_long = len(written) > len(f"-{_LARGEST_POWER}")
    exponent = 0 if is_long else int(written)
    has_text = any(isinstance(v, str) for v in values)
    if is_long or has_text or abs(exponent) > _LARGEST_POWER:
        return frozenset({(digits, written if is_long else exponent)})
    numbers = [Fraction(v) for v in values if isinstance(v, int | Fraction)]
    if power is not None:
        return frozenset(n**exponent for n in numbers if n or exponent > 0)
    return frozenset(n * Fraction(10) ** exponent for n in numbers)


def _read_fraction(whole: str | None, numerator: str, denominator: str) -> frozenset[Key]:
    """Read ``1/2`` or ``1 1/2`` as a value; improper fractions are compared as written."""
    over, under = int(numerator), int(denominator)
    if not 0 < over < under:
        return frozenset({("/", int(whole or 0), over, under)})
    return frozenset({int(whole or 0) + Fraction(over, under)})


def _read_season(first: str, second: str, values: frozenset[Key]) -> Token:
    """Make the token of ``2019/20``, which contains both years and the given other readings."""
    years, later = frozenset[Key]({int(first)}), second_years(first, second)
    keys = values | range_keys(years, later or frozenset({int(second)}))
    return Token(keys, keys | years | later, is_number=True)


def second_years(first: str, second: str) -> frozenset[Key]:
    """Read the second year of ``1964-65`` or ``1999-00``; empty if there is none."""
    if len(first) != 4 or len(second) != 2 or not first.isdecimal() or not second.isdecimal():
        return frozenset()
    year = int(first[:2] + second)
    if year <= int(first):
        year += 100 if second == "00" else -year
    return frozenset({year} if year else ())


def range_keys(first: frozenset[Key], second: frozenset[Key]) -> frozenset[Key]:
    """Make the comparison keys of a range or score from the readings of its two ends."""
    return frozenset(("-", a, b) for a in first for b in second)
