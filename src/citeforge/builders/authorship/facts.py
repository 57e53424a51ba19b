"""Facts that a rewrite must keep: numbers, dates, quotations, named entities, the language."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from citeforge.engines.text.spacy_models import english_model, installed_pipeline, pipeline_name
from citeforge.engines.text.words import find_words
from citeforge.schemas.matching.tokens import separate_signs
from citeforge.schemas.text import MONTHS

_NUMBER = re.compile(
    r"(?<![\w.])\d+(?:[.,\u202f\u00a0]\d+)*(?!\w)|(?<![\w.])\d{2,4}s\b|"
    r"(?<![\w.])\d+(?:st|nd|rd|th)\b"
)
_GROUPED = re.compile(r"\d{1,3}(?:[,\u202f\u00a0]\d{3})+(?:\.\d+)?")
_LISTS = tomllib.loads((Path(__file__).parent / "data" / "facts.toml").read_text(encoding="utf-8"))
_SMALL, _ORDINALS, _ROUND = map(str.split, _LISTS["numbers"].values())
_WORD_NUMBERS = {w: str(i) for words in (_SMALL, _ORDINALS) for i, w in enumerate(words)}
_WORD_NUMBERS |= {w: str(10 * i) for i, w in enumerate(_ROUND, 3)}
_SCALES: dict[str, int] = _LISTS["scales"]
_TENS = "|".join(w for w in _WORD_NUMBERS if w.endswith("ty"))
_TENS_AND_ONES = rf"(?:{_TENS})[- ](?:{'|'.join(_SMALL[1:10])})\b"
_WRITTEN = rf"(?:{_TENS_AND_ONES}|{'|'.join(_SMALL[1:])}|{_TENS})"
_SCALE = rf"(?:[- ](?:{'|'.join(sorted(_SCALES, key=len, reverse=True))})\b)"
# "2.4 million", "one hundred and five", "a century", "twenty-four"; not "twenty" alone.
_ROMANS = "0 I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX".split()
_ROMAN = re.compile(rf"(?<=[a-z] )(?:{'|'.join(n for n in _ROMANS[:1:-1])})\b")
"""Numbers of monarchs, wars and volumes; "I" is a word, too."""
_LONG_NUMBER = re.compile(
    rf"(?<![\w.,])(?:(?:\d+(?:,\d{{3}})*(?:\.\d+)?|{_WRITTEN}|an?){_SCALE}+"
    rf"(?:(?: and |[- ]){_WRITTEN}\b)?|{_WRITTEN} and a half\b|{_TENS_AND_ONES})",
    re.IGNORECASE | re.ASCII,
)
_SCORE = re.compile(r"(?<![\w.,–-])(\d{1,2})[–-](\d{1,2})(?![\w,–-]|\.\d)")
"""Games won and lost."""
_REST = re.compile(r"\b(\w+) (?:more|others?|further)\b", re.IGNORECASE)
_ISO_DATE = re.compile(r"\b(\d{4})-(0[1-9]|1[0-2])-([0-3]\d)\b")
_YEARS = re.compile(r"\b([^\W_]{1,12})[- ]years?\b", re.IGNORECASE)
_MONTHS = tuple(m.lower() for m in MONTHS)
# "May" and "March" are words too: they count as months beside a number only.
_MONTH = re.compile(
    r"\b(?:(?P<plain>jan(?:uary)?|feb(?:ruary)?|april|apr|june|jun|july|jul|aug(?:ust)?|"
    r"sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b|"
    r"(?P<before>may|march|mar)\b(?=\.?,? (?:the )?\d)|"
    r"(?<=\d )(?P<after>may|march|mar)\b|(?<=th )(?P<th>may|march)\b|(?<=of )(?P<of>may|march)\b)",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"“([^”\n]{2,300})”|(?<!\w)\"([^\"\n]{2,300})\"(?!\w)|«([^»\n]{2,300})»"
    r"|„([^“”\n]{2,300})[“”]|「([^」\n]{2,300})」"
)
_ENGLISH_PARTICLES = ("van", "von", "de", "del", "della", "di", "da", "du", "la", "le", "of", "el")
_ADJECTIVE = re.compile(r"(\w{3,}?)(?:i?an|ese|ine|i)s?|(\w{2,})ish")
_IRREGULAR: dict[str, str] = _LISTS["irregular"]
_ALIASES: dict[str, str] = _LISTS["aliases"]
_ALIAS = re.compile("|".join(rf"\b{re.escape(name)}(?!\w)" for name in _ALIASES))
_RUN = re.compile(r"[^\W\d_a-z][\w'’-]*(?:(?: (?:of|the|and|for))* [^\W\d_a-z][\w'’-]*)+")
"""Names of several words."""
_UNITS = ("Celsius", "Fahrenheit", "Kelvin", "KPH", "MPH", "RPM", "MHz", "GHz")
_FREE = frozenset({*_UNITS, "Sun", "Moon", "Earth", *MONTHS})
"""Names that a rewrite may drop or add: signs and numbers replace them, or all know them."""
_COLONS = frozenset({":", "•", "*"})
"""Marks behind which a capital may only begin a sentence or an item of a list."""
_SAME_LETTERS = 4
"""First letters that an adjective shares with its place: "Scottish", "Scotland"."""
_OTHER_WORDS: dict[str, str] = _LISTS["in_place_of_numbers"]
_AMBIGUOUS = frozenset({"one", "zero", "second", "first", "zeroth", "two", "hundred"})
"""Number words that a rewrite may drop or add: "the latter of the two", "a second later"."""
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_WORD_NUMBERS)})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Numbers:
    """Numbers of a text, as digits.

    Attributes:
        required: numbers that the other text must have: digits, or words that mean nothing else.
        allowed: those, and all others written as words.
    """

    required: frozenset[str]
    allowed: frozenset[str]


def bare_words(text: str) -> list[str]:
    """Split a text into lower-case words without punctuation."""
    return [w.lower() for w in find_words(text)]


def words_and_signs(text: str) -> list[str]:
    """Split a text into lower-case words; in scripts without spaces, each sign is one."""
    return bare_words(text if text.isascii() else separate_signs(text))


def with_digits(text: str) -> str:
    """Convert long numbers to digits ("2.4 million": "2400000"), ISO dates to "5 March 2020"."""
    text = _ISO_DATE.sub(lambda m: f"{int(m[3])} {MONTHS[int(m[2]) - 1]} {m[1]}", text)
    return _LONG_NUMBER.sub(
        lambda m: _in_digits(m.group().lower()), text.replace("per cent", "percent")
    )


def number_words_in_digits(text: str, *, only_sure: bool) -> str:
    """Convert English number words (or ``only_sure`` ones) to digits: ``"sixth"`` to ``"6th"``.

    Args:
        text: any text; numbers of several words become digits, too.
        only_sure: whether words that may be no number ("one", "second") stay.
    """

    def convert(match: re.Match[str]) -> str:
        """Convert a matched number word to digits, unless ambiguous ones ("second") must stay."""
        word = match[0].lower()
        if only_sure and word in _AMBIGUOUS:
            return match[0]
        return _WORD_NUMBERS[word] + "th" * (word in _ORDINALS)

    return _NUMBER_WORD.sub(convert, with_digits(text))


def _in_digits(number: str) -> str:
    """Convert a number from words to digits: ``"two hundred and five"`` to ``"205"``."""
    value = part = Decimal(0)
    words = re.split(r"[- ]", number)
    for word in words:
        if word in _SCALES:
            part = (part or Decimal(1)) * _SCALES[word]
            if _SCALES[word] >= 1000:  # of "two thousand and five hundred"
                value, part = value + part, Decimal(0)
        elif word == "half":
            part += Decimal("0.5")
        elif word not in ("a", "an", "and"):
            part += Decimal(_WORD_NUMBERS.get(word) or word.replace(",", ""))
    unit = " years" if words[-1].startswith(("decade", "centur", "millenni")) else ""
    return f"{(value + part).normalize():f}{unit}"


def numbers_in_text(text: str) -> Numbers:
    """Find a text's numbers: those that a rewrite must keep, and all that it may contain."""
    text, allowed = with_digits(text), set[str]()
    required = {_normalise_number(n) for n in _NUMBER.findall(text)}
    required |= {str(_ROMANS.index(n)) for n in _ROMAN.findall(text)}
    for word in bare_words(text):
        allowed.update(x for x in (_OTHER_WORDS.get(word), _WORD_NUMBERS.get(word)) if x)
        if word in _WORD_NUMBERS and word not in _AMBIGUOUS:
            required.add(_WORD_NUMBERS[word])
    return Numbers(frozenset(required), frozenset(required | allowed))


def find_implied_numbers(text: str) -> frozenset[str]:
    """Compute numbers that years and scores in a text imply: 1948 and 1954 give "6".

    1948 and 1954 give 6; 1948 and "6 years" give 1954; a "4–1 start" is of 5 games.
    """
    text = with_digits(text)
    years = {int(n) for n in _NUMBER.findall(text) if len(n) == 4 and n.isdigit() and n < "2100"}
    number = {**_WORD_NUMBERS, **dict.fromkeys(("a", "next", "following", "previous"), "1")}
    spans = {number.get(n.lower(), n) for n in _YEARS.findall(text)}
    shifts = {sign * int(n) for n in spans if n.isdecimal() for sign in (1, -1)}
    return frozenset(
        [str(b - a) for a in years for b in years if a < b]
        + [str(year + shift) for year in years for shift in shifts]
        + [str(int(won) + int(lost)) for won, lost in _SCORE.findall(text)]
    )


def find_rests(text: str, numbers: frozenset[str]) -> frozenset[str]:
    """Find numbers in a text that are the rest of known ones: "four more" of five."""
    rests = {_WORD_NUMBERS.get(n.lower(), n) for n in _REST.findall(text)}
    return frozenset(n for n in rests if n.isdecimal() and str(int(n) + 1) in numbers)


@cache
def number_words() -> dict[str, str]:
    """Map cardinal number words to digits."""
    return {w: n for w, n in _WORD_NUMBERS.items() if w not in _ORDINALS}


def _normalise_number(number: str) -> str:
    """Remove ordinal endings, separators and leading zeros from a number."""
    bare = re.sub(r"(?:st|nd|rd|th)$", "", number)
    if _GROUPED.fullmatch(bare):
        return re.sub(r"[,\u202f\u00a0]", "", bare)
    return bare.lstrip("0") or "0" if bare.isdigit() else bare


def months_in_text(text: str) -> frozenset[str]:
    """Find the months that a text names, as full English names in lower case."""
    dates = set()
    for match in _MONTH.finditer(with_digits(text)):
        start = match.group().lower()[:3]
        is_word = match["plain"] is None or len(match.group()) == 3
        if is_word and not match.group()[0].isupper():
            continue  # "dec" is no month, and "18 may" no date
        dates.add(next(m for m in _MONTHS if m.startswith(start)))
    return frozenset(dates)


def is_month(word: str) -> bool:
    """Whether a word is the full name of a month."""
    return word.lower() in _MONTHS


def is_roman_number(word: str) -> bool:
    """Whether a word is a Roman number, such as the III of a king."""
    return word in _ROMANS


def find_quotations(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield (quoted words, start, end) of each double-quoted text, in any language's marks."""
    for match in _QUOTED.finditer(text):
        yield match[match.lastindex or 0], match.start(), match.end()


def missing_quotations(human: str, twin: str) -> list[str]:
    """List the quoted strings of a passage that its rewrite does not contain word for word."""
    there = " ".join(bare_words(twin))
    quotations = []
    for quotation, _, _ in find_quotations(human):
        words = " ".join(bare_words(quotation))
        if words and f" {words} " not in f" {there} ":
            quotations.append(quotation)
    return quotations


class Entities:
    """Finds named entities with spaCy, and compares those of two texts.

    With an installed spaCy model, its named entities. Without one, a blank pipeline with rules:
    runs of capitalised words, except single ones that begin a sentence and are capitalised
    nowhere else.
    """

    def __init__(self, model: str | None = None) -> None:
        """Set the spaCy model that finds names; None for rules on capitalised words."""
        self.model = english_model(model)

    @property
    def name(self) -> str:
        """Name of the spaCy model, or of the rules, that finds named entities; for manifests."""
        if self.model is None:
            return "spacy:blank+rules-1"
        return pipeline_name(self._pipeline)

    @cached_property
    def _pipeline(self) -> Any:
        """Make the spaCy pipeline that finds names: an installed model, or rules."""
        import spacy

        if self.model is not None:
            return installed_pipeline(self.model)
        pipeline = spacy.blank("en")
        pipeline.add_pipe("sentencizer")
        ruler: Any = pipeline.add_pipe("entity_ruler")
        name = {"TEXT": {"REGEX": r"^[^\W\d_a-z][\w'’.-]*$"}, "IS_PUNCT": False}
        particle = {"LOWER": {"IN": list(_ENGLISH_PARTICLES)}, "OP": "?"}
        patterns = [[name], [name, name], [name, particle, name]]
        patterns += [[name, name, particle, name], [name, particle, particle, name]]
        ruler.add_patterns([{"label": "NAME", "pattern": p} for p in patterns])
        pipeline.max_length = 2_000_000
        return pipeline

    def find_changes(self, human: str, twin: str) -> tuple[list[str], list[str]]:
        """Return (named entities that a rewrite of a passage lost, named entities that it added).

        A part of a name is enough ("Templars"), unless the rest of it was replaced.
        """
        before, after = (
            self._pipeline(_ALIAS.sub(lambda m: _ALIASES[m.group()], text))
            for text in (human, twin)
        )
        lost, new = self._find_unmatched(before, after), self._find_unmatched(after, before)
        parts = [{*find_words(text)} for text in new]
        return (
            [t for t, is_whole in lost.items()
             if is_whole or any(p & {*find_words(t)} for p in parts)],
            [t for t, is_whole in new.items() if is_whole],
        )  # fmt: skip

    def _find_unmatched(self, text: Any, other: Any) -> dict[str, bool]:
        """Map each name that another text lacks in part to whether it lacks all its words."""
        # spaCy cuts words where the regular expression does not ("A0_"): both kinds are taken.
        words = bare_words(other.text) + [w for t in other for w in bare_words(t.text)]
        there = {form for word in words for form in (word, _stem(word))}
        there |= {_initials(name).upper() for name in _RUN.findall(other.text)}
        names = find_words(other.text)
        short = {w for w in names if w.isupper() and len(w) > 1}
        initials = {w for name in _RUN.findall(text.text) if _initials(name).upper() in short
                    for w in find_words(name)}  # fmt: skip
        found = dict[str, bool]()
        for span in self._spans(text):
            capitalised = [w for t in span for w in find_words(t.text) if w[:1].isupper()]
            gone = [w for w in capitalised if there.isdisjoint((w, _stem(w.lower())))
                    and w not in initials and w not in _FREE
                    and not any(_is_same_origin(w, name) for name in names)
                    and not any(len(w) > _SAME_LETTERS and w.lower() in word for word in there)
                    ]  # fmt: skip
            if gone:
                found[span.text] = len(gone) == len(capitalised)
        return found

    def _spans(self, document: Any) -> list[Any]:
        """List the spans of a spaCy document that are names."""
        if self.model is not None:
            numeric = {"CARDINAL", "ORDINAL", "QUANTITY", "PERCENT", "DATE", "TIME", "MONEY"}
            return [e for e in document.ents if e.label_ not in numeric]
        inside = {
            t.text for s in document.sents for t in s
            if t.i > s.start and t.text[:1].isupper() and not _is_after_colon(t)
        }  # fmt: skip
        spans = []
        for entity in document.ents:
            first = entity.start == entity.sent.start or _is_after_colon(entity[0])
            alone = len(entity) == 1
            if first and alone and (entity.text not in inside or entity[0].is_stop):
                continue
            begins = first and entity[0].is_stop and len(entity) > 1
            spans.append(entity[1:] if begins else entity)
        return [span for span in spans if len(span.text) > 1]


def _is_after_colon(token: Any) -> bool:
    """Whether a token begins what reads like a sentence behind a colon or a list mark."""
    if token.i == 0 or token.i + 1 == len(token.doc) or token.nbor(-1).text not in _COLONS:
        return False
    # "Giving it" and "Giving the drug" begin a sentence; "France and Spain" are a list of names.
    following = token.nbor()
    is_name = following.is_stop and following.lower_ not in ("a", "an", "the", "any", "it")
    return following.text.islower() and not is_name


def _initials(name: str) -> str:
    """Join the first letters of a name's capitalised words: ``"raf"`` for Royal Air Force."""
    return "".join(w[0].lower() for w in find_words(name) if w[0].isupper() and w != "The")


def _is_same_origin(name: str, other: str) -> bool:
    """Whether one name is a place and the other its adjective or people (Spain, Spanish)."""
    return any(
        y.lower().startswith(_IRREGULAR.get(x.lower(), "-")) or _is_of_place(x, y)
        for x, y in ((name, other), (other, name))
    )


def _is_of_place(adjective: str, place: str) -> bool:
    """Whether an adjective belongs to a place, judged by spelling ("American" to "America")."""
    match = _ADJECTIVE.fullmatch(adjective)
    return match is not None and place.startswith((match[1] or match[2])[:_SAME_LETTERS])


def _stem(word: str) -> str:
    """Remove a possessive or plural ending from a word."""
    return re.sub(r"(?:['’]s|s['’]?)$", "", word)
