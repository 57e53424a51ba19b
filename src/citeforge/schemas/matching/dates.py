"""Dates with their precision: a year is in a date, a date is not in a year."""

import re
from collections.abc import Iterable, Iterator, Sequence

from citeforge.schemas.matching.numbers import Key, Token

_NAMES = """
january february march april may june july august september october november december
jan feb mar apr may jun jul aug sep oct nov dec
januar februar märz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maart april mei juni juli augustus september oktober november december
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
""".split()  # fmt: skip
MONTHS = {name: at % 12 + 1 for at, name in enumerate(_NAMES)} | {"sept": 9, "jänner": 1}
"""Months in English, German, French, Spanish, Italian, Portuguese, Dutch and Russian, folded."""
_BETWEEN = {"of", "de", "del", "the"}
_GAP = re.compile(r"[ ]?|[.,/-][ ]?| - ")
DATE = r"""
    (?<!\d)(?:\d{4}(?P<iso>[-/.])\d{1,2}(?P=iso)\d{1,2}
      |\d{1,2}(?:(?P<dmy>[./])\d{1,2}(?P=dmy)(?:\d{4}|\d{2})|-\d{1,2}-\d{4})
      |\d{4}[ ]?[年년](?:[ ]?\d{1,2}[ ]?[月월](?:[ ]?\d{1,2}[ ]?[日일号])?)?
      |\d{1,2}[ ]?[月월][ ]?\d{1,2}[ ]?[日일号])
    (?!\d|[./-]\d)"""
"""Pattern of a date in digits, in folded text (verbose)."""
_DIGITS = re.compile(r"\d+")
_Reading = tuple[int | None, int | None, int | None]
"""Year, month and day."""


def read_date(match: re.Match[str]) -> Token | None:
    """Make a token of a date in digits (a match of :data:`DATE`); None if it is no possible date.

    ``1/2/1999`` has two readings: 2 January and 1 February.
    """
    parts = _DIGITS.findall(match[0])
    readings: list[_Reading] = []
    if match[0][-1] in "日일号" and len(parts) == 2:
        readings = [(None, int(parts[0]), int(parts[1]))]
    elif len(parts[0]) == 4:
        year, month, day = map(int, [*parts, "0", "0"][:3])
        readings = [(year, month or None, day or None)]
    else:
        first, second = int(parts[0]), int(parts[1])
        orders = [(second, first)] if match["dmy"] == "." else [(second, first), (first, second)]
        years = [int(parts[2])]
        if len(parts[2]) == 2:
            years = [1900 + years[0], 2000 + years[0]]
        readings = [(year, *order) for year in years for order in orders]
    return date_token(readings)


def date_token(readings: Iterable[_Reading], other_keys: Iterable[Key] = ()) -> Token | None:
    """Make a date's token from its possible readings and further keys; None if none is possible.

    Args:
        readings: (year, month, day) of each way to read it, None for what is not written.
        other_keys: further keys of what is in it, such as the month's name.
    """
    possible = [
        (y, m, d) for y, m, d in readings
        if (m is None or 1 <= m <= 12) and (d is None or 1 <= d <= 31)
    ]  # fmt: skip
    if not possible:
        return None
    keys = frozenset(map(_date_key, possible))
    held = {_date_key(part) for reading in possible for part in _wider(reading)}
    return Token(keys, keys | held | frozenset(other_keys))


def _date_key(reading: _Reading) -> Key:
    """Make the comparison key of a date: ("date", year, month, day), or the number of a year."""
    year, month, day = reading
    return year if year is not None and month is None and day is None else ("date", *reading)


def _wider(reading: _Reading) -> Iterator[_Reading]:
    """Yield the less precise dates that contain a date: its year, year and month, month and day."""
    year, month, day = reading
    if year is not None:
        yield year, None, None
        yield year, month, None
    if day is not None:
        yield None, month, day


def _next_date_part(tokens: Sequence[str | Token], separators: Sequence[str], index: int) -> int:
    """Find the token position of a date's next part, skipping one word such as ``of``.

    Args:
        tokens: words and numbers of a text.
        separators: text before each token.
        index: position from which to look.

    Returns:
        Position of the token; the number of tokens if more than a blank, a dot or a dash is
        before it.
    """
    for _ in range(2):
        if index >= len(tokens) or not _GAP.fullmatch(separators[index]):
            return len(tokens)
        if tokens[index] not in _BETWEEN:
            return index
        index += 1
    return len(tokens)


def _month_at(tokens: Sequence[str | Token], index: int) -> int | None:
    """Get the number of the month that a token names; None if it names none."""
    name = tokens[index] if index < len(tokens) else None
    return MONTHS.get(name) if isinstance(name, str) else None


def _digits_at(tokens: Sequence[str | Token], index: int) -> str:
    """Get the digits of a token that is a whole number or an ordinal; empty for other tokens."""
    token = tokens[index] if index < len(tokens) else None
    return token.raw if isinstance(token, Token) and token.raw.isdecimal() else ""


def _is_year_at(tokens: Sequence[str | Token], index: int, least_digits: int) -> bool:
    """Whether a token can be a year: a number of ``least_digits`` to 4 digits."""
    digits = _digits_at(tokens, index)
    return least_digits <= len(digits) <= 4 and digits[0] != "0"


def read_written_date(
    tokens: list[str | Token], separators: list[str], position: int
) -> tuple[Token, int] | None:
    """Read a date with a month's name: (its token, position behind it); None if there is no date.

    Args:
        tokens: words and numbers of a text.
        separators: text before each token.
        position: position where the date starts.
    """
    first, second = position, _next_date_part(tokens, separators, position + 1)
    is_day_first = _month_at(tokens, first) is None
    day_index, month_index = (first, second) if is_day_first else (second, first)
    month = _month_at(tokens, month_index)
    if month is None:
        return None
    names: set[Key] = {_NAMES[month - 1], str(tokens[month_index])}
    day = _digits_at(tokens, day_index)
    if 1 <= len(day) <= 2 and 1 <= int(day) <= 31:
        last = max(first, second)
        index = _next_date_part(tokens, separators, last + 1)
        has_year = _is_year_at(tokens, index, 3 if is_day_first else 4)
        year = int(_digits_at(tokens, index)) if has_year else None
        token = date_token([(year, month, int(day))], names)
        return None if token is None else (token, index + 1 if has_year else last + 1)
    if month_index == first and _is_year_at(tokens, second, 4):
        token = date_token([(int(_digits_at(tokens, second)), month, None)], names)
        return None if token is None else (token, second + 1)
    return None
