"""Search among a query's candidate passages, for ``inline-search``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from citeforge.engines.models.embed import make_embedder
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.package.items import Item, Passage
from citeforge.plugins.published_systems.alce.options import SearchOptions
from citeforge.systems.system import Setting

FindPassage = Callable[[str], str | None]
"""Maps the words of a search to the id of the best passage; None if none fits."""


def make_bm25_search(ids: Sequence[str], texts: Sequence[str]) -> FindPassage:
    """Make the function that finds the best passage for some words by BM25."""
    index = Bm25(ids, texts)
    return lambda words: next((r.docid for r in index.rank({"": words}, 1)[""]), None)


def make_vector_search(ids: Sequence[str], texts: Sequence[str], embedder: Embedder) -> FindPassage:
    """Make the function that finds the passage nearest to some words by vectors; ties by id."""
    order = sorted(range(len(ids)), key=lambda row: ids[row])
    passages = embedder.encode(list(texts), "passage").astype("float64")[order]

    def find(words: str) -> str | None:
        """Find the passage with the highest cosine to some words; None without passages."""
        cosines = passages @ embedder.encode([words], "query")[0]
        return ids[order[int(cosines.round(6).argmax())]] if order else None

    return find


@dataclass
class CandidateSearch:
    """Candidate passages of one query, a search among them, and the passages found so far.

    Attributes:
        passages: candidates by their ids.
        find: finds the best candidate.
        shown: passages found by searches, in the order of their first finding; citations
            number them.
    """

    passages: dict[str, Passage]
    find: FindPassage
    shown: list[Passage] = field(default_factory=list)

    def search(self, words: str) -> int | None:
        """Find the best passage for some words; return its index in ``shown``, or None."""
        name = self.find(words)
        if name is None:
            return None
        if self.passages[name] not in self.shown:
            self.shown.append(self.passages[name])
        return self.shown.index(self.passages[name])


def make_candidate_searches(setting: Setting[SearchOptions]) -> Callable[[Item], CandidateSearch]:
    """Make the function that starts a search among a query's candidates.

    Candidates are those of the package, else the best passages of its corpus by BM25.
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
    def index(query: str) -> FindPassage:
        """Index a query's candidates for searching, once per query."""
        ids = ids_of[query]
        words = [" ".join(texts[name]).strip() for name in ids]
        if embedder is None:
            return make_bm25_search(ids, words)
        return make_vector_search(ids, words, embedder)

    def start(item: Item) -> CandidateSearch:
        """Start a search among the candidates of an item's query."""
        passages = {name: Passage(name, *texts[name]) for name in ids_of[item.query_id]}
        return CandidateSearch(passages, index(item.query_id))

    return start
