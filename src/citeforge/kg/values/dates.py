"""Dates as far as they are known (Wikibase's time values)."""

from __future__ import annotations

import re

_DATE = re.compile(r"([+-]?)(\d{1,9})-(\d{2})-(\d{2})T")

# wikibase:timePrecision
_PRECISIONS = {14: "day", 13: "day", 12: "day", 11: "day", 10: "month", 9: "year", 8: "decade",
               7: "century", 6: "millennium"}  # fmt: skip
UNKNOWN = "unknown"


def render_date(lexical: str, precision: int | None) -> tuple[str, str] | None:
    """(text, precision in words) of an xsd:dateTime; None for what is no date.

    Years before 1 follow XSD 1.1, as Wikidata's RDF does: 0000 is 1 BCE. Without a precision the
    full date is given, marked ``unknown``.

    Args:
        lexical: ``1871-11-01T00:00:00Z`` or ``-0043-03-15T00:00:00Z``.
        precision: wikibase:timePrecision, 6 to 14.
    """
    match = _DATE.match(lexical)
    if match is None:
        return None
    sign, digits, month, day = match.groups()
    year = -int(digits) if sign == "-" else int(digits)
    era = " BCE" if year < 1 else ""
    number = 1 - year if year < 1 else year
    text = f"{number:04d}" if not era else str(number)
    word = _PRECISIONS.get(precision or 0, UNKNOWN)
    if word == "month":
        text += f"-{month}"
    elif word in ("day", UNKNOWN):
        text += f"-{month}-{day}"
    elif word == "decade":
        text = f"{number // 10 * 10}s"
    elif word == "century":
        text = f"{_ordinal((number - 1) // 100 + 1)} century"
    elif word == "millennium":
        text = f"{_ordinal((number - 1) // 1000 + 1)} millennium"
    return text + era, word


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 <= number % 100 <= 20 else ending}"
