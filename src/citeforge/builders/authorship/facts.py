"""What a rewrite has to keep: numbers, dates, quotations, named entities, and the language."""

import re
from collections.abc import Iterable
from functools import cache, cached_property
from itertools import combinations
from typing import Any, NamedTuple

from citeforge.engines.text.spacy_models import installed_pipeline, ner_model
from citeforge.schemas.text import MONTHS

_WORD = re.compile(r"\w+(?:['’]\w+)*", re.UNICODE)
_NUMBER = re.compile(
    r"(?<![\w.])\d+(?:[.,\u202f\u00a0]\d+)*(?!\w)|(?<![\w.])\d{2,4}s\b|"
    r"(?<![\w.])\d+(?:st|nd|rd|th)\b"
)
_GROUPED = re.compile(r"\d{1,3}(?:[,\u202f\u00a0]\d{3})+(?:\.\d+)?")
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
).split()
_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
_WORD_NUMBERS = {w: str(i) for words in (_SMALL, _ORDINALS) for i, w in enumerate(words)} | {
    w: str(10 * i)
    for i, w in enumerate("thirty forty fifty sixty seventy eighty ninety hundred".split(), 3)
}
_MONTHS = tuple(m.lower() for m in MONTHS)
# "May" and "March" are words too: they count as months beside a number only.
_MONTH = re.compile(
    r"\b(?:(?P<plain>jan(?:uary)?|feb(?:ruary)?|april|apr|june|jun|july|jul|aug(?:ust)?|"
    r"sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b|"
    r"(?P<before>may|march|mar)\b(?=\.?,? (?:the )?\d)|"
    r"(?<=\d )(?P<after>may|march|mar)\b|(?<=th )(?P<th>may|march)\b|(?<=of )(?P<of>may|march)\b)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"“([^”\n]{2,300})”|\"([^\"\n]{2,300})\"|«([^»\n]{2,300})»")
_ENGLISH_PARTICLES = ("van", "von", "de", "del", "della", "di", "da", "du", "la", "le", "of", "el")
_ADJECTIVE = re.compile(r"(\w{3,}?)(?:i?an|ese|ine)s?|(\w{2,})ish")
_IRREGULAR = {
    "sun": "solar", "moon": "lunar", "earth": "terrestrial", "mars": "martian", "denmark": "danish",
    "france": "french", "spain": "spanish", "finland": "finnish", "greece": "greek",
    "netherlands": "dutch", "holland": "dutch", "wales": "welsh", "switzerland": "swiss",
    "norway": "norwegian", "thailand": "thai", "iraq": "iraqi", "iceland": "icelandic",
}  # fmt: skip
"""Names to their adjectives."""
_SCALES = frozenset({"Celsius", "Fahrenheit", "Kelvin"})
"""Names in units, which may be written as signs; the check of units looks at them."""
_SAME_LETTERS = 4
"""Of an adjective and its place: "Scottish", "Scotland"."""
_LEAST_CHARACTERS = 40
_LEAST_PROBABILITY = 0.95


_OTHER_WORDS = {
    "both": "2", "twice": "2", "double": "2", "half": "2", "pair": "2", "couple": "2", "twin": "2",
    "twins": "2", "dual": "2", "latter": "2", "thrice": "3", "triple": "3", "decade": "10",
    "dozen": "12", "fortnight": "2", "century": "100", "quarter": "4", "quarters": "4",
}  # fmt: skip
"""Words that may take the place of a number."""
_AMBIGUOUS = frozenset({"one", "zero", "second", "first", "zeroth", "two", "hundred"})
"""Number words that come and go in a rewrite: "the latter of the two", "a second later"."""


class Numbers(NamedTuple):
    """Numbers of a text.

    Attributes:
        required: in digits, or words that mean nothing else; the other text must have them.
        allowed: those, and all others written as words.
    """

    required: frozenset[str]
    allowed: frozenset[str]


def bare_words(text: str) -> list[str]:
    """Lower-case words without punctuation."""
    return [w.lower() for w in _WORD.findall(text)]


def numbers_in_text(text: str) -> Numbers:
    """Find numbers without thousands separators and ordinal endings (``1,200`` is ``1200``)."""
    digits = frozenset(_plain(n) for n in _NUMBER.findall(text))
    required, allowed = set[str](), set[str]()
    words = bare_words(text)
    for word, following in zip(words, [*words[1:], ""], strict=False):
        allowed.update(x for x in (_OTHER_WORDS.get(word),) if x)
        if (number := _WORD_NUMBERS.get(word)) is None:
            continue
        allowed.add(number)
        unit = _WORD_NUMBERS.get(following, "")
        if len(number) == 2 and number[1] == "0" and number > "1" and len(unit) == 1:
            allowed.add(number[0] + unit)  # twenty-five
        elif following == "decades":
            allowed.add(f"{number}0")
        elif word not in _AMBIGUOUS:
            required.add(number)
    return Numbers(digits | required, digits | required | allowed)


def year_differences(numbers: Iterable[str]) -> frozenset[str]:
    """Compute the years between the years among numbers: ``{"6"}`` of 1948 and 1954."""
    years = sorted(int(n) for n in numbers if len(n) == 4 and n.isdigit() and n < "2100")
    return frozenset(str(b - a) for a, b in combinations(years, 2))


def number_words() -> tuple[str, ...]:
    """Cardinal numbers written as words."""
    return tuple(w for w in _WORD_NUMBERS if w not in _ORDINALS)


def _plain(number: str) -> str:
    """Strip ordinal endings, separators and leading zeros from a number."""
    bare = re.sub(r"(?:st|nd|rd|th)$", "", number)
    if _GROUPED.fullmatch(bare):
        return re.sub(r"[,\u202f\u00a0]", "", bare)
    return bare.lstrip("0") or "0" if bare.isdigit() else bare


def dates_of(text: str) -> frozenset[str]:
    """Find the months that a text names; days and years are numbers."""
    dates = set()
    for match in _MONTH.finditer(text):
        start = match.group().lower()[:3]
        is_word = match["plain"] is None or len(match.group()) == 3
        if is_word and not match.group()[0].isupper():
            continue  # "dec" is no month, and "18 may" no date
        dates.add(next(m for m in _MONTHS if m.startswith(start)))
    return frozenset(dates)


def missing_quotations(human: str, twin: str) -> list[str]:
    """Find quoted strings of a passage that its twin does not contain word for word."""
    there = " ".join(bare_words(twin))
    quotations = []
    for groups in _QUOTED.findall(human):
        quotation = next(g for g in groups if g)
        words = " ".join(bare_words(quotation))
        if words and f" {words} " not in f" {there} ":
            quotations.append(quotation)
    return quotations


@cache
def _load_identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def language_of(text: str) -> str | None:
    """Detect the ISO 639-1 code of a text; None if it is too short or too mixed."""
    if len(text) < _LEAST_CHARACTERS:
        return None
    name, probability = _load_identifier().classify(text[:5000])
    return str(name) if probability >= _LEAST_PROBABILITY else None


class Entities:
    """Named entities of a text, through spaCy.

    With an installed spaCy model, its named entities. Without one, a blank pipeline with rules:
    runs of capitalised words, except single ones that begin a sentence and are capitalised
    nowhere else.
    """

    def __init__(self, model: str | None = None) -> None:
        self.model = ner_model(model)

    @property
    def name(self) -> str:
        """Name of the spaCy model, or of the rules, for manifests."""
        if self.model is None:
            return "spacy:blank+rules-1"
        return f"spacy:{self._pipeline.meta['name']}-{self._pipeline.meta['version']}"

    @cached_property
    def _pipeline(self) -> Any:
        """Make the spaCy pipeline that finds names: by rules, or an installed model."""
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

    def missing(self, human: str, twin: str) -> list[str]:
        """Find entities of a passage of which some capitalised word is not in its twin."""
        # spaCy cuts words where the regular expression does not ("A0_"): the twin has both kinds.
        words = bare_words(twin) + [w for t in self._pipeline(twin) for w in bare_words(t.text)]
        there = {form for word in words for form in (word, _stem(word))}
        names = [w for w in _WORD.findall(twin) if w[:1].isupper()]
        lost = []
        for span in self._spans(self._pipeline(human)):
            capitalised = [w for t in span for w in _WORD.findall(t.text) if w[:1].isupper()]
            if any(
                _stem(word.lower()) not in there
                and word not in _SCALES
                and _IRREGULAR.get(word.lower()) not in there
                and not any(a == word.lower() and n in there for n, a in _IRREGULAR.items())
                and not any(_is_of_place(word, w) or _is_of_place(w, word) for w in names)
                for word in capitalised
            ):
                lost.append(span.text)
        return list(dict.fromkeys(lost))

    def _spans(self, document: Any) -> list[Any]:
        """List the names in a document."""
        if self.model is not None:
            numeric = {"CARDINAL", "ORDINAL", "QUANTITY", "PERCENT", "DATE", "TIME", "MONEY"}
            return [e for e in document.ents if e.label_ not in numeric]
        inside = {
            t.text for s in document.sents for t in s if t.i > s.start and t.text[:1].isupper()
        }
        spans = []
        for entity in document.ents:
            first = entity.start == entity.sent.start
            alone = len(entity) == 1
            if first and alone and (entity.text not in inside or entity[0].is_stop):
                continue
            begins = first and entity[0].is_stop and len(entity) > 1
            spans.append(entity[1:] if begins else entity)
        return [span for span in spans if len(span.text) > 1]


def _is_of_place(adjective: str, place: str) -> bool:
    """Whether an adjective belongs to a place by its ending ("American" to "America")."""
    match = _ADJECTIVE.fullmatch(adjective)
    return match is not None and place.startswith((match[1] or match[2])[:_SAME_LETTERS])


def _stem(word: str) -> str:
    """Remove a possessive or plural ending from a word."""
    return re.sub(r"(?:['’]s|s['’]?)$", "", word)
