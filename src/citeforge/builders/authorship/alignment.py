"""Matching of the sentences of a passage and of its rewrite by the words that they share."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from citeforge.builders.authorship.facts import number_words, with_digits
from citeforge.builders.authorship.wording import is_content, split_tokens, stem, word_lists
from citeforge.engines.text.sentences import SentenceSegmenter

_SEGMENTER = SentenceSegmenter()


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
