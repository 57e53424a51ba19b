"""The second stage of retrieval without a model that reads query and passage together."""

from __future__ import annotations

from typing import Any

import numpy as np

from citeforge.engines.embedding.embedder import Embedder
from citeforge.engines.retrieval.reranker import Pairs


class EmbeddingReranker:
    """Cosines of an embedder, for where no cross-encoder is at hand; it reads query and passage
    apart, and identities say so."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def identity(self) -> dict[str, Any]:
        """The embedder's."""
        return {**self._embedder.fingerprint(), "kind": "embedder, no cross-encoder"}

    def scores(self, pairs: Pairs) -> list[float]:
        """Cosines in [-1, 1], computed in float64."""
        if not pairs:
            return []
        query_rows = {text: row for row, text in enumerate(dict.fromkeys(q for q, _ in pairs))}
        passage_rows = {text: row for row, text in enumerate(dict.fromkeys(p for _, p in pairs))}
        queries = self._embedder.encode(list(query_rows), "query").astype(np.float64)
        passages = self._embedder.encode(list(passage_rows), "passage").astype(np.float64)
        left = queries[[query_rows[q] for q, _ in pairs]]
        right = passages[[passage_rows[p] for _, p in pairs]]
        values: list[float] = (left * right).sum(axis=1).tolist()
        return values
