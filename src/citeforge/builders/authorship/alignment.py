"""Matching of the sentences of a passage and of its rewrite by the words that they share."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from citeforge.builders.authorship.facts import number_words, with_digits
from citeforge.builders.authorship.wording import is_content, split_tokens, stem, word_lists
from citeforge.engines.text.sentences import SentenceSegmenter

_SEGMENTER = SentenceSegmenter()
_WORD = re.compile(r"[^\W_]+(?:[’'-][^\W_]+)*")
_AROUND = 3
"""Words that have to stay on each side of those that a rewrite inserts, deletes or replaces."""
_EDGE = 4
"""The same where the sentence begins or ends on the other side."""
_KEPT = 0.6
"""Least share of words of the shorter sentence that the other one has in the same order."""


@dataclass(frozen=True)
class Sentence:
    """A sentence, and the stems of its content words and numbers.

    Attributes:
        text: the sentence as it is written.
        stems: its content words, cut to their stems, and its numbers in digits.
    """

    text: str
    stems: frozenset[str]


def split_sentences(text: str) -> list[Sentence]:
    """Split a text into sentences with at least one content word."""
    sentences = (make_sentence(text[start:end]) for start, end in _SEGMENTER.split(text))
    return [s for s in sentences if s.stems]


def make_sentence(text: str) -> Sentence:
    """Make a sentence (text and stems of its content words) from its text."""
    return Sentence(text, find_stems(text))


def find_stems(text: str) -> frozenset[str]:
    """Find the stems of the content words in a text; numbers are converted to digits."""
    numbers = {**number_words(), "one": "one"}  # "the closer one"
    tokens = (numbers.get(t, t) for t in split_tokens(with_digits(text).lower()))
    return frozenset(
        t if t[0].isdigit() else stem(t) for t in tokens if t.isdigit() or carries_meaning(t)
    )


def carries_meaning(word: str) -> bool:
    """Whether a word is a content word, and not one of grammar or degree ("very")."""
    return is_content(word) and word not in word_lists().function


@dataclass(frozen=True)
class Edit:
    """What a rewrite inserts, deletes or replaces between words that stay in their order.

    Attributes:
        before: index of the sentence in the passage.
        after: index of the sentence in the rewrite.
        old: words of the passage; none for an insertion.
        new: words of the rewrite; none for a deletion.
    """

    before: int
    after: int
    old: tuple[str, ...]
    new: tuple[str, ...]


class Alignment:
    """Sentences of a passage and of its rewrite, and which of them say the same.

    Two sentences match if one has no other that it shares more words with. Words count by their
    rarity: a name in every sentence tells nothing.

    Attributes:
        before: sentences of the passage.
        after: sentences of the rewrite.
    """

    def __init__(self, human: str, twin: str) -> None:
        """Split a passage and its rewrite into sentences, to be matched by shared words."""
        self.before, self.after = split_sentences(human), split_sentences(twin)

    @cached_property
    def _weights(self) -> dict[str, float]:
        """Weight of each word stem: 1 / number of sentences with it, in the text with more."""
        counts = [Counter(w for s in side for w in s.stems) for side in (self.before, self.after)]
        return {w: 1 / max(c[w] for c in counts) for c in counts for w in c}

    @cached_property
    def links(self) -> frozenset[tuple[int, int]]:
        """Pairs (index in the passage, index in the rewrite) of sentences that match."""
        shared = {
            (i, j): sum(self._weights[w] for w in sorted(a.stems & b.stems))
            for i, a in enumerate(self.before)
            for j, b in enumerate(self.after)
        }
        best: list[dict[int, float]] = [{}, {}]
        for pair, weight in shared.items():
            for side, index in enumerate(pair):
                best[side][index] = max(weight, best[side].get(index, 0))
        return frozenset(
            pair
            for pair, weight in shared.items()
            if weight > 0 and any(weight >= best[side][pair[side]] - 1e-9 for side in (0, 1))
        )

    def twins_of(self, index: int) -> list[Sentence]:
        """List the sentences of the rewrite that match the passage's sentence at an index."""
        return [self.after[j] for i, j in sorted(self.links) if i == index]

    def sources_of(self, index: int) -> list[Sentence]:
        """List the sentences of the passage that match the rewrite's sentence at an index."""
        return [self.before[i] for i, j in sorted(self.links) if j == index]

    @cached_property
    def edits(self) -> list[Edit]:
        """Insertions, deletions and replacements from passage to rewrite, in matching sentences."""
        return [edit for i, j in sorted(self.links) for edit in self._compare(i, j)]

    def _compare(self, before: int, after: int) -> Iterator[Edit]:
        """Yield the edits by which a sentence of the passage becomes one of the rewrite."""
        old, new = (_WORD.findall(with_digits(s.text))
                    for s in (self.before[before], self.after[after]))  # fmt: skip
        matcher = SequenceMatcher(
            None, [w.lower() for w in old], [w.lower() for w in new], autojunk=False
        )
        kept = sum(block.size for block in matcher.get_matching_blocks())
        steps = matcher.get_opcodes() if kept >= _KEPT * min(len(old), len(new)) else []
        for n, (operation, a, b, c, d) in enumerate(steps):
            near = steps[max(0, n - 1) : n + 2]
            around = [end - start for name, start, end, *_ in near if name == "equal"]
            least = _AROUND if len(around) == 2 else _EDGE
            if operation != "equal" and around and min(around) >= least:
                yield Edit(before, after, tuple(old[a:b]), tuple(new[c:d]))
