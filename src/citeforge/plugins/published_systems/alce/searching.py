"""Passages of a query that a system may search: its candidates, and which of them it was shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from citeforge.engines.models.embed import make_embedder
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.package.items import Item, Passage
from citeforge.plugins.published_systems.alce.options import SearchOptions
from citeforge.systems.system import Setting

Best = Callable[[str], str | None]
"""Words of a search to the id of the passage that fits best; None where none does."""


def best_by_words(ids: Sequence[str], texts: Sequence[str]) -> Best:
    """Make a search for the best passage by BM25."""
    index = Bm25(ids, texts)
    return lambda words: next((r.docid for r in index.rank({"": words}, 1)[""]), None)


def best_by_vectors(ids: Sequence[str], texts: Sequence[str], embedder: Embedder) -> Best:
    """Make a search for the passage with the nearest vector; the first id of equals."""
    order = sorted(range(len(ids)), key=lambda row: ids[row])
    passages = embedder.encode(list(texts), "passage").astype("float64")[order]

    def best(words: str) -> str | None:
        """Find the passage nearest to some words."""
        cosines = passages @ embedder.encode([words], "query")[0]
        return ids[order[int(cosines.round(6).argmax())]] if order else None

    return best


@dataclass
class Shelf:
    """The candidate passages of one query, and those that were shown.

    Attributes:
        passages: by their ids.
        best: searches them.
        shown: those that a search has brought, in the order of their first showing; citations
            count them.
    """

    passages: dict[str, Passage]
    best: Best
    shown: list[Passage] = field(default_factory=list)

    def search(self, words: str) -> int | None:
        """Find the best passage for some words, and show it; its place among ``shown``, or None."""
        name = self.best(words)
        if name is None:
            return None
        if self.passages[name] not in self.shown:
            self.shown.append(self.passages[name])
        return self.shown.index(self.passages[name])


def candidate_shelves(setting: Setting[SearchOptions]) -> Callable[[Item], Shelf]:
    """Make the candidates of every query, none of which is shown yet.

    They are those that the package names, else the best of its corpus by BM25.
    """
    benchmark, o = setting.benchmark, setting.options
    if "candidates" in benchmark.splits:
        ranked = benchmark.candidates()
    else:
        texts_of = zip(benchmark.query_ids, benchmark.questions(setting.context), strict=True)
        ranked = Bm25.of(benchmark.corpus).rank(dict(texts_of), o.depth)
    ids_of = {query: [r.docid for r in rows[: o.depth]] for query, rows in ranked.items()}
    texts = benchmark.texts({name for ids in ids_of.values() for name in ids})
    embedder = make_embedder(o.embedder) if o.retriever == "dense" else None

    @cache
    def index(query: str) -> Best:
        """Index the candidates of a query for searching."""
        ids = ids_of[query]
        words = [" ".join(texts[name]).strip() for name in ids]
        return (
            best_by_words(ids, words) if embedder is None else best_by_vectors(ids, words, embedder)
        )

    def shelf(item: Item) -> Shelf:
        """List the candidates of a query."""
        passages = {name: Passage(name, *texts[name]) for name in ids_of[item.query_id]}
        return Shelf(passages, index(item.query_id))

    return shelf
