"""Second opinion of an embedder on sentences and clauses without a match."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from citeforge.engines.models.embedder import Embedder, Refinable

_DIGITS = 4
"""Decimals of cosines; in float64 each digit is that of exact arithmetic."""


class SentenceVectors:
    """Vectors of sentences and clauses, each computed once.

    Attributes:
        embedder: what computes them.
    """

    def __init__(self, embedder: Embedder) -> None:
        """Set the embedder of sentences, in float64 if it can, so that all processors agree."""
        self.embedder = embedder.at("fp64") if isinstance(embedder, Refinable) else embedder
        self._vectors: dict[str, npt.NDArray[np.float64]] = {}

    def add(self, texts: Iterable[str]) -> None:
        """Embed and cache the texts that have no vector yet, in one call."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            vectors = self.embedder.encode(new, "passage").astype(np.float64)
            self._vectors.update(zip(new, vectors, strict=True))

    def find_nearest(self, texts: Sequence[str], others: Sequence[str]) -> list[float]:
        """Compute, for each text, the highest cosine to any of some others; -1 without others."""
        self.add([*texts, *others])
        rows = [self._vectors[other] for other in others]
        return [
            round(max((float(row @ self._vectors[text]) for row in rows), default=-1.0), _DIGITS)
            for text in texts
        ]
