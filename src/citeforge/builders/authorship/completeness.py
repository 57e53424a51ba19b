"""Sentences and clauses that a rewrite lost, or that it added.

Other words for the same replace each other: a text then lacks about as many words of the passage
as it has new ones. Where a sentence or clause is gone, or new, the words of one side are in excess.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from citeforge.builders.authorship.agreement import compile_words, read_words
from citeforge.builders.authorship.alignment import Alignment, Sentence, make_sentence
from citeforge.builders.authorship.edits import find_deletions, find_insertions, find_new_clauses
from citeforge.builders.authorship.meaning import SentenceVectors

_PUNCTUATION = r"[,:](?!\d)|[;()—]|\s[–-]\s"
_LEAST_WORDS = 2
"""Content words of a clause; shorter ones are not looked at."""


@dataclass(frozen=True)
class _Limits:
    """When a piece of one text counts as missing from the other.

    Attributes:
        matched: largest share of its words that the other text has.
        unmatched: fewest words of it that the other text lacks.
        excess: share of these by which the unmatched words of its text outnumber the other's.
        freedom: share of the unmatched words of both texts that the excess has to have more, for
            free rewrites explain more than the passage does.
    """

    matched: float
    unmatched: int
    excess: float
    freedom: float


# Set on rewrites of tests/builders/authorship and of benchmarks/twins.py: see docs/authorship.md.
_LOST = _Limits(matched=0.67, unmatched=2, excess=0.75, freedom=0.3)
_ADDED_SENTENCE = _Limits(matched=0.34, unmatched=2, excess=0.5, freedom=0.5)
_ADDED_CLAUSE = _Limits(matched=0.0, unmatched=2, excess=0.75, freedom=0.9)
_FREE = 2
"""Unmatched words per word in excess, from which on a text says the same in other words."""
_OTHER = 0.45
"""Cosine below which a sentence says nothing that the other text says."""
_SAME = 0.5
"""Cosine from which a sentence or clause says what a part of the other text says."""


def find_lost(
    alignment: Alignment, language: str, vectors: SentenceVectors | None = None
) -> list[str]:
    """List a passage's sentences and clauses that its rewrite lacks, by words and ``vectors``.

    Args:
        alignment: passage and rewrite.
        language: that of the passage.
        vectors: second opinion on what words match, if there is one.
    """
    clauses = _find_unmatched(alignment, 0, _clauses(alignment.before, language), _LOST)
    lost = _correct_by_cosines(alignment, 0, clauses, language, vectors)
    return lost or list(find_deletions(alignment, language))


def find_added(
    alignment: Alignment, language: str, vectors: SentenceVectors | None = None
) -> list[str]:
    """List the sentences and clauses that a rewrite adds, by words and, if given, ``vectors``."""
    added = _find_unmatched(alignment, 1, alignment.after, _ADDED_SENTENCE)
    if not added:
        clauses = _clauses(alignment.after, language)
        added = _find_unmatched(alignment, 1, clauses, _ADDED_CLAUSE)
    added = _correct_by_cosines(alignment, 1, added, language, vectors)
    added = added or list(find_insertions(alignment, language))
    return added or list(find_new_clauses(alignment, language))


def _correct_by_cosines(
    alignment: Alignment,
    side: int,
    unmatched: list[str],
    language: str,
    vectors: SentenceVectors | None,
) -> list[str]:
    """Correct the list of one text's unmatched sentences and clauses by cosines to the other.

    Args:
        alignment: passage and rewrite.
        side: 0 for pieces of the passage, 1 for those of the rewrite.
        unmatched: pieces without a match by their words.
        language: that of both texts.
        vectors: vectors of sentences; None for no second opinion.
    """
    if vectors is None:
        return unmatched
    sentences = (alignment.before, alignment.after)
    texts = [[s.text for s in own] for own in sentences]
    whole = texts[1 - side] + [" ".join(two) for two in pairwise(texts[1 - side])]
    cosines = vectors.find_nearest(texts[side], whole)
    there = frozenset[str]().union(*(s.stems for s in sentences[1 - side]))
    new = [
        s.text
        for s, cosine in zip(sentences[side], cosines, strict=True)
        if cosine < _OTHER and 2 * len(s.stems & there) < len(s.stems)
    ]
    if unmatched:
        parts = [c.text for c in _clauses(sentences[1 - side], language)]
        nearest = vectors.find_nearest(unmatched, whole + parts)
        unmatched = [t for t, c in zip(unmatched, nearest, strict=True) if c < _SAME]
    return list(dict.fromkeys([*new, *unmatched]))


def _clauses(sentences: list[Sentence], language: str) -> list[Sentence]:
    """Split sentences into clauses, at punctuation and at words such as "which"."""
    words = read_words(language, "clauses", "words")
    boundary = re.compile(f"{_PUNCTUATION}|{compile_words(words).pattern}", re.IGNORECASE)
    parts = (make_sentence(p.strip()) for s in sentences for p in boundary.split(s.text))
    return [part for part in parts if len(part.stems) >= _LEAST_WORDS]


def _find_unmatched(
    alignment: Alignment, side: int, pieces: list[Sentence], limits: _Limits
) -> list[str]:
    """List sentences or clauses of one text (``side``) whose content words the other lacks.

    Args:
        alignment: passage and rewrite.
        side: 0 for pieces of the passage, 1 for those of the rewrite.
        pieces: sentences or clauses.
        limits: when a piece counts as missing.
    """
    stems = [frozenset[str]().union(*(s.stems for s in sentences))
             for sentences in (alignment.before, alignment.after)]  # fmt: skip
    own, other = stems[side], stems[1 - side]
    n_own, n_other = len(own - other), len(other - own)
    excess = n_own - n_other - limits.freedom * min(n_own, n_other)
    unmatched: dict[str, int] = {}
    for piece in pieces:
        n_unmatched = len(piece.stems - other)
        is_matched = len(piece.stems & other) > limits.matched * len(piece.stems)
        is_long = n_unmatched >= limits.unmatched
        if is_long and not is_matched and excess >= limits.excess * n_unmatched:
            unmatched[piece.text] = n_unmatched
    # Where far more words are unmatched than one text has in excess, other words replace them.
    return list(unmatched) if sum(unmatched.values()) <= _FREE * excess else []
