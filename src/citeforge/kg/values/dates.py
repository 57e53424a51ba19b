"""Dates as far as they are known: Wikibase's time values as text, and back."""

import hashlib
import re
from collections.abc import Iterator

from citeforge.kg.values.terms import WIKIBASE, XSD, iri

_DATE = re.compile(r"([+-]?)(\d{1,9})-(\d{2})-(\d{2})T")

# wikibase:timePrecision
_PRECISIONS = {14: "day", 13: "day", 12: "day", 11: "day", 10: "month", 9: "year", 8: "decade",
               7: "century", 6: "millennium"}  # fmt: skip
UNKNOWN = "unknown"
_PROP = "http://www.wikidata.org/prop/"


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


def lexical_date(text: str, precision: str) -> str:
    """An xsd:dateTime that :func:`render_date` renders as ``text``."""
    bare = text.removesuffix(" BCE")
    is_bce = bare != text
    digits = "".join(c for c in bare.split("-")[0] if c.isdigit())
    number = int(digits) if digits else 0
    if precision == "century":
        number = (number - 1) * 100 + 1
    elif precision == "millennium":
        number = (number - 1) * 1000 + 1
    # The first decades of and before our era are both written 0s.
    year = 1 - max(number, 1) if is_bce else max(number, 1)
    parts = bare.split("-") if precision in ("day", "month", "unknown") else []
    month = parts[1] if len(parts) > 1 else "01"
    day = parts[2] if len(parts) > 2 else "01"
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{month}-{day}T00:00:00Z"


def precise_time(entity_iri: str, qid: str, pid: str, value: str, precision: int) -> Iterator[str]:
    """N-Triples that give a date of an entity its precision.

    Args:
        entity_iri: what ids begin with.
        qid: the entity.
        pid: the relation.
        value: the date, an xsd:dateTime as N-Triples write it.
        precision: wikibase:timePrecision, 6 to 14.
    """
    claim, psv = f"<{_PROP}{pid}>", f"<{_PROP}statement/value/{pid}>"
    # A number that names a statement; the same for the same text everywhere.
    number = int.from_bytes(hashlib.sha256(value.encode()).digest()[:6])
    stem = f"{entity_iri}statement/{qid}-{pid}-{number}"
    yield f"{iri(entity_iri + pid)} <{WIKIBASE}claim> {claim} .\n"
    yield f"{iri(entity_iri + pid)} <{WIKIBASE}statementValue> {psv} .\n"
    yield f"{iri(entity_iri + qid)} {claim} {iri(stem)} .\n"
    yield f"{iri(stem)} {psv} {iri(stem + '-value')} .\n"
    yield f"{iri(stem + '-value')} <{WIKIBASE}timeValue> {value} .\n"
    yield f'{iri(stem + "-value")} <{WIKIBASE}timePrecision> "{precision}"^^<{XSD}integer> .\n'
