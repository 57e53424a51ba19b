"""English names and labels: articles, plurals of units, the form of a relation's label."""

import re
import tomllib
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any

FORMS = ("noun", "role", "participle", "active")
_IRREGULAR = ("made", "built", "born", "found", "held", "sent", "sold", "bought", "won", "known")
_PREPOSITIONS = ("at", "by", "for", "in", "from", "to", "on", "with")
# Names that end or begin in these nouns; nouns that are surnames, too, are not among them.
_BEFORE = r"(?:(?!and )\S+ )"
"""A word in front of such a noun: a title such as "Foundation and Empire" has no article."""
_ARTICLE = re.compile(
    r"(?!The\b|.* on the )(?:"
    rf"{_BEFORE}*(?:War|Battle|Siege|Treaty|University|Academy|Institute"
    r"|Kingdom|Republic|Duchy|Order|Legion|House|Church|Ministry|Council|Bank|Museum"
    r"|Party|Society|League) of .+"
    rf"|{_BEFORE}+(?:Wars?|Revolution|Uprising|Rebellion|Crisis|Party|Movement|Renaissance|Empire"
    r"|Republic|Kingdom|Dynasty|Congress|Navy|Army|Air Force|Corps|Society|Academy|Institute"
    r"|Prize|Medal|Award|Museum|Orchestra|Orthodox Church|Catholic Church|Islands|Emirates))$"
)
_ARTICLE_OF_NO_TITLE = re.compile(
    rf"(?!The\b|.* on the )(?:{_BEFORE}*(?:Prize|Medal|Award|Cup|Championship) (?:in|for|of) .+"
    r"|United (?:Kingdom|States)\b.*|Soviet Union|Netherlands|Philippines|Bahamas)$"
)
"""Names of prizes and states, which hardly any work has as its title."""


def guess_label_form(label: str) -> str:
    """Guess a relation label's form: role (member of), participle (educated at) or noun.

    It is ``role`` if the label ends in "of" (member of), ``participle`` if it begins with a
    participle and ends in a preposition (educated at), else ``noun`` (occupation).
    """
    words = label.split()
    if len(words) == 2 and words[-1] == "of":
        return "role"
    is_participle = words[0].endswith(("ed", "en")) or words[0] in _IRREGULAR
    if len(words) > 1 and is_participle and words[-1] in _PREPOSITIONS:
        return "participle"
    return "noun"


def noun_form(label: str, label_form: str) -> str | None:
    """Get the noun in a relation's label, such as ``member`` of ``member of``; None if none.

    Args:
        label: the label.
        label_form: its form; see :func:`guess_label_form`.
    """
    if label_form == "role":
        return label.removesuffix(" of")
    return label if label_form == "noun" else None


def with_article(name: str, may_be_title: bool = False) -> str:
    """Add "the" to a name that needs it (``the Greek War``); more rarely if it may be a title.

    Args:
        name: the name.
        may_be_title: whether works have such names; then no word that titles have, too, decides.
    """
    needs = _ARTICLE_OF_NO_TITLE.match(name) or (not may_be_title and _ARTICLE.match(name))
    return f"the {name}" if needs else name


_UNITS = Path(__file__).parent / "data" / "units.toml"


@cache
def _read_units() -> dict[str, Any]:
    """Read ``data/units.toml``, the rules for plurals of units."""
    return tomllib.loads(_UNITS.read_text(encoding="utf-8"))


@cache
def _unit_pattern() -> re.Pattern[str]:
    """Compile the pattern that splits a unit's name into its noun and the words after it."""
    words = _read_units()["after_noun"].replace(" ", "|")
    return re.compile(rf"(?P<noun>.+?)(?P<rest>(?: (?:{words})\b| \(|/).*)?$")


def with_unit(number: str, unit: str) -> str:
    """Write a number with the English name of its unit: ``92 minutes``, ``1 metre per second``."""
    try:
        is_one = abs(Decimal(number)) == 1
    except InvalidOperation:
        is_one = True
    match = _unit_pattern().match(unit)
    if is_one or match is None or unit.split(" ")[0] == _read_units()["no_noun"]:
        return f"{number} {unit}".rstrip()
    words = match["noun"].split(" ")
    at = 0 if words[0] in _read_units()["first"] else -1
    words[at] = _pluralise(words[at])
    return f"{number} {' '.join(words)}{match['rest'] or ''}"


def _pluralise(noun: str) -> str:
    """Make the plural of a unit's noun; symbols and plurals are returned as they are."""
    data = _read_units()
    if noun in data["irregular"]:
        return str(data["irregular"][noun])
    first, dash, last = noun.rpartition("-")
    if first:
        return f"{first}{dash}{_pluralise(last)}"
    if not noun.isalpha() or not noun[1:].islower() or noun.endswith(tuple(data["unchanged"])):
        return noun
    if len(noun) < 3 or (noun.endswith("s") and not noun.endswith("ss")):
        return noun
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"
