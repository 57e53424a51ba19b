"""Conversion of vendors' offsets of citations to offsets in Unicode characters."""

from collections.abc import Callable, Sequence
from itertools import accumulate

from citeforge.plugins.responses.placing.records import link_span, span
from citeforge.plugins.responses.vendors.layout import Citations
from citeforge.schemas.errors import InputError

Span = tuple[int | None, int | None]


def locate(
    citations: Citations, text: str, at: Span, others: Sequence[Span], words: str | None, place: str
) -> tuple[int, int]:
    """Find the characters of the answer that a citation is for: (first, one after the last).

    Args:
        citations: how offsets count.
        text: the answer, or the part of it in which they count.
        at: offsets of this citation.
        others: offsets of all citations in this text.
        words: the words cited for; None where the vendor does not state them.
        place: field, for the error.

    Raises:
        InputError: they lie outside the text, cut a character, or enclose other words.
    """
    if citations.unit == "bytes":
        first, last = _from_bytes(text, at, place)
    else:
        unit = _guess_unit(text, others) if citations.unit == "guessed" else _as_it_is
        first, last = span(unit(at[0]), unit(at[1]), len(text), place)
    if words is None or text[first:last] == words:
        return first, last
    if citations.has_last and text[first : last + 1] == words:
        return first, last + 1
    raise InputError(
        f"{first} to {last} is {text[first:last][:40]!r}, and its text is {words[:40]!r}",
        field=place, allowed="offsets in the answer as it was returned; was it changed?",
        code="wrong-value"
    )  # fmt: skip


def _from_bytes(text: str, at: Span, place: str) -> tuple[int, int]:
    """Convert offsets in bytes of UTF-8 to offsets in characters.

    Raises:
        InputError: they lie outside the text, or cut a character.
    """
    data = text.encode()
    first, last = at[0] or 0, at[1]
    if last is None or not 0 <= first <= last <= len(data):
        raise InputError(
            f"spans bytes {first} to {last}, and the text has {len(data)}", field=place,
            allowed="offsets in bytes of UTF-8 within the part, the end behind the start",
            code="out-of-range"
        )  # fmt: skip
    try:
        start = len(data[:first].decode())
        return start, start + len(data[first:last].decode())
    except UnicodeDecodeError as error:
        raise InputError(
            f"spans bytes {first} to {last}, which cuts a character", field=place,
            allowed="offsets in bytes of UTF-8", code="wrong-value"
        ) from error  # fmt: skip


def _guess_unit(text: str, spans: Sequence[Span]) -> Callable[[int | None], int | None]:
    """Choose how to convert offsets: from UTF-16 units, if more spans then are links."""
    if text.isascii() or max(text) <= "\uffff":
        return _as_it_is
    widths = [2 if letter > "\uffff" else 1 for letter in text]
    units = {unit: n for n, unit in enumerate(accumulate(widths, initial=0))}

    def of_utf16(offset: int | None) -> int | None:
        """Convert an offset in UTF-16 units to one in characters."""
        # Within a pair, or behind the text: a place that no text has.
        return None if offset is None else units.get(offset, len(text) + 1)

    def links(at: Callable[[int | None], int | None]) -> int:
        """Count the spans that are links under a conversion."""
        ends = [(at(first), at(last)) for first, last in spans]
        return sum(
            link_span(text, first, last)[2]
            for first, last in ends
            if first is not None and last is not None and 0 <= first < last <= len(text)
        )

    return of_utf16 if links(of_utf16) > links(_as_it_is) else _as_it_is


def _as_it_is(offset: int | None) -> int | None:
    """Leave an offset in characters as it is."""
    return offset
