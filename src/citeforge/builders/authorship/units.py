"""Rule that finds numbers whose unit differs between a passage and its twin."""

import re
from collections.abc import Iterator

from citeforge.builders.authorship.facts import number_words, with_digits
from citeforge.builders.authorship.wording import word_lists

_WORDS = "|".join(sorted(number_words(), key=len, reverse=True))
_UNIT = re.compile(
    rf"(?P<before>[$€£¥] ?)?(?<![\w.,])(?P<number>\d+(?:[.,]\d+)*|{_WORDS}|an?(?= )|per(?= ))[- ]?"
    r"(?P<after>(?:°\s?[CF]\b|%|[ap]\.m\b|[^\W\d_]+[²2]?)?(?: [^\W\d_]+)?)",
    re.IGNORECASE,
)  # fmt: skip


def find_unit_faults(human: str, twin: str) -> Iterator[str]:
    """Yield the first change of a number's unit: ``"'310 metres' became '310 feet'"``.

    Args:
        human: English passage.
        twin: rewrite.
    """
    old, new = (_units(with_digits(text)) for text in (human, twin))
    for number, units in old.items():
        there = new.get(number, {})
        if units and there and not units.keys() & there.keys():
            yield f"{next(iter(units.values()))!r} became {next(iter(there.values()))!r}"
            return
    # A rewrite may have moved the unit to another number.
    for quantity in (name for name in word_lists().kinds if name != "time"):
        sides = [{u: words for units in found.values() for u, words in units.items()
                  if u.startswith(f"{quantity}:")} for found in (old, new)]  # fmt: skip
        if all(sides) and not sides[0].keys() & sides[1].keys():
            yield " became ".join(repr(next(iter(side.values()))) for side in sides)
            return


def _units(text: str) -> dict[str, dict[str, str]]:
    """Map each number of a text to its units, and each unit to the words it was read from."""
    found: dict[str, dict[str, str]] = {}
    units = word_lists().units
    for match in _UNIT.finditer(text):
        number = match["number"].lower().replace(",", "")
        number = "1" if number in ("a", "an", "per") else number_words().get(number, number)
        own = found.setdefault(number, {})
        words = [
            (match["before"] or "").strip(),
            *match["after"].lower().replace("° ", "°").split(),
        ]
        for word in words:
            for quantity, unit in units.get(word.strip(), ()):
                if quantity != "money" or len(units[word]) == 1 or not own:
                    own[f"{quantity}:{unit}"] = match.group().strip()
    return found
