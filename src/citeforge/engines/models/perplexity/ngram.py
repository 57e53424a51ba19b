"""The embedded model: interpolated trigrams with Witten-Bell smoothing, through nltk.lm."""

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from citeforge.engines.io.files import digest
from citeforge.schemas.errors import InputError

_TOKEN = re.compile(r"\w+|[^\w\s]")
ORDER = 3


def tokens_of(text: str) -> list[str]:
    """Lower-case words and punctuation marks."""
    return _TOKEN.findall(text.lower())


class NgramModel:
    """Trained on the paragraphs that a data set begins with."""

    def __init__(self, training: Iterable[str]) -> None:
        """Train.

        Raises:
            InputError: no text to train on.
        """
        from nltk.lm import Vocabulary, WittenBellInterpolated
        from nltk.lm.preprocessing import padded_everygram_pipeline

        texts = list(training)
        tokens = [tokens_of(t) for t in texts if t.strip()]
        if not tokens:
            raise InputError("has no text to train on", path="--perplexity ngram")
        grams, words = padded_everygram_pipeline(ORDER, tokens)
        # With a cut-off of 1 nltk maps unseen words to <UNK>, which Witten-Bell gives a share.
        self._model: Any = WittenBellInterpolated(ORDER, vocabulary=Vocabulary(unk_cutoff=1))
        self._model.fit(grams, words)
        self._digest = digest(texts)
        self._log = lru_cache(maxsize=1 << 20)(self._score)

    def identity(self) -> dict[str, Any]:
        return {
            "name": "ngram",
            "order": ORDER,
            "smoothing": "Witten-Bell",
            "trained_on_sha256": self._digest,
            "nltk": version("nltk"),
        }

    def _score(self, context: tuple[str, ...], word: str) -> float:
        probability: float = self._model.score(word, context)
        # A word that was never seen keeps a uniform share of what is left.
        return math.log(max(probability, 1.0 / (len(self._model.vocab) + 1) ** 2))

    def of(self, texts: Sequence[str]) -> list[float]:
        return [self._perplexity(tokens_of(t)) for t in texts]

    def _perplexity(self, tokens: list[str]) -> float:
        if not tokens:
            return math.inf
        words = [t if t in self._model.vocab else "<UNK>" for t in tokens]
        padded = ["<s>"] * (ORDER - 1) + words
        total = math.fsum(
            self._log(tuple(padded[i : i + ORDER - 1]), padded[i + ORDER - 1])
            for i in range(len(words))
        )
        return math.exp(-total / len(words))
