"""Names that a rewrite exchanges: each of two is where, or among the words where, the other was."""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, combinations

from citeforge.builders.authorship.alignment import Alignment, carries_meaning, split_sentences
from citeforge.builders.authorship.facts import is_month, is_roman_number, number_words, with_digits
from citeforge.builders.authorship.wording import stem

_WINDOW = 7
"""Words before and behind a name, in its sentence, that tell what is said of it."""
_MARGIN = 1
"""Words that two names may have in common with each other by chance."""
_TOKEN = re.compile(r"[^\W_]+(?:[’'-][^\W_]+)*")
_MARKS = ",;:()"
_PART = re.compile(rf"{_TOKEN.pattern}|[{_MARKS}]")
_POSSESSION = re.compile(r"['’]s$|(?<=s)['’]$")
_NAME = "\0"
"""What stands for every name where the words around names are compared."""
_JOINED = {",", "and", "or", "&", "(", ")", "the"}
"""Tokens between names of a list, whose order says nothing."""
_LEAST_RUN = 3
"""Tokens in a row, a name among them, that show one place of a sentence in both texts."""
_SURE = 3
"""Tokens on each side of a name that show its place beyond doubt."""
_ABBREVIATED = re.compile(
    r"((?:[A-Z][\w’'-]*(?: (?:and|of|for|the|&))*\s+){1,6})\(([A-Z]{2,8})s?\)"
)
"""A name of several words and its abbreviation."""


def find_name_faults(alignment: Alignment, human: str, twin: str) -> Iterator[str]:
    """Describe names that a rewrite exchanges, replaces by others of its passage, or garbles."""
    yield from find_exchanged_names(human, twin)
    yield from find_names_in_place(alignment)
    yield from find_exchanged_abbreviations(human, twin)
    yield from find_repeated_names(alignment)


def find_exchanged_names(human: str, twin: str) -> Iterator[str]:
    """Describe pairs of names of which a rewrite says what the passage says of the other.

    Two names are exchanged if each of them is, in the rewrite, among words that surround only the
    other one in the passage, and these are more than the words that stayed,
    by a margin.
    """
    texts = [[_split_words(s.text) for s in split_sentences(text)] for text in (human, twin)]
    names = _find_names(chain.from_iterable(texts))
    before, after = (_find_surroundings(sentences, names) for sentences in texts)
    for a, b in combinations(sorted(before.keys() & after.keys()), 2):
        old_a, old_b = before[a] - before[b], before[b] - before[a]
        new_a, new_b = after[a] - after[b], after[b] - after[a]
        moved = len(old_a & new_b), len(old_b & new_a)
        if all(moved) and sum(moved) > len(old_a & new_a) + len(old_b & new_b) + _MARGIN:
            yield f"{a!r} and {b!r} exchanged"


def _find_surroundings(sentences: Iterable[Sequence[str]], names: set[str]) -> dict[str, set[str]]:
    """Map each word of a name in a text to the stems of content words, not names, near it."""
    numbers, found = number_words(), dict[str, set[str]]()
    for words in sentences:
        at = [i for i, w in enumerate(words) if w not in names and w[0] not in _MARKS]
        for index, word in enumerate(words):
            if word in names and len(word) > 1:
                n = bisect(at, index)
                near = (words[i].lower() for i in at[max(0, n - _WINDOW) : n + _WINDOW])
                found.setdefault(word, set()).update(
                    stem(numbers.get(w, w)) for w in near if w[0].isdigit() or carries_meaning(w)
                )
    return found


def _split_words(text: str) -> list[str]:
    """Split a sentence into words, without endings of possession, and marks between names."""
    return [_POSSESSION.sub("", word) for word in _PART.findall(with_digits(text))]


def _find_names(sentences: Iterable[Sequence[str]]) -> set[str]:
    """Find the words of names: with a capital, not first in a sentence, and no month."""
    return {
        w for words in sentences for w in words[1:]
        if w[0].isupper() and not is_month(w) and not is_roman_number(w)
    }  # fmt: skip


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
    """Describe pairs of names, each between the words that surround the other in the passage.

    Where many words around a name stayed, one of the two is enough. Names of one list ("A, B and
    C") are one: their order says nothing.

    Args:
        alignment: passage and rewrite.
    """
    sides = [[_split_words(s.text) for s in side] for side in (alignment.before, alignment.after)]
    names = _find_names(chain.from_iterable(sides))
    before, after = ([_join_names(words, names) for words in side] for side in sides)
    known = {name for words in before for token in words for name in token.names}
    replaced = dict[tuple[frozenset[str], frozenset[str]], int]()
    sure = list[tuple[frozenset[str], frozenset[str]]]()
    for i, j in sorted(alignment.links):
        for old, new, size, is_sure in _compare_places(before[i], after[j]):
            change = old - new, new - old
            if all(change):  # else one of them is the other's short form
                replaced[change] = max(size, replaced.get(change, 0))
                if is_sure and not old & new and new <= known:
                    sure.append(change)
    exchanged = False
    for (old, new), size in replaced.items():
        back = max((n for (a, b), n in replaced.items() if a & new and b & old), default=0)
        if min(size, back) > 1 and max(size, back) >= _LEAST_RUN and sorted(old) < sorted(new):
            exchanged = True
            yield f"{' '.join(sorted(old))!r} and {' '.join(sorted(new))!r} exchanged"
    for old, new in () if exchanged else sure:
        yield f"{' '.join(sorted(old))!r} became {' '.join(sorted(new))!r}"


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
) -> Iterator[tuple[frozenset[str], frozenset[str], int, bool]]:
    """Yield (name, name at its place in the rewrite, length of the equal run, whether certain)."""
    keys = [t.key for t in before], [t.key for t in after]
    for run in SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks():
        if not any(map(_is_telling, keys[0][run.a : run.a + run.size])):
            continue
        for k in range(run.size):
            if names := before[run.a + k].names:
                is_sure = min(k, run.size - 1 - k) >= _SURE
                yield names, after[run.b + k].names, run.size, is_sure


def _is_telling(key: str) -> bool:
    """Whether a token's key is the stem of a content word, not a name or a word like "of"."""
    return key != _NAME and carries_meaning(key)


def find_exchanged_abbreviations(human: str, twin: str) -> Iterator[str]:
    """Describe abbreviations of a name that a rewrite puts behind another name."""
    before, after = (
        {m[2]: m[1].split() for m in _ABBREVIATED.finditer(text)} for text in (human, twin)
    )
    for short in sorted(before.keys() & after.keys()):
        name = [word for word in before[short] if word[0] in short]
        if name and not {*name} & {*after[short]}:
            yield f"{short!r} is of {' '.join(before[short])!r}, not {' '.join(after[short])!r}"


def find_repeated_names(alignment: Alignment) -> Iterator[str]:
    """Describe words that a rewrite repeats within one name: "Julius Baer Julius"."""
    sides = [[_split_words(s.text) for s in side] for side in (alignment.before, alignment.after)]
    names = _find_names(chain.from_iterable(sides))
    known, new = ({w for words in side for w in _repeated(words, names)} for side in sides)
    yield from (f"{word!r} twice in one name" for word in sorted(new - known))


def _repeated(words: Iterable[str], names: set[str]) -> Iterator[str]:
    """Yield the words that are in a run of words of names twice."""
    run = set[str]()
    for word in words:
        if word in run:
            yield word
        run = run | {word} if word in names else set()
