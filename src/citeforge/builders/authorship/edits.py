"""Words that a rewrite inserts or deletes where the words around them stayed.

Rewrites move phrases and exchange words. Words that the other text has nowhere, in a sentence in
which little else is new, are no other wording: they are added or lost.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from citeforge.builders.authorship.agreement import word_groups
from citeforge.builders.authorship.alignment import Alignment, Sentence, find_stems

_SMALL_WORDS = ("hedges", "connectives", "quantifiers")
"""Word groups whose words are compared by themselves: "a number of" is "many"."""
_LEAST_WORDS = 2
"""New content words of an insertion; fewer may only make a sentence flow."""
_NEW = 0.7
"""Least share of new words among its content words."""
_FREEDOM = 0.5
"""Weight of words that both sentences have without counterpart, for they replace each other."""


def find_insertions(alignment: Alignment, language: str) -> Iterator[str]:
    """Yield the words that a rewrite inserts into a sentence of its passage.

    Args:
        alignment: passage and rewrite.
        language: that of both texts.
    """
    for edit in alignment.edits:
        linked = alignment.sources_of(edit.after)
        sides = alignment.after, alignment.before
        if not _content(edit.old, language):
            yield from _find_new(edit.new, edit.after, sides, linked, language)


def find_deletions(alignment: Alignment, language: str) -> Iterator[str]:
    """Yield the words that a rewrite deletes from a sentence of its passage.

    Args:
        alignment: passage and rewrite.
        language: that of both texts.
    """
    for edit in alignment.edits:
        linked = alignment.twins_of(edit.before)
        sides = alignment.before, alignment.after
        if not _content(edit.new, language):
            yield from _find_new(edit.old, edit.before, sides, linked, language)


def _find_new(
    words: Sequence[str],
    index: int,
    sides: tuple[list[Sentence], list[Sentence]],
    linked: list[Sentence],
    language: str,
) -> Iterator[str]:
    """Yield words of a sentence, as one text, if most of them occur less often in the other text.

    Args:
        words: words of the sentence in a row.
        index: index of the sentence in its text.
        sides: sentences of its text, and of the other text.
        linked: sentences of the other text that match it.
        language: that of both texts.
    """
    here, there = (Counter(stem for s in side for stem in s.stems) for side in sides)
    stems = _content(words, language)
    if any(s[0].isdigit() for s in stems):
        return  # numbers are compared by themselves: "six years later" is a year
    new = {s for s in stems if here[s] > there[s]}
    if len(new) < _LEAST_WORDS or len(new) < _NEW * len(stems):
        return
    missing = {stem for s in linked for stem in s.stems if not here[stem]}
    others = {s for s in sides[0][index].stems if not there[s]} - stems
    replaced = min(len(missing), len(others))
    if len(new) - 1 > len(missing) - replaced + _FREEDOM * replaced:
        yield " ".join(words)


def _content(words: Sequence[str], language: str) -> frozenset[str]:
    """Find the stems of content words that are no hedge, connective or quantifier."""
    text = " ".join(words)
    for category in _SMALL_WORDS:
        for group in word_groups(language, category).values():
            text = group.strict.sub(" ", text)
    return find_stems(text)
