"""Words for yes and no, by language."""

import re
import unicodedata
from collections.abc import Collection
from functools import cache, lru_cache
from pathlib import Path

from citeforge.engines.text.languages import language_probabilities
from citeforge.engines.text.words import find_words
from citeforge.engines.textfiles import read_yaml

_LEAST_PROBABILITY = 0.01
"""Probability from which a text may be in a language: relatives of one are easily confused."""
_KEPT_TEXTS = 1024
_NO_SPACES = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\u0e00-\u0e7f]")
"""Letters of Japanese, Chinese and Thai, which have no spaces between words."""


@cache
def _read_words() -> dict[str, list[list[str]]]:
    """Read ``data/polar.yaml``: language to [words for yes, words for no]."""
    return dict(read_yaml(Path(__file__).parent / "data" / "polar.yaml"))


@lru_cache(_KEPT_TEXTS)
def polar_words(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Get (words for yes, words for no) in the likely languages of a text.

    A word of one language means something else in others: ``nu`` is no in Romanian and now in
    Swedish. If none of the languages is listed, the words of all count.

    Args:
        text: a question with its statement.
    """
    shares = language_probabilities(text)
    known = _read_words()
    rows = [known[name] for name, share in shares.items()
            if share >= _LEAST_PROBABILITY and name in known]  # fmt: skip
    yes, no = (
        frozenset(word for row in rows or known.values() for word in row[n]) for n in range(2)
    )
    return yes - no, no - yes


def is_one(answer: str, words: Collection[str]) -> bool:
    """Whether an answer is exactly one of some words, in any case."""
    said = _list_words(answer)
    return len(said) == 1 and (said[0] in words or said[0] in set(map(_strip_accents, words)))


def starts_with_one(reply: str, words: Collection[str]) -> bool:
    """Whether a reply's first word is one of some words, in any case.

    In scripts without spaces the next word may follow at once. Without its accents a word may be
    another one (Italian si), so punctuation or the end has to follow it.
    """
    said = _list_words(reply)[:1]
    if not said or said[0] in words:
        return bool(said)
    if any(_NO_SPACES.match(word) and _starts(said[0], word) for word in words):
        return True
    rest = unicodedata.normalize("NFC", reply).lower().partition(said[0])[2].lstrip("_* ")
    is_alone = not rest or not rest[0].isalnum()
    return is_alone and said[0] in set(map(_strip_accents, words))


def _starts(text: str, word: str) -> bool:
    """Whether a text in a script without spaces starts with a word that no negation follows."""
    return text.startswith(word) and not text[len(word) :].startswith(("否", "不"))


def _strip_accents(word: str) -> str:
    """Remove the accents from a word in Latin letters."""
    letters = unicodedata.normalize("NFD", word)
    bare = "".join(c for c in letters if not unicodedata.combining(c))
    return bare if bare.isascii() else word


def _list_words(text: str) -> list[str]:
    """List the words of a text in lower case, without underscores around them."""
    words = (word.strip("_") for word in find_words(unicodedata.normalize("NFC", text).lower()))
    return list(filter(None, words))
