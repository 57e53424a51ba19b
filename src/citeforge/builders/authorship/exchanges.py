"""Names that a rewrite exchanges: each of two is where, or among the words where, the other was."""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, combinations

from citeforge.builders.authorship.alignment import Alignment, carries_meaning, split_sentences
from citeforge.builders.authorship.facts import is_month, number_words, with_digits
from citeforge.builders.authorship.wording import stem

_WINDOW = 7
"""Words before and behind a name, in its sentence, that tell what is said of it."""
_MARGIN = 1
"""Words that two names may have in common with each other by chance."""
_TOKEN = re.compile(r"[^\W_]+(?:[’'-][^\W_]+)*")
_PART = re.compile(rf"{_TOKEN.pattern}|[,;:()]")
_NAME = "\0"
"""What stands for every name where the words around names are compared."""
_JOINED = {",", "and", "or", "&", "(", ")", "the"}
"""Tokens between names of a list, whose order says nothing."""
_LEAST_RUN = 3
"""Tokens in a row, a name among them, that show one place of a sentence in both texts."""


def find_exchanged_names(human: str, twin: str) -> Iterator[str]:
    """Yield "A and B" where a rewrite says of name A what the passage says of B, and vice versa.

    Two names are exchanged if each of them is, in the rewrite, among words that surround only the
    other one in the passage, and these are more than the words that stayed,
    by a margin.
    """
    before, after = _find_surroundings(human), _find_surroundings(twin)
    for a, b in combinations(sorted(before.keys() & after.keys()), 2):
        old_a, old_b = before[a] - before[b], before[b] - before[a]
        new_a, new_b = after[a] - after[b], after[b] - after[a]
        moved = len(old_a & new_b), len(old_b & new_a)
        if all(moved) and sum(moved) > len(old_a & new_a) + len(old_b & new_b) + _MARGIN:
            yield f"{a!r} and {b!r}"


def _find_surroundings(text: str) -> dict[str, set[str]]:
    """Map each word of a name in a text to the stems of content words, not names, near it."""
    sentences = [_TOKEN.findall(with_digits(s.text)) for s in split_sentences(text)]
    names = _find_names(sentences)
    numbers, found = number_words(), dict[str, set[str]]()
    for words in sentences:
        at = [i for i, w in enumerate(words) if w not in names]
        for index, word in enumerate(words):
            if word in names and len(word) > 1:
                n = bisect(at, index)
                near = (words[i].lower() for i in at[max(0, n - _WINDOW) : n + _WINDOW])
                found.setdefault(word, set()).update(
                    stem(numbers.get(w, w)) for w in near if w[0].isdigit() or carries_meaning(w)
                )
    return found


def _find_names(sentences: Iterable[Sequence[str]]) -> set[str]:
    """Find the words of names: with a capital, not first in a sentence, and no month."""
    return {w for words in sentences for w in words[1:] if w[0].isupper() and not is_month(w)}


@dataclass(frozen=True)
class _Token:
    """A word of a sentence, or a name, or a list of names.

    Attributes:
        key: stem of the word, punctuation mark, or ``_NAME``.
        names: words of the names; empty for what is no name.
    """

    key: str
    names: frozenset[str] = frozenset()


def find_names_in_place(alignment: Alignment) -> Iterator[str]:
    """Yield "A and B" where name B is between the same words as A in the passage, and vice versa.

    Names of one list ("A, B and C") are one: their order says nothing.

    Args:
        alignment: passage and rewrite.
    """
    sides = [[_PART.findall(s.text) for s in side] for side in (alignment.before, alignment.after)]
    names = _find_names(chain.from_iterable(sides))
    before, after = ([_join_names(words, names) for words in side] for side in sides)
    replaced = dict[tuple[frozenset[str], frozenset[str]], int]()
    for i, j in sorted(alignment.links):
        for old, new, size in _compare_places(before[i], after[j]):
            change = old - new, new - old
            if all(change):  # else one of them is the other's short form
                replaced[change] = max(size, replaced.get(change, 0))
    for (old, new), size in replaced.items():
        back = max((n for (a, b), n in replaced.items() if a & new and b & old), default=0)
        if min(size, back) > 1 and max(size, back) >= _LEAST_RUN and sorted(old) < sorted(new):
            yield f"{' '.join(sorted(old))!r} and {' '.join(sorted(new))!r}"


def _join_names(words: Iterable[str], names: set[str]) -> list[_Token]:
    """Make tokens of a sentence's words; the words of a name, or of a list of names, are one."""
    tokens: list[_Token] = []
    for word in words:
        token = _Token(_NAME, frozenset({word})) if word in names else _Token(stem(word.lower()))
        if token.names and tokens and tokens[-1].names:
            tokens[-1] = _Token(_NAME, tokens[-1].names | token.names)
        else:
            tokens.append(token)
    joined: list[_Token] = []
    for token in tokens:
        tail = next((n for n, t in enumerate(reversed(joined)) if t.key not in _JOINED), None)
        if token.names and tail is not None and joined[-1 - tail].names:
            at = len(joined) - 1 - tail
            joined[at:] = [_Token(_NAME, joined[at].names | token.names)]
        else:
            joined.append(token)
    return joined


def _compare_places(
    before: Sequence[_Token], after: Sequence[_Token]
) -> Iterator[tuple[frozenset[str], frozenset[str], int]]:
    """Yield (name in the passage, name at its place in the rewrite, tokens in the equal run)."""
    keys = [t.key for t in before], [t.key for t in after]
    for run in SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks():
        for k in range(run.size):
            if names := before[run.a + k].names:
                yield names, after[run.b + k].names, run.size
