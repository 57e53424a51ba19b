"""Perplexity models: engines of ``--perplexity``.

The embedded model is interpolated trigrams with Witten-Bell smoothing, through nltk.lm.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from citeforge.engines.files import digest
from citeforge.engines.llm.replay import ReplayStore
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import RunOptions

_TOKEN = re.compile(r"\w+|[^\w\s]")
ORDER = 3


def tokenise(text: str) -> list[str]:
    """Split a text into words and punctuation marks, in lower case."""
    return _TOKEN.findall(text.lower())


class NgramModel:
    """N-gram model, trained on the first paragraphs of a data set."""

    def __init__(self, training: Iterable[str]) -> None:
        """Train the n-gram model on texts.

        Raises:
            InputError: no text to train on.
        """
        from nltk.lm import Vocabulary, WittenBellInterpolated
        from nltk.lm.preprocessing import padded_everygram_pipeline

        texts = list(training)
        tokens = [tokenise(t) for t in texts if t.strip()]
        if not tokens:
            raise InputError(
                "has no text to train on", path="--perplexity ngram", code="empty-text"
            )
        grams, words = padded_everygram_pipeline(ORDER, tokens)
        # With a cut-off of 1 nltk maps unseen words to <UNK>, which Witten-Bell gives a share.
        self._model: Any = WittenBellInterpolated(ORDER, vocabulary=Vocabulary(unk_cutoff=1))
        self._model.fit(grams, words)
        self._digest = digest(texts)
        self._log = lru_cache(maxsize=1 << 20)(self._log_probability)

    def identity(self) -> dict[str, Any]:
        """Describe the model for manifests: settings, version and digest of its training texts."""
        return {
            "name": "ngram",
            "order": ORDER,
            "smoothing": "Witten-Bell",
            "trained_on_sha256": self._digest,
            "nltk": version("nltk"),
        }

    def _log_probability(self, context: tuple[str, ...], word: str) -> float:
        """Compute the natural logarithm of a word's probability after the words of a context."""
        probability: float = self._model.score(word, context)
        # A word that was never seen keeps a uniform share of what is left.
        return math.log(max(probability, 1.0 / (len(self._model.vocab) + 1) ** 2))

    def compute(self, texts: Sequence[str]) -> list[float]:
        """Compute the perplexity of each text; infinite for a text without words."""
        return [self._perplexity(tokenise(t)) for t in texts]

    def _perplexity(self, tokens: list[str]) -> float:
        """Compute the perplexity of a text from its tokens; infinite if it has none."""
        if not tokens:
            return math.inf
        words = [t if t in self._model.vocab else "<UNK>" for t in tokens]
        padded = ["<s>"] * (ORDER - 1) + words
        total = math.fsum(
            self._log(tuple(padded[i : i + ORDER - 1]), padded[i + ORDER - 1])
            for i in range(len(words))
        )
        return math.exp(-total / len(words))


class Perplexity(Protocol):
    """Computes exp of the mean negative log probability of a text's tokens."""

    def identity(self) -> dict[str, Any]:
        """Describe the model for manifests: name and settings."""
        ...

    def compute(self, texts: Sequence[str]) -> list[float]:
        """Compute the perplexity of each text, above 0."""
        ...


@dataclass(frozen=True)
class PerplexitySettings:
    """Settings of a perplexity model, besides its argument; ``training`` is for n-grams only."""

    training: Iterable[str]
    device: str = "auto"
    revision: str | None = None
    options: RunOptions = field(default_factory=RunOptions)
    store: ReplayStore | None = None


def perplexity_name(name: str) -> str:
    """Get a perplexity model's name for manifests; ``hf:`` names lose folder and owner."""
    maker, _, model = name.partition(":")
    return f"hf:{Path(model).name}" if maker == "hf" else name
