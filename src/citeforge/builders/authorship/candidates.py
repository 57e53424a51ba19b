"""Ranked passages of each query, from which contexts are made (section 4, appendices D and E)."""

from collections.abc import Callable
from pathlib import Path

from citeforge.builders.recipes.derive import Base
from citeforge.engines.embedding.embedder import Embedder
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.engines.retrieval.registry import RetrieverSettings, make_retriever
from citeforge.schemas.errors import UsageError

Ranked = dict[str, list[str]]
"""Query to passage ids, best first."""


def from_mapping(base: Base) -> Ranked:
    """Relevant passages, then the negatives of the benchmark's mapping.

    Raises:
        UsageError: the mapping has no negatives.
    """
    if not any(base.negatives.values()):
        raise UsageError(
            f"--candidates mapping: {base.manifest.name} has no negatives in its mapping; give "
            "--candidates bm25, dense or a TREC run file, or build it with `build rage`"
        )
    return {
        q: [*base.relevant[q], *(d["corpus-id"] for d in base.negatives[q])] for q in base.query_ids
    }


def from_retriever(
    base: Base, spec: str, depth: int, embedder: Callable[[], Embedder], folder: Path
) -> Ranked:
    """What a retriever finds in the benchmark's corpus.

    Args:
        base: the benchmark.
        spec: ``bm25`` (what has no word of the query follows by id), ``dense`` (highest cosines in
            float64, to 6 decimals; ties by id), or ``run:FILE`` (a TREC run, by score; ties by id).
        depth: passages a query.
        embedder: makes that of ``dense``.
        folder: where its vectors are kept.

    Raises:
        InputError: a line of the run is none, names a passage twice, or one that the corpus lacks.
    """
    texts = dict(zip(base.query_ids, base.queries["text"].to_pylist(), strict=True))
    if spec == "bm25":
        rankings = Bm25.of(base.corpus).rank(texts, depth, filled=True)
    else:
        retriever = make_retriever(spec, RetrieverSettings(base.corpus, embedder, folder))
        rankings = retriever.rank(texts, depth)
    return {query: [one.docid for one in row] for query, row in rankings.items()}
