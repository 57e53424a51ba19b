"""Negations, opposites and units in a text, by the lists in ``data/wording.toml``."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from citeforge.builders.authorship.facts import number_words

_DATA = Path(__file__).parent / "data" / "wording.toml"
_NOT = re.compile(r"\b(?:(can)not|(\w+)n['’]t)\b", re.IGNORECASE)
PREFIX = re.compile(r"(?:un|in|im|il|ir|dis|non)(?=[a-z]{3})")
DIRECTION = re.compile(r"(north|south)?[- ]?(north|south|east|west)(?:ern(?:most)?|erly|wards?)?$")
_PART_OF_NAME = re.compile(r"\b((?:North|South|East|West)(?:ern)?) (?=[A-Z])")
"""Direction in a name, such as North York; names are compared elsewhere."""
_SPEED = re.compile(
    r"(?<=[\d\s])(?:(?P<k>km|kilomet(?:re|er)s?)|(?P<m>mi|miles?))"
    r"(?: ?/ ?|-per-| (?:per|an) )(?:h|hr|hour)\b",
    re.IGNORECASE,
)
_SQUARE = re.compile(r"\bsq(?:uare|\.)?[ -](?=[kcm]?m\b|\w*met|mile|f[eo]|ft)", re.IGNORECASE)
NEAR = 4
"""Words between a negation and what it denies, at most."""
_ADVERBS = {"before": "earlier", "after": "later"}
_BOUNDS = {"over": "more", "above": "more", "under": "less", "below": "less"}


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a group of opposites, such as "hot" of hot and cold."""

    group: int
    side: int


@dataclass(frozen=True)
class _Lists:
    """The word lists of the data file; words are in all their regular forms."""

    stop: frozenset[str]
    function: frozenset[str]
    plain: frozenset[str]
    denying: frozenset[str]
    opposites: dict[str, tuple[Side, ...]]
    mutual: frozenset[int]
    phrases: tuple[tuple[str, str], ...]
    units: dict[str, tuple[tuple[str, str], ...]]
    kinds: tuple[str, ...]
    rates: dict[str, str]
    unprefixed: frozenset[str]
    counted: dict[str, frozenset[str]]


@cache
def word_lists() -> _Lists:
    """Read the lists of negations, opposites and units of measurement from the data file."""
    data = tomllib.loads(_DATA.read_text(encoding="utf-8"))
    negation = {name: text.split() for name, text in data["negation"].items()}
    opposites: dict[str, list[Side]] = {}
    mutual, phrases = set(), [w for words in negation.values() for w in words if "_" in w]
    for group, line in enumerate(filter(None, data["opposites"]["pairs"].split("\n"))):
        if line.startswith("~"):
            mutual.add(group)
        for side, words in enumerate(line.lstrip("~ ").split("|")):
            phrases += [w for w in words.split() if "_" in w]
            for form in {f for w in words.split() for f in _inflect(w)}:
                opposites.setdefault(form, []).append(Side(group, side))
    units: dict[str, list[tuple[str, str]]] = {}
    for kind, text in data["units"].items():
        for spellings in (unit.split(",") for unit in text.split("|")):
            for spelling in spellings:
                for form in {spelling, *([f"{spelling}s"] if len(spelling) > 2 else [])}:
                    units.setdefault(form, []).append((kind, spellings[0]))
    return _Lists(
        frozenset(data["stop"]["en"].split()),
        frozenset(data["function"]["en"].split()),
        frozenset(negation["plain"]),
        frozenset(form for word in negation["denying"] for form in _inflect(word)),
        {form: tuple(sides) for form, sides in opposites.items()},
        frozenset(mutual),
        # A neutral phrase loses its spaces, and with them the word of negation in it.
        tuple((p.replace("_", " "), p) for p in sorted(set(phrases), key=len, reverse=True)),
        {form: tuple(kinds) for form, kinds in units.items()},
        tuple(data["units"]),
        {
            word: spellings.split(",")[0]
            for spellings in data["rates"]["en"].split("|")
            for word in spellings.split(",")
        },
        frozenset(data["prefixed"]["en"].split()),
        {language: frozenset(words.split()) for language, words in data["counted"].items()},
    )


def join_compound_units(text: str) -> str:
    """Write units of area and speed in a text as one word each: ``"sqmiles"``, ``"kph"``."""
    return _SPEED.sub(lambda m: "kph" if m["k"] else "mph", _SQUARE.sub("sq", text))


def _inflect(word: str) -> set[str]:
    """Make the regular inflected forms of a word, as verb, noun, adjective or adverb."""
    if len(word) < 3 or "_" in word or word.startswith("="):
        return {word.removeprefix("=")}
    stems = {word}
    if word.endswith("e"):
        stems.add(word[:-1])
    elif word[-1] not in "aeiouwxy" and word[-2] in "aeiou":
        stems.add(word + word[-1])
    forms = {stem + end for stem in stems for end in ("ed", "ing", "er", "est")}
    forms |= {f"{word}ly"} if len(word) > 4 else set()
    forms |= {word, f"{word}s", f"{word}es", f"{word}d"}
    if word.endswith("y"):
        forms |= {f"{word[:-1]}{end}" for end in ("ies", "ied", "ier", "iest")}
    return forms


class Wording:
    """Words of one text, with questions about its negations and opposites."""

    def __init__(self, text: str) -> None:
        """Split a text into lower-case tokens; listed phrases become one token each."""
        lists = word_lists()
        named = _PART_OF_NAME.sub(lambda m: f"{m[1]}\uf8ff", text)
        lower = _NOT.sub(lambda m: f"{m[1] or m[2]} not", named).lower()
        for phrase, joined in lists.phrases:
            if phrase in lower:
                lower = re.sub(rf"\b{phrase}\b", joined.replace("_", "\uf8ff"), lower)
        # "three weeks before." is "three weeks earlier".
        lower = re.sub(
            r"\b(before|after)(?: that| this)?(?= *[.,;]|$)", lambda m: _ADVERBS[m[1]], lower
        )
        self.tokens = [t.replace("\uf8ff", "_") for t in split_tokens(lower)]

    def sentence_bounds(self, index: int) -> tuple[int, int]:
        """Get the indexes (start, end) of the sentence that contains the token at an index."""
        start = next((i + 1 for i in range(index, -1, -1) if self.tokens[i] in ".!?"), 0)
        n = len(self.tokens)
        return start, next((i for i in range(index, n) if self.tokens[i] in ".!?"), n)

    def is_content(self, index: int) -> bool:
        """Whether the token at an index is a content word or number, no stop word or negation."""
        return is_content(self.tokens[index])

    def sentence_stems(self, index: int, around: int | None = None) -> set[str]:
        """Get the stems of the content words in the sentence of a token, or near it in there.

        Args:
            index: that of the token.
            around: words before and behind it that count; None for the whole sentence.
        """
        start, end = self.sentence_bounds(index)
        if around is not None:
            start, end = max(start, index - around), min(end, index + around + 1)
        return {stem(self.tokens[i]) for i in range(start, end) if self.is_content(i)}

    def denied_stem(self, index: int) -> str:
        """Get the stem of the word that the negation at an index denies: the next content word."""
        following = range(index + 1, min(self.sentence_bounds(index)[1], index + 1 + NEAR))
        heads = (self.tokens[i] for i in following if self.is_content(i))
        return next((stem(word) for word in heads if word != "longer"), "")

    def count_negations(self, index: int) -> int:
        """Count the negations in the sentence of the token at an index."""
        start, end = self.sentence_bounds(index)
        return sum(token in word_lists().plain for token in self.tokens[start:end])

    def count_softeners(self, index: int, other: "Wording", denied: int) -> int:
        """Count words in a sentence that may replace the negation at ``denied`` in ``other``.

        Such a word is not in the other sentence, and it denies ("failed"), or is the opposite of a
        word there ("uncommon", "closed" for "did not open").

        Args:
            index: that of a token of the sentence.
            other: the other text.
            denied: index of the negation in it.
        """
        here, there = ({*text.tokens[slice(*text.sentence_bounds(i))]}
                       for text, i in ((self, index), (other, denied)))  # fmt: skip
        known = {stem(word) for word in there}
        opposites = {Side(s.group, 1 - s.side) for word in there for s in _sides(word)}
        return sum(
            word in word_lists().denying
            or not known.isdisjoint(affirmed_forms(word)[1:])
            or not opposites.isdisjoint(_sides(word))
            for word in here
            if stem(word) not in known
        )

    def index_by_neighbours(self) -> dict[tuple[str, str], dict[Side, int]]:
        """Map (stem before, stem after) to the words with opposites in between: side to index."""
        found: dict[tuple[str, str], dict[Side, int]] = {}
        for index, word in enumerate(self.tokens):
            sides = list(_sides(word))
            start, end = self.sentence_bounds(index) if sides else (0, 0)
            left = next((w for w in self._stems(range(index - 1, start - 1, -1))), "")
            right = next((w for w in self._stems(range(index + 1, end))), "")
            if left and right:
                found.setdefault((left, right), {}).update(dict.fromkeys(sides, index))
        return found

    def _stems(self, indexes: Iterable[int]) -> Iterator[str]:
        """Yield the stems of the content words among the tokens at given indexes."""
        return (stem(self.tokens[i]) for i in indexes if self.is_content(i))

    def index_by_side(self) -> dict[Side, list[int]]:
        """Map each (group of opposites, side) to word indexes; "less hard" counts as "easy"."""
        found: dict[Side, list[int]] = {}
        for index, word in enumerate(self.tokens):
            previous = self.tokens[index - 1] if index else ""
            is_less = previous in ("less", "least")
            following = self.tokens[index + 1 : index + 2]
            is_bound = following and (following[0][0].isdigit() or following[0] in number_words())
            words = [word, *([_BOUNDS[word]] if is_bound and word in _BOUNDS else [])]
            if word == "most" and previous in ("the", "and", "its", "their"):
                continue  # of a superlative
            for side in (s for w in words for s in _sides(w)):
                is_turned = is_less and side.side < 2
                turned = Side(side.group, 1 - side.side) if is_turned else side
                found.setdefault(turned, []).append(index)
        return found


def split_tokens(text: str) -> list[str]:
    """Split a text into words, numbers and punctuation marks."""
    return re.findall(r"[^\W_]+(?:[\uf8ff][^\W_]+)*(?:[.,]\d+)*|[.;:!?,]", text)


def is_content(word: str) -> bool:
    """Whether a word is a content word or a number, no stop word or negation."""
    is_long = len(word) > 2 or word[:1].isdigit()
    return is_long and word not in word_lists().stop and word not in word_lists().plain


def stem(word: str) -> str:
    """Cut a word to its first five letters, which its forms share."""
    return word[:5]


def affirmed_forms(word: str) -> list[str]:
    """Get the stems of a word with and without its negative prefix: ["uncom", "commo"]."""
    prefix = PREFIX.match(word)
    return [stem(word), *([stem(word[prefix.end() :])] if prefix else [])]


def _sides(word: str) -> Iterator[Side]:
    """Yield (group of opposites, side 0 or 1) of a word; compass directions: (-1, 0 to 3)."""
    yield from word_lists().opposites.get(word, ())
    if (match := DIRECTION.match(word)) is not None:
        for part in filter(None, match.groups()):
            yield Side(-1, "north south east west".split().index(part))


def count_denials(text: str, language: str) -> int | None:
    """Count the negation words of a text in German, French or Spanish.

    Returns:
        Their number; None for languages without a list.
    """
    words = word_lists().counted.get(language)
    return None if words is None else sum(t in words for t in split_tokens(text.lower()))
