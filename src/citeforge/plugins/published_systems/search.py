"""Two-stage retrieval for systems, over the corpus or over the passages of a query's context."""

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from citeforge.engines.models.embed import EmbedderSettings
from citeforge.engines.models.embedder import Embedder, Role
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.engines.retrieval.fusion import Ranking, Scorer, rerank
from citeforge.engines.retrieval.records import Retriever
from citeforge.engines.retrieval.reranker import Pairs, Reranker
from citeforge.engines.retrieval.settings import RetrieverSettings
from citeforge.engines.running.names import RERANKERS, make_embedder, make_retriever
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Item, Passage
from citeforge.plugins.published_systems.attributed_ir_options import RetrievalOptions
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import UsageError
from citeforge.systems.system import Setting


class CorpusPassages:
    """All passages of a benchmark's corpus, in memory, by id."""

    def __init__(self, benchmark: Benchmark) -> None:
        """Read all passages of a benchmark's corpus into memory."""
        batches = list(benchmark.passages(["_id", "title", "text"]))
        self._titles = pa.chunked_array([b["title"] for b in batches], pa.string())
        self._texts = pa.chunked_array([b["text"] for b in batches], pa.string())
        ids = (name for b in batches for name in b["_id"].to_pylist())
        self._rows = {name: row for row, name in enumerate(ids)}

    def get(self, passage_id: str) -> Passage:
        """Get a passage of the corpus by its id."""
        row = self._rows[passage_id]
        return Passage(passage_id, self._titles[row].as_py(), self._texts[row].as_py())


class EmbeddingReranker:
    """Reranker that scores by an embedder's cosines, in place of a cross-encoder.

    It encodes query and passage separately; identities record that.
    """

    def __init__(self, embedder: Embedder) -> None:
        """Make a reranker that compares texts by an embedder."""
        self._embedder = embedder

    def identity(self) -> dict[str, Any]:
        """Describe the reranker for a submission's header: its embedder, no cross-encoder."""
        return {**self._embedder.fingerprint(), "kind": "embedder, no cross-encoder"}

    def scores(self, pairs: Pairs) -> list[float]:
        """Compute the cosine of each (query, passage) pair, in float64."""
        if not pairs:
            return []
        sides = []
        kinds: tuple[Role, Role] = ("query", "passage")
        for kind, texts in zip(kinds, zip(*pairs, strict=True), strict=True):
            rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
            vectors = self._embedder.encode(list(rows), kind).astype(np.float64)
            sides.append(vectors[[rows[text] for text in texts]])
        values: list[float] = (sides[0] * sides[1]).sum(axis=1).tolist()
        return values


class Search:
    """A system's two-stage retrieval; made once per context set.

    The second stage is ``--reranker``; without one it is the embedder after BM25, and nothing
    after other retrievers. The submission's header and the summary say which.
    """

    def __init__(self, setting: Setting[Any]) -> None:
        """Make retriever and reranker from a system's options, and record what models they use.

        Args:
            setting: setting of the system; its options name retriever, reranker and embedder.
        """
        self._setting, self._over = setting, setting.options.over
        o, benchmark = setting.options, setting.benchmark
        _require_searchable(benchmark, o)
        embedder = partial(make_embedder, o.embedder, EmbedderSettings(device=o.device))
        stages = o.retriever.split(":")[0]
        self._second: Reranker | None = None
        if o.reranker is not None:
            instead = "--embedder offline without --reranker"
            self._second = RERANKERS.maker(o.reranker)(o.device, instead)
            stages += f" + {Path(o.reranker).name}"
        elif o.retriever == "bm25":
            self._second = EmbeddingReranker(embedder())
            stages += f" + embedder {o.embedder}, no cross-encoder"
        self._count_key = count_key("rankings_by", stages)
        self._first: Retriever = Bm25([], [])  # for its identity: each query has one of its own
        if self._over == "corpus":
            self._scratch = tempfile.TemporaryDirectory(prefix="citeforge-")
            folder = Path(self._scratch.name)
            settings = RetrieverSettings(benchmark.corpus, embedder, folder)
            self._first = make_retriever(o.retriever, settings)
            self._corpus = CorpusPassages(benchmark)
        second = {} if self._second is None else {"second": self._second.identity()}
        identity = {"first": self._first.identity(), **second, "depth": o.depth}
        setting.facts["retrieval"] = {"over": self._over, **identity}

    def rankings(self, query_item: Item, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Retrieve passages for each query text: rankings of (passage id, score), best first.

        Args:
            query_item: query of the benchmark; with ``--over context`` its passages are searched.
            queries: texts to search for, such as the item's own query.
            depth: most passages per query.
        """
        self._setting.counts[self._count_key] += len(queries)
        texts = {str(n): text for n, text in enumerate(queries)}
        retriever = self._first
        if self._over != "corpus":
            retriever = Bm25(
                [p.id for p in query_item.passages], self._join_titles(query_item.passages)
            )
        n_first = depth if self._second is None else self._setting.options.depth
        ranked = retriever.rank(texts, n_first)
        rankings = {name: [(r.docid, r.score) for r in rows] for name, rows in ranked.items()}
        if self._second is None:
            return [rankings[name] for name in texts]
        return [
            rerank([rankings[name]], self.scorer(query_item, text))[:depth]
            for name, text in texts.items()
        ]

    def scorer(self, query_item: Item, text: str) -> Scorer:
        """Make the function that reranks a query's passages, by id, against a query text."""

        def score(ids: Sequence[str]) -> list[float]:
            """Score passages, by id, against the query text, rounded to 6 decimals."""
            assert self._second is not None
            pairs = [
                (text, passage) for passage in self._join_titles(self.passages(query_item, ids))
            ]
            return [round(s, 6) + 0.0 for s in self._second.scores(pairs)]

        return score

    def passages(self, query_item: Item, ids: Sequence[str]) -> tuple[Passage, ...]:
        """Get passages by their ids, from the corpus or from the context of a query."""
        if self._over == "corpus":
            return tuple(map(self._corpus.get, ids))
        by_id = {p.id: p for p in query_item.passages}
        return tuple(by_id[i] for i in ids)

    @staticmethod
    def _join_titles(passages: Sequence[Passage]) -> list[str]:
        """Join the title and text of each passage."""
        return [f"{p.title} {p.text}" if p.title else p.text for p in passages]


def _require_searchable(benchmark: Benchmark, options: RetrievalOptions) -> None:
    """Raise an error if a benchmark cannot be searched with these retrieval options.

    Raises:
        UsageError: the benchmark has no corpus, or the retriever cannot search contexts.
    """
    over, retriever = options.over, options.retriever
    if over == "corpus" and not benchmark.corpus:
        raise UsageError(
            f"{benchmark.name} has no corpus to search; give --over context", code="wrong-kind"
        )
    if over != "corpus" and retriever != "bm25":
        raise UsageError(
            f"--retriever {retriever} requires --over corpus; --over {over} is searched by bm25",
            code="conflicting-options",
        )
