"""Variety of texts of one kind, such as questions: openers, repeated runs, distinct pairs."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citeforge.engines.shown import show_percent
from citeforge.engines.text.words import find_words
from citeforge.schemas.counts import count_key

OPENER = 3
"""Words of an opener."""
_RUN = 4
"""Words of a run whose repetition counts (Salkar et al. 2022: runs of four words or longer)."""


@dataclass(frozen=True)
class Variety:
    """Variety of some texts; letter case and punctuation are no difference.

    Attributes:
        n_texts: number of texts.
        n_openers: number of distinct openers (first three words).
        commonest: the most common opener; the first in the alphabet of several.
        n_commonest: number of texts that begin with it.
        self_repetition: share of the runs of four words that occur in more than one text; a run
            counts once per text.
        distinct_2: distinct pairs of neighbouring words per pair (Li et al. 2016); it falls as
            texts are added, so that only sets of about one size compare.
    """

    n_texts: int
    n_openers: int
    commonest: str
    n_commonest: int
    self_repetition: float
    distinct_2: float

    @property
    def commonest_share(self) -> float:
        """Share of the texts that begin with the most common opener."""
        return self.n_commonest / max(self.n_texts, 1)


def words_of(text: str) -> list[str]:
    """List the words of a text in lower case."""
    return find_words(text.lower())


def find_opener(text: str) -> str:
    """Get the first three words of a text, in lower case."""
    return " ".join(words_of(text)[:OPENER])


def word_runs(text: str, width: int = _RUN) -> list[tuple[str, ...]]:
    """List the word n-grams of a text, of ``width`` words each, in their order."""
    words = words_of(text)
    return list(zip(*(words[i:] for i in range(width)), strict=False))


def measure_variety(texts: Sequence[str]) -> Variety:
    """Measure how varied texts are: openers, repeated word runs and distinct bigrams.

    Without texts all figures are 0.
    """
    openers = Counter(map(find_opener, texts))
    commonest = min(openers, key=lambda opener: (-openers[opener], opener), default="")
    runs = Counter(run for text in texts for run in {*word_runs(text)})
    repeated = sum(n for n in runs.values() if n > 1)
    pairs = Counter(pair for text in texts for pair in word_runs(text, 2))
    return Variety(
        n_texts=len(texts),
        n_openers=len(openers),
        commonest=commonest,
        n_commonest=openers[commonest],
        self_repetition=repeated / max(runs.total(), 1),
        distinct_2=len(pairs) / max(pairs.total(), 1),
    )


def variety_stats(noun: str, texts: Iterable[str]) -> dict[str, int | float | str]:
    """Make statistics of how varied texts are, with the plural noun for them in the names.

    Returns:
        Keys of ``stats.json`` to values.
    """
    found = measure_variety(list(texts))
    share = show_percent(found.commonest_share, 1)
    return {
        count_key("distinct_openers", noun): found.n_openers,
        count_key("commonest_opener", noun):
            f"{found.n_commonest:,} of {found.n_texts:,} ({share}): {found.commonest}",
        count_key("self_repetition", noun): round(found.self_repetition, 4),
        count_key("distinct_2", noun): round(found.distinct_2, 4),
    }  # fmt: skip
