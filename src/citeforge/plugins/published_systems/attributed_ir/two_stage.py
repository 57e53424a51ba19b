"""Two-stage retrieval: many passages from a fast retriever, put in order by a model that reads them
(Attributed-IR, section 2.3: BM25, then monoT5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from citeforge.engines.embedding.embedder import Embedder
from citeforge.engines.retrieval.records import DEPTH, Rankings, Retriever, ranked
from citeforge.engines.retrieval.reranker import Pairs, Reranker
from citeforge.plugins.published_systems.attributed_ir.fusion import Scorer, ordered

TextsOf = Callable[[Sequence[str]], Sequence[str]]
"""Passage ids to what a reranker reads of them, in order."""


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


def scorer_of(model: Reranker, query: str, texts_of: TextsOf) -> Scorer:
    """What scores passages by their ids for one query, to 6 decimals."""

    def score(ids: Sequence[str]) -> list[float]:
        pairs = [(query, text) for text in texts_of(ids)]
        return [round(s, 6) + 0.0 for s in model.scores(pairs)]

    return score


class TwoStage:
    """A retriever whose passages a reranker puts in order."""

    def __init__(
        self, first: Retriever, second: Reranker, texts_of: TextsOf, reranked: int = DEPTH
    ) -> None:
        """Join the two.

        Args:
            first: nominates passages.
            second: scores each of them.
            texts_of: what the second reads.
            reranked: passages of a query that it reads.
        """
        self.first, self.second, self._texts_of = first, second, texts_of
        self.reranked = reranked

    def identity(self) -> dict[str, Any]:
        """Both identities, and how many passages go from one to the other."""
        return {
            "name": "two-stage",
            "first": self.first.identity(),
            "second": self.second.identity(),
            "reranked": self.reranked,
        }

    def rank(self, queries: Mapping[str, str], depth: int = DEPTH) -> Rankings:
        """Passages of the first stage by their scores in the second, to 6 decimals; ties by id."""
        nominated = self.first.rank(queries, self.reranked)
        return {
            query: ranked(query, self._scored(text, [r.docid for r in nominated[query]])[:depth])
            for query, text in queries.items()
        }

    def _scored(self, query: str, ids: Sequence[str]) -> list[tuple[str, float]]:
        scores = scorer_of(self.second, query, self._texts_of)(ids)
        return ordered(dict(zip(ids, scores, strict=True)))
