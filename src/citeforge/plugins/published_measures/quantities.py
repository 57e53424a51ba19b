"""Numbers, dates and amounts of a text with their units, and whether another text has them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from citeforge.builders.authorship.facts import number_words_in_digits
from citeforge.builders.authorship.wording import join_compound_units, word_lists
from citeforge.schemas.matching.answers import has_digits
from citeforge.schemas.matching.folding import CURRENCY, fold
from citeforge.schemas.matching.numbers import Key, Token
from citeforge.schemas.matching.tokens import tokenize

_MONEY_SIZE = re.compile(rf"(?<=[{CURRENCY}])( ?\d[\d.,]*) ?([mk])\b", re.IGNORECASE)
_SIZES = {"m": " million", "k": " thousand"}
_DATE_PARTS = 4
"""Parts of the key of a date: its name, year, month and day."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, date, range or amount in a text.

    Attributes:
        token: its values.
        units: units that the word behind it may mean, such as ``mass:gram``; empty for none.
    """

    token: Token
    units: frozenset[str]


class Quantities:
    """All numbers of a text, to look up those of others."""

    def __init__(self, text: str) -> None:
        """Index the numbers of a text, words that may be numbers ("one", "second") included."""
        self._units: dict[Key, list[frozenset[str]]] = {}
        for quantity in read_quantities(text, only_sure=False):
            for key in {k for held in quantity.token.held for k in _list_lookup_keys(held)}:
                self._units.setdefault(key, []).append(quantity.units)

    def __contains__(self, quantity: Quantity) -> bool:
        """Whether the text has a number with a compatible unit (km, %); of a range, both ends."""
        keys = quantity.token.keys
        if any(self._has(key, quantity.units) for key in keys):
            return True
        ends = [key[1:] for key in keys if isinstance(key, tuple) and key[0] == "-"]
        return any(all(self._has(end, quantity.units) for end in pair) for pair in ends)

    def _has(self, key: object, units: frozenset[str]) -> bool:
        """Whether the text has a number (its key) with one of the units, or one side has none."""
        # A rank is found as a number, but a date not as its day alone.
        is_date = isinstance(key, tuple) and key[0] == "date"
        wider = [k for k in _list_lookup_keys(key) if not is_date or k == key]
        readings = [k for k in wider if k in self._units]
        return any(
            not units or not there or units & there
            for reading in readings
            for there in self._units[reading]
        )


def read_quantities(text: str, *, only_sure: bool) -> list[Quantity]:
    """List a text's numbers (quantities with units) in order, unsure words ("one") or not.

    Digits are read by the customs of several languages, dates with the names of months in eight;
    words of numbers in English.

    Args:
        text: any text without citation marks.
        only_sure: whether words that may be no number ("one", "second") are left out.
    """
    text = _MONEY_SIZE.sub(lambda m: m[1] + _SIZES[m[2].lower()], join_compound_units(text))
    main = tokenize(fold(number_words_in_digits(text, only_sure=only_sure))).main
    return [
        Quantity(token, _find_units(main, at + 1))
        for at, token in enumerate(main)
        if isinstance(token, Token) and has_digits(token)
    ]


def _find_units(tokens: list[str | Token], position: int) -> frozenset[str]:
    """Get the units of measurement that the token at a position may name; empty if none."""
    word = tokens[position] if position < len(tokens) else None
    return _load_units().get(word, frozenset()) if isinstance(word, str) else frozenset()


@cache
def _load_units() -> dict[str, frozenset[str]]:
    """Map normalised spellings of units of measurement to the units that they may mean."""
    return {
        fold(spelling).lstrip("°"): frozenset(f"{kind}:{unit}" for kind, unit in meant)
        for spelling, meant in word_lists().units.items()
    }


def _list_lookup_keys(key: object) -> Iterator[Key]:
    """Yield the keys to look up a number under: of "12th" also 12, of a date also its day."""
    if isinstance(key, int | str) or not isinstance(key, tuple):
        yield key  # type: ignore[misc]
        return
    yield key
    if key[0] == "th":
        yield key[1]
    elif key[0] == "date" and len(key) == _DATE_PARTS and key[3] is not None:
        yield ("th", key[3])
