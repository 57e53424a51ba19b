"""Rules on small words that decide what a sentence says: hedges, connectives, quantifiers.

Such a word of one text needs a counterpart in the sentences of the other text that match its
sentence. Lists by language are in ``data/agreement.toml``.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from citeforge.builders.authorship.alignment import Alignment, Sentence
from citeforge.builders.authorship.facts import (
    find_implied_numbers,
    find_rests,
    number_words,
    numbers_in_text,
)
from citeforge.builders.authorship.wording import stem

_DATA = Path(__file__).parent / "data" / "agreement.toml"
_ROUGHLY = "about|around|roughly|some|approximately|nearly|almost"
_MONTH = r"(?-i:\bMay\b)"
"""The month, which is spelled like the verb."""


@dataclass(frozen=True)
class WordGroup:
    """Words that mean much the same.

    Attributes:
        name: such as ``possibility``.
        strict: finds words that mean this and nothing else.
        loose: finds these, and words that may stand in their place.
        neutral: finds phrases in which such a word means something else.
        may_add: whether a rewrite may add such words.
    """

    name: str
    strict: re.Pattern[str]
    loose: re.Pattern[str]
    neutral: re.Pattern[str]
    may_add: bool

    def find(self, text: str) -> list[str]:
        """List the words in a sentence that have no other meaning than this group's."""
        return [m.group().lower() for m in self.strict.finditer(self.neutral.sub("", text))]

    def count(self, texts: Iterable[str], *, has_neutral: bool = False) -> Counter[str]:
        """Count, by stem, the words in sentences that have or may have this group's meaning.

        Args:
            texts: the sentences.
            has_neutral: whether words count within neutral phrases, too: "may not" for "may fail".
        """
        plain = (text if has_neutral else self.neutral.sub("", text) for text in texts)
        return Counter(stem(m.group().lower()) for t in plain for m in self.loose.finditer(t))


@cache
def _data() -> dict[str, Any]:
    """Read the word lists (hedges, connectives, …) of all languages from the data file."""
    return tomllib.loads(_DATA.read_text(encoding="utf-8"))


def read_words(language: str, group: str, name: str) -> str:
    """Read a word list of a language's group, with spaces between words; empty if there is none."""
    return str(_data().get(language, {}).get(group, {}).get(name, ""))


@cache
def word_groups(language: str, category: str) -> dict[str, WordGroup]:
    """Map names to a language's groups of near-synonyms: hedges, connectives or quantifiers."""
    lists = _data().get(language, {})
    words = compile_words(read_words(language, "neutral", "words"))
    neutral = re.compile(f"{words.pattern}|{_MONTH}", re.IGNORECASE)
    return {
        name: _make_group(name, group, neutral) for name, group in lists.get(category, {}).items()
    }


def _make_group(name: str, group: dict[str, Any], neutral: re.Pattern[str]) -> WordGroup:
    """Compile a group of near-synonyms to patterns; ``neutral``: phrases with another meaning."""
    numbers = "|".join(number_words())
    number = rf"\s+(?:(?:{_ROUGHLY})\s+)?(?:\d|[$€£¥]|an?\b|half\b|(?:{numbers})\b)"
    endings = {None: "", True: f"(?={number})", False: f"(?!{number})"}
    ending = endings[group.get("before_number")]
    strict = compile_words(group["strict"], ending)
    also = compile_words(group["also"])
    loose = re.compile(f"{strict.pattern}|{also.pattern}", re.IGNORECASE)
    return WordGroup(name, strict, loose, neutral, group.get("may_add", False))


def compile_words(words: str, ending: str = "") -> re.Pattern[str]:
    """Compile space-separated words to a pattern; ``_`` is a space, ``*`` any ending.

    Args:
        words: separated by spaces.
        ending: pattern that has to follow each of them.
    """
    parts = [
        re.escape(word).replace("_", r"\s+").replace(r"\*", r"\w*")
        for word in sorted(set(words.split()), key=len, reverse=True)
    ]
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})(?!\w){ending}", re.IGNORECASE)


def find_disagreements(alignment: Alignment, language: str) -> Iterator[tuple[str, str]]:
    """Yield (check name, reason) where a rewrite changes hedges, connectives or quantifiers.

    Args:
        alignment: passage and rewrite.
        language: that of the passage.
    """
    for check, reasons in (
        ("hedges", _find_hedge_changes(alignment, language)),
        (
            "connectives",
            list(_find_exchanges(alignment, language, "connectives"))
            or _find_added_connectives(alignment, language),
        ),
        (
            "quantifiers",
            chain(
                _find_exchanges(alignment, language, "quantifiers"),
                _find_limits(alignment, language),
            ),
        ),
    ):
        if unique := list(dict.fromkeys(reasons)):
            yield check, "; ".join(unique[:3])


@dataclass(frozen=True)
class _Match:
    """A sentence of one text, and what matches it.

    Attributes:
        verb: what it means for a word to be here alone: "lacks", of a sentence of the passage, or
            "adds", of one of the rewrite.
        sentence: the sentence.
        here: sentences of its own text that match the same ones, itself among them.
        there: sentences of the other text that match it.
    """

    verb: str
    sentence: str
    here: list[str]
    there: list[str]

    def find_lost(self, group: WordGroup) -> list[str]:
        """List the words of a group in this sentence without counterpart in the other text.

        A word that both texts have is no counterpart of another word.
        """
        words = group.find(self.sentence)
        if not words:
            return []
        there = group.count(self.there, has_neutral=True)
        if there - group.count(self.here, has_neutral=True):
            return []
        here = group.count([self.sentence])
        return [w for w in words if here[stem(w)] > there[stem(w)]]

    def find_gained(self, group: WordGroup) -> list[str]:
        """List the words of a group in the other text without counterpart in this one."""
        here, there = group.count(self.here), group.count(self.there)
        if here - there:
            return []
        words = (w for text in self.there for w in group.find(text))
        return [w for w in words if there[stem(w)] > here[stem(w)]]


def _matches(alignment: Alignment) -> Iterator[_Match]:
    """Yield each sentence of passage and rewrite with its matching sentences, if it has any."""
    sides = (alignment.before, alignment.after)
    for side, verb in enumerate(("lacks", "adds")):
        for index, sentence in enumerate(sides[side]):
            there = sorted({pair[1 - side] for pair in alignment.links if pair[side] == index})
            here = sorted({p[side] for p in alignment.links if p[1 - side] in there})
            if there:
                texts = (
                    [sides[n][i].text for i in at] for n, at in ((side, here), (1 - side, there))
                )
                yield _Match(verb, sentence.text, *texts)


def _find_hedge_changes(alignment: Alignment, language: str) -> Iterator[str]:
    """Describe hedges that a rewrite lost, or added where it must not: ``lacks 'may'``."""
    for match in _matches(alignment):
        for group in word_groups(language, "hedges").values():
            if match.verb == "lacks" or not group.may_add:
                yield from (f"{match.verb} {word!r}" for word in match.find_lost(group))


def _find_exchanges(alignment: Alignment, language: str, category: str) -> Iterator[str]:
    """Describe words that a rewrite replaces by another group's: ``'all' became 'some'``."""
    groups = word_groups(language, category).values()
    for match in _matches(alignment):
        for old in groups if match.verb == "lacks" else ():
            if not (lost := match.find_lost(old)):
                continue
            for new in groups:
                if new is not old and (gained := match.find_gained(new)):
                    yield f"{lost[0]!r} became {gained[0]!r}"


def _find_added_connectives(alignment: Alignment, language: str) -> Iterator[str]:
    """Describe each "although" that a rewrite adds: ``adds 'although'``.

    A "because" may only say what the order of two sentences says.
    """
    concession = word_groups(language, "connectives").get("concession")
    if concession is not None:
        for match in _matches(alignment):
            if match.verb == "adds":
                yield from (f"adds {word!r}" for word in match.find_lost(concession))


def _find_limits(alignment: Alignment, language: str) -> Iterator[str]:
    """Describe each "only" that a rewrite lost or added: ``lacks 'only'``."""
    only = word_groups(language, "quantifiers").get("only")
    if only is not None:
        for match in _matches(alignment):
            yield from (f"{match.verb} {word!r}" for word in match.find_lost(only))


def find_replaced_numbers(alignment: Alignment) -> Iterator[str]:
    """Describe numbers that a rewrite replaces, one per sentence: ``'two' became 'three'``."""
    old, new = (" ".join(s.text for s in side) for side in (alignment.before, alignment.after))
    implied = find_implied_numbers(old) | find_implied_numbers(new)
    implied |= find_rests(new, numbers_in_text(old).allowed)
    for i, sentence in enumerate(alignment.before):
        linked = [j for k, j in sorted(alignment.links) if k == i]
        sources = _numbers(s for j in linked for s in alignment.sources_of(j))
        there = _numbers(alignment.after[j] for j in linked)
        lost = sorted(numbers_in_text(sentence.text).allowed - there - implied)
        gained = sorted(there - sources - implied)
        if lost and gained:
            yield f"{lost[0]!r} became {gained[0]!r}"


def _numbers(sentences: Iterable[Sentence]) -> frozenset[str]:
    """Collect the numbers in sentences as digits, those written as words included."""
    return frozenset().union(*(numbers_in_text(s.text).allowed for s in sentences))


def find_instruction(human: str, twin: str) -> str | None:
    """Find words in a rewrite (``twin``) that instruct a reader or a model; None if none do.

    It has words about models and prompts that the passage has not, or begins with an imperative
    that begins no sentence of the passage. Lists of all languages are used.
    """
    for language in _data():
        lists = _data()[language].get("reader")
        if lists is None:
            continue
        models = compile_words(lists["models"])
        address = compile_words(lists.get("address", "-"))
        known = {m.group().lower() for m in models.finditer(human)}
        is_addressed = address.search(human) is not None
        for match in models.finditer(twin):
            is_usual = is_addressed and address.match(match.group())
            if match.group().lower() not in known and not is_usual:
                return match.group()
        begins = re.compile(
            r"(?:^|[.!?:;]\s+|\n\s*|[(\[\"“]\s*)" + compile_words(lists["imperatives"]).pattern,
            re.IGNORECASE,
        )
        had = {m.group().strip(' .!?:;\n(["“').lower() for m in begins.finditer(human)}
        for match in begins.finditer(twin):
            word = match.group().strip(' .!?:;\n(["“')
            if word[:1].isupper() and word.lower() not in had:
                return twin[match.start() :].strip(" .!?:;\n")[:60]
    return None
