"""Retrieval for systems: two stages over the corpus, or over a query's own few passages."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from citeforge.engines.embedding.embed import make_embedder
from citeforge.engines.embedding.embedder import Embedder, Kind
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.engines.retrieval.records import Retriever, RetrieverSettings
from citeforge.engines.retrieval.registry import make_retriever
from citeforge.engines.retrieval.reranker import Pairs, Reranker, make_reranker
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Item, Passage
from citeforge.plugins.published_systems.attributed_ir.fusion import Ranking, Scorer, rerank
from citeforge.plugins.published_systems.attributed_ir.options import RetrievalOptions
from citeforge.schemas.errors import UsageError
from citeforge.systems.llm.system import Setting


class Passages:
    """Passages by id, in memory: the index of the first stage holds their words there, too."""

    def __init__(self, benchmark: Benchmark) -> None:
        batches = list(benchmark.passages(["_id", "title", "text"]))
        self._titles = pa.chunked_array([b["title"] for b in batches], pa.string())
        self._texts = pa.chunked_array([b["text"] for b in batches], pa.string())
        ids = (name for b in batches for name in b["_id"].to_pylist())
        self._rows = {name: row for row, name in enumerate(ids)}

    def get(self, name: str) -> Passage:
        """One passage of the corpus, by its id."""
        row = self._rows[name]
        return Passage(name, self._titles[row].as_py(), self._texts[row].as_py())


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
        sides = []
        kinds: tuple[Kind, Kind] = ("query", "passage")
        for kind, texts in zip(kinds, zip(*pairs, strict=True), strict=True):
            rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
            vectors = self._embedder.encode(list(rows), kind).astype(np.float64)
            sides.append(vectors[[rows[text] for text in texts]])
        values: list[float] = (sides[0] * sides[1]).sum(axis=1).tolist()
        return values


class Search:
    """What a system searches with; made once a context set.

    The second stage is ``--reranker``; without one it is the embedder after BM25, and nothing
    after other retrievers. The submission's header and the summary say which.
    """

    def __init__(self, setting: Setting[Any]) -> None:
        self._setting = setting
        self._options: RetrievalOptions = setting.options
        _require_searchable(setting.benchmark, self._options)
        self._note = self._description()
        setting.facts["retrieval"] = {"over": self._options.over, **self._identity()}

    def rankings(self, item: Item, queries: Sequence[str], depth: int) -> list[Ranking]:
        """One ranking a query, best first.

        Args:
            item: the benchmark's query, whose context may be what is searched.
            queries: texts; its own, or others.
            depth: most passages of each.
        """
        self._setting.counts[self._note] += len(queries)
        texts = {str(n): text for n, text in enumerate(queries)}
        nominated = self._options.depth if self._has_second else depth
        found = self._retriever(item).rank(texts, nominated)
        rankings = {name: [(r.docid, r.score) for r in rows] for name, rows in found.items()}
        if not self._has_second:
            return [rankings[name] for name in texts]
        return [
            rerank([rankings[name]], self.scorer(item, text))[:depth]
            for name, text in texts.items()
        ]

    def scorer(self, item: Item, text: str) -> Scorer:
        """Scores of the second stage for a text, to 6 decimals."""

        def score(ids: Sequence[str]) -> list[float]:
            pairs = [(text, passage) for passage in self._read(item, ids)]
            return [round(s, 6) + 0.0 for s in self._second.scores(pairs)]

        return score

    def passages(self, item: Item, ids: Sequence[str]) -> tuple[Passage, ...]:
        """Passages by their ids."""
        if self._options.over == "corpus":
            return tuple(map(self._corpus.get, ids))
        by_id = {p.id: p for p in item.passages}
        return tuple(by_id[i] for i in ids)

    def _read(self, item: Item, ids: Sequence[str]) -> list[str]:
        return [f"{p.title} {p.text}" if p.title else p.text for p in self.passages(item, ids)]

    def _retriever(self, item: Item) -> Retriever:
        if self._options.over == "corpus":
            return self._first
        ids = [p.id for p in item.passages]
        return Bm25(ids, self._read(item, ids))

    @cached_property
    def _first(self) -> Retriever:
        o = self._options
        if o.over != "corpus":
            return Bm25([], [])  # for its identity: each query has an index of its own
        self._scratch = tempfile.TemporaryDirectory(prefix="citeforge-")
        settings = RetrieverSettings(
            self._setting.benchmark.corpus, self._embedder, Path(self._scratch.name)
        )
        return make_retriever(o.retriever, settings)

    @cached_property
    def _second(self) -> Reranker:
        o = self._options
        if o.reranker is not None:
            return make_reranker(o.reranker, o.device, "--embedder offline without --reranker")
        return EmbeddingReranker(self._embedder())

    @property
    def _has_second(self) -> bool:
        return self._options.reranker is not None or self._options.retriever == "bm25"

    def _embedder(self) -> Embedder:
        return make_embedder(self._options.embedder, device=self._options.device)

    @cached_property
    def _corpus(self) -> Passages:
        return Passages(self._setting.benchmark)

    def _identity(self) -> dict[str, Any]:
        second = {"second": self._second.identity()} if self._has_second else {}
        return {"first": self._first.identity(), **second, "depth": self._options.depth}

    def _description(self) -> str:
        o = self._options
        first = o.retriever.split(":")[0]
        if o.reranker is not None:
            return f"rankings by {first} + {Path(o.reranker).name}"
        second = f" + embedder {o.embedder}, no cross-encoder" if self._has_second else ""
        return f"rankings by {first}{second}"


def _require_searchable(benchmark: Benchmark, options: RetrievalOptions) -> None:
    """Refuse what there is not, before anything is asked.

    Raises:
        UsageError: nothing of that sort to search, or not by that retriever.
    """
    over, retriever = options.over, options.retriever
    if over == "corpus" and not benchmark.corpus:
        raise UsageError(f"{benchmark.name} has no corpus to search; give --over context")
    if over != "corpus" and retriever != "bm25":
        raise UsageError(
            f"--over {over} --retriever {retriever}: so few passages are searched by bm25"
        )
