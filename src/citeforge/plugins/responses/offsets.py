"""Conversion of vendors' offsets of citations to offsets in Unicode characters."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

from citeforge.plugins.responses.layout import Citations
from citeforge.plugins.responses.records import link_span
from citeforge.schemas.errors import InputError

Span = tuple[int | None, int | None]
_UNITS = {
    "bytes": ("utf-8", 1, "bytes of UTF-8, at the borders of characters"),
    "units of UTF-16": ("utf-16-le", 2, "units of UTF-16"),
    "characters": ("utf-32-le", 4, "characters"),
}
"""Name of a unit to its encoding, its size in bytes there, and its name in hints."""


def find_unit(citations: Citations, text: str, spans: Sequence[Span]) -> str:
    """Get the unit of citation offsets (bytes, UTF-16, characters); guess it if undeclared."""
    return _guess_unit(text, spans) if citations.unit == "guessed" else citations.unit


def locate(
    unit: str, text: str, offsets: Span, cited_text: str | None, field: str
) -> tuple[int, int]:
    """Convert a citation's offsets in a unit to (start, end) characters; check the cited text.

    Args:
        unit: what offsets count, of :func:`find_unit`.
        text: the answer, or the part of it in which they count.
        offsets: offsets of this citation.
        cited_text: the words cited for; None where the vendor does not state them.
        field: path of the field, for the error.

    Raises:
        InputError: they lie outside the text, cut a character, or enclose other words.
    """
    index_of = _map_offsets(text, unit)
    first, last = index_of.get(offsets[0] or 0), index_of.get(offsets[1])
    if first is None or last is None or last < first:
        raise InputError(
            f"spans {offsets[0] or 0} to {offsets[1]}, and the text has {[*index_of][-1]} {unit}",
            field=field,
            allowed=f"offsets in {_UNITS[unit][2]} within the text, the end behind the start; was "
            "the text changed?",
            code="out-of-range"
        )  # fmt: skip
    if cited_text is None or text[first:last] == cited_text:
        return first, last
    if text[first : last + 1] == cited_text:
        return first, last + 1
    raise InputError(
        f"{first} to {last} is {text[first:last][:40]!r}, and its text is {cited_text[:40]!r}",
        field=field, allowed="offsets in the answer as it was returned; was it changed?",
        code="wrong-value"
    )  # fmt: skip


@lru_cache(maxsize=2)  # one text has several citations
def _map_offsets(text: str, unit: str) -> Mapping[int | None, int]:
    """Map a text's offsets in a unit (bytes, …) to those in characters; none inside a character."""
    codec, size, _ = _UNITS[unit]
    widths = (len(letter.encode(codec, "surrogatepass")) // size for letter in text)
    return {offset: at for at, offset in enumerate(accumulate(widths, initial=0))}


def _guess_unit(text: str, spans: Sequence[Span]) -> str:
    """Guess whether citation offsets count characters or UTF-16 units: the name of the unit.

    It is the unit by which more spans enclose links.

    Args:
        text: the answer.
        spans: offsets of its citations, which should enclose links.
    """

    def count_links(unit: str) -> int:
        """Count the spans that cover a Markdown link if offsets are in ``unit`` (bytes, …)."""
        ends = (
            (_map_offsets(text, unit).get(a or 0), _map_offsets(text, unit).get(b))
            for a, b in spans
        )
        return sum(
            link_span(text, first, last)[2]
            for first, last in ends
            if first is not None and last is not None and first < last
        )

    is_wide = max(text, default="") > "\uffff"
    utf16 = "units of UTF-16"
    return utf16 if is_wide and count_links(utf16) > count_links("characters") else "characters"
