"""RDF terms in query results, escaped text for queries, and dates with their precision."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from citeforge.schemas.errors import InputError

_QUERIES = Path(__file__).parent / "queries"
WIKIBASE = "http://wikiba.se/ontology#"
XSD = "http://www.w3.org/2001/XMLSchema#"
DATE_TIME = XSD + "dateTime"
DATES = frozenset((DATE_TIME, *(XSD + name for name in "date gYear gYearMonth".split())))
"""Datatypes of dates."""
NUMBERS = frozenset(
    XSD + name
    for name in "decimal integer double float long int short byte nonNegativeInteger "
    "positiveInteger nonPositiveInteger negativeInteger unsignedLong unsignedInt unsignedShort "
    "unsignedByte".split()
)
"""Datatypes of numbers."""
FALLBACKS = ("mul", "")
"""Languages of labels behind those asked for: Wikidata's default values, and labels without one."""
_LANGUAGE = re.compile(r"[a-zA-Z]{2,8}(-[a-zA-Z0-9]{1,8})*")
# (COUNT(DISTINCT ?entity) AS ?entities)
_AGGREGATE = re.compile(r"\((?:[^()]|\([^()]*\))*\sAS\s+(\?\w+)\s*\)")
# Marks that no text needs: soft hyphen, word joiner and invisible operators, byte order mark.
_USELESS = re.compile("[\\xad\\u2060-\\u2064\\ufeff]")
_USELESS_AT_ENDS = "\u061c\u200b\u200e\u200f "
"""Marks of direction and spaces of no width; joiners change the shape of letters, at ends, too."""
# Control characters, line and paragraph separators, bidi embeddings, overrides and isolates.
_HIDDEN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069]")
_CHARACTER = (
    r"(?:[^\x00-\x20<>\"{}|^`\\%#/?@:\[\]\x7f-\x9f\ud800-\uf8ff\ufdd0-\ufdef\ufff0-\uffff"
    r"\U000e0000-\U000e0fff\U000f0000-\U0010ffff]|%[0-9A-Fa-f]{2})"
)
"""A character in a part of an IRI (no delimiter of parts, none for private use)."""
_HOST = rf"(?:(?:{_CHARACTER}|:)*@)?(?:{_CHARACTER}*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?(?=[/?#]|\Z)"
_IRI = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.-]*:(?:(?!//)|//{_HOST})"
    rf"(?:{_CHARACTER}|[/?@:])*(?:#(?:{_CHARACTER}|[/?@:])*)?"
)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b",
            "\f": "\\f"}  # fmt: skip


class Term(msgspec.Struct, frozen=True, gc=False):
    """Value of a variable, as in the SPARQL 1.1 Query Results JSON Format.

    Attributes:
        type: ``typed-literal`` is an old name of ``literal``.
        value: IRI or lexical form.
        language: language tag of a string; empty without one.
        datatype: IRI of a literal's datatype; empty for plain strings.
    """

    type: Literal["uri", "literal", "typed-literal", "bnode"]
    value: str
    language: str = msgspec.field(name="xml:lang", default="")
    datatype: str = ""


Row = dict[str, Term]
"""Variable to value; unbound variables are absent."""


def plain_label(text: str) -> str:
    """Clean a label: line ends, control characters and bidi overrides become single spaces.

    Invisible marks that no text needs are removed. Joiners stay, and marks of direction inside of
    a label: scripts need them.
    """
    visible = _USELESS.sub("", _HIDDEN.sub(" ", text))
    return " ".join(visible.split()).strip(_USELESS_AT_ENDS)


def literal(text: str, language: str | None = None) -> str:
    """Write a text as an escaped SPARQL literal, with its language tag if not None.

    Raises:
        InputError: the language is not a language tag.
    """
    # Lone surrogates cannot be sent; everything else is escaped or legal as it is.
    body = "".join(_ESCAPES.get(c, c) for c in text.encode("utf-8", "replace").decode())
    body = "".join(f"\\u{ord(c):04X}" if ord(c) < 0x20 else c for c in body)
    if language is None:
        return f'"{body}"'
    if not _LANGUAGE.fullmatch(language):
        raise InputError(
            f"{language!r} is not a language tag",
            field="language",
            allowed="en, de, …",
            code="bad-option",
        )
    return f'"{body}"@{language}'


def iri(text: str) -> str:
    """Write an IRI in SPARQL's angle brackets; raise an error for a text that is no IRI.

    Raises:
        InputError: the text is no IRI.
    """
    if not is_iri(text):
        raise InputError(
            f"{text!r} is not an IRI",
            field="entity",
            allowed="an id such as Q42",
            code="bad-option",
        )
    return f"<{text}>"


def is_iri(text: str) -> bool:
    """Whether a text is an absolute IRI of valid characters and escapes (RFC 3987)."""
    return _IRI.fullmatch(text) is not None


def languages_list(languages: Iterable[str]) -> str:
    """Write language tags as the list of a SPARQL FILTER; raise an error for a malformed one."""
    names = list(languages)
    for name in filter(None, names):
        literal("", name)
    return ", ".join(map(literal, names))


def is_geometry(datatype: str) -> bool:
    """Whether a datatype is one of coordinates (GeoSPARQL: WKT, GML, GeoJSON, KML)."""
    return datatype.endswith(("wktLiteral", "gmlLiteral", "geoJSONLiteral", "kmlLiteral"))


def query(name: str, **parts: str) -> str:
    """Read the SPARQL query in ``queries/NAME.rq``, and fill in its placeholders.

    Args:
        name: file without its ending.
        parts: placeholder to SPARQL text made by the functions above.
    """
    # One pass over the template, so that nothing inside a value is taken for a placeholder.
    return re.sub(r"\{\{(\w+)\}\}", lambda m: parts[m[1]], _template(name))


def list_variables(text: str) -> list[str]:
    """List the names of the variables that a SPARQL SELECT query returns."""
    head = re.search(r"\bSELECT\s+(.*?)\bWHERE\b", text, re.DOTALL)
    names = _AGGREGATE.sub(r" \1 ", head[1]) if head else ""
    return re.findall(r"\?(\w+)", names)


@cache
def _template(name: str) -> str:
    """Read the query template ``queries/NAME.rq``."""
    return (_QUERIES / f"{name}.rq").read_text(encoding="utf-8")


_DATE = re.compile(r"([+-]?)(\d{1,9})-(\d{2})-(\d{2})T")
_NEW_YEAR = re.compile(r"[+-]?\d{1,9}-01-01T00:00:00Z?")

# wikibase:timePrecision
_PRECISIONS = {14: "day", 13: "day", 12: "day", 11: "day", 10: "month", 9: "year", 8: "decade",
               7: "century", 6: "millennium"}  # fmt: skip
UNKNOWN = "unknown"
_PROP = "http://www.wikidata.org/prop/"


def may_be_year(lexical: str, precision: int | None) -> bool:
    """Whether a date may mean a whole year: 1 January, without a precision."""
    return precision is None and _NEW_YEAR.fullmatch(lexical) is not None


def render_date(lexical: str, precision: int | None) -> tuple[str, str] | None:
    """Render an xsd:dateTime as (text, precision such as ``month``); None if it is no date.

    Years before 1 follow XSD 1.1, as Wikidata's RDF does: 0000 is 1 BCE. A month or day 00 is
    unknown, and the text ends before it. Without a precision the text is the full date, and its
    precision ``unknown``; on 1 January it is the year.

    Args:
        lexical: ``1871-11-01T00:00:00Z`` or ``-0043-03-15T00:00:00Z``.
        precision: wikibase:timePrecision, 6 to 14.
    """
    match = _DATE.match(lexical)
    if match is None or int(match[3]) > 12 or int(match[4]) > 31:
        return None
    sign, digits, month, day = match.groups()
    year = -int(digits) if sign == "-" else int(digits)
    era = " BCE" if year < 1 else ""
    number = 1 - year if year < 1 else year
    text = f"{number:04d}" if not era else str(number)
    word = _PRECISIONS.get(precision or 0, UNKNOWN)
    if may_be_year(lexical, precision) or (word in ("day", "month", UNKNOWN) and month == "00"):
        word = "year"
    elif word in ("day", UNKNOWN) and day == "00":
        word = "month"
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
    """Write a number with its ordinal ending: ``21st``."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 <= number % 100 <= 20 else ending}"


class Day(NamedTuple):
    """A day; the year 0 is 1 BCE."""

    year: int
    month: int
    day: int


_RENDERED = re.compile(
    r"(?P<sign>-?)(?P<year>\d{1,9})(?:(?P<decade>s)|-(?P<month>\d{2})(?:-(?P<day>\d{2}))?"
    r"|(?:st|nd|rd|th) (?P<span>century|millennium))?(?P<era> BCE)?"
)
_SPANS = {"century": 100, "millennium": 1000}


def find_days(text: str) -> tuple[Day, Day] | None:
    """Find (first day, last day) that a date may mean; None if the text is no date.

    The text is one that :func:`render_date` makes, or an xsd:date (``-0043-03-15``: 44 BCE). The
    last day of a month is written 31 throughout.
    """
    match = _RENDERED.fullmatch(text)
    if match is None or (match["sign"] and (match["era"] or match["decade"] or match["span"])):
        return None
    number = int(match["sign"] + match["year"])
    years = (number, number)
    if match["decade"]:
        years = (number, number + 9)
    elif match["span"]:
        size = _SPANS[match["span"]]
        years = ((number - 1) * size + 1, number * size)
    if match["era"]:
        # Years count downwards before our era, from 1 BCE: the year 0.
        years = (1 - years[1], 1 - years[0])
    month, day = match["month"], match["day"]
    first = Day(years[0], int(month or 1), int(day or 1))
    return first, Day(years[1], int(month or 12), int(day or 31))


def lexical_date(text: str, precision: str) -> str:
    """Convert the text of a date that :func:`render_date` made back to xsd:dateTime."""
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


def date_precision_triples(
    entity_iri: str, qid: str, pid: str, value: str, precision: int
) -> Iterator[str]:
    """Yield the N-Triples, in Wikidata's model, that state how precise a date is.

    Args:
        entity_iri: IRI before the ids.
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
