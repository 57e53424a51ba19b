"""Content words of texts, and the words by which questions ask for relations."""

import re
from collections.abc import Mapping
from functools import cache

from citeforge.kg.classes import phrasings
from citeforge.kg.domain import Domain, word_groups
from citeforge.schemas.kg import relation_key

_WORD = re.compile(r"[^\W\d_]{2,}")
_SLOT = re.compile(r"\{\w+\}")
_TAIL = re.compile(r" (?:of|in|for|at|to|by|from|on|with|outside|as)\b|,| \(")
OPENERS = frozenset("what which who whom whose when where why how".split())
STOP = frozenset(
    "a an and as at by did do does each from had has have his her in is it its of on or "
    "the their to was were what which with".split()
)
GENERIC = frozenset(
    "when where who how for number name work member person part kind type first last life "
    "group".split()
)
"""Words that mean little alone."""
PLAIN = STOP | GENERIC | set(
    "he she him they them hers theirs that this whose whom be been being are also too both become "
    "became serve hold held know known call include take took make made give gave get got go went "
    "come came belong profession".split()
)  # fmt: skip
"""Words that only put a fact into a sentence."""
_MOST_GENERIC = 2
"""Generic words that ask for nothing; three may: "for whom … work"."""


@cache
def _synonym_stems() -> Mapping[str, str]:
    """Map the stem of each known synonym to the stem of the first word of its group."""
    groups = word_groups("same_words")
    return {_stem(word): _stem(group[0]) for group in groups for word in group}


def _stem(word: str) -> str:
    """Remove a regular ending from an English word."""
    for ending, rest in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)] + rest
    return word


def fold(word: str) -> str:
    """Replace an English word by the stem of the first word of its group of synonyms."""
    stem = _stem(word)
    return _synonym_stems().get(stem, stem)


def meaning_words(text: str, stop_words: frozenset[str] = STOP) -> dict[str, str]:
    """Map the stem of each content word in a text to the word; synonyms share a stem."""
    stems = {_stem(w): w for w in _WORD.findall(text.lower()) if w not in stop_words}
    return {
        _synonym_stems().get(stem, stem): w for stem, w in stems.items() if stem not in stop_words
    }


class RelationWords:
    """Words by which questions ask for the relations of a domain."""

    def __init__(self, domain: Domain) -> None:
        """Set the domain; the words of a relation are collected at its first use."""
        self.domain = domain
        self._ways: dict[str, list[frozenset[str]]] = {}

    def word_sets(self, relation: str) -> list[frozenset[str]]:
        """List the sets of word stems that ask for a relation; a question needs all of one set.

        They come from its label, the label's head, its clauses in the domain, and the words of
        input files for it.
        """
        key = relation_key(relation)
        if key not in self._ways:
            phrases = filter(None, (words.phrase(relation) for words in phrasings(self.domain)))
            head = _TAIL.split(relation)[0].split()[-1:]
            clauses = (clause for p in phrases for clause in (p.ask, p.many) if clause)
            texts = [
                relation,
                *head,
                *(_SLOT.sub(" ", clause) for clause in clauses),
                *(w for w, r in self.domain.relation_words.items() if relation_key(r) == key),
            ]
            ways = dict.fromkeys(frozenset(meaning_words(text)) for text in texts)
            telling = [w for w in ways if w - GENERIC or len(w) > _MOST_GENERIC]
            self._ways[key] = telling or [frozenset(meaning_words(relation, frozenset()))]
        return self._ways[key]
