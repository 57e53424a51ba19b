"""Names that a rewrite exchanges: each of two stands among the words of the other."""

import re
from bisect import bisect
from collections.abc import Iterator
from itertools import combinations

from citeforge.builders.authorship.alignment import carries_meaning, split_sentences
from citeforge.builders.authorship.facts import is_month, number_words, with_digits
from citeforge.builders.authorship.wording import stem

_WINDOW = 7
"""Words before and behind a name, in its sentence, that tell what is said of it."""
_MARGIN = 1
"""Words that two names may have in common with each other by chance."""
_TOKEN = re.compile(r"[^\W_]+(?:[’'-][^\W_]+)*")


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
    """Map each word of a name in a text to the stems of the content words near it."""
    sentences = [_TOKEN.findall(with_digits(s.text)) for s in split_sentences(text)]
    names = {w for words in sentences for w in words[1:] if w[0].isupper() and not is_month(w)}
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
