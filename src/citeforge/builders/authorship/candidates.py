"""Ranked passages of each query, from which contexts are made (section 4, appendices D and E)."""

from __future__ import annotations

import sys
from pathlib import Path

from citeforge.builders.recipes.derive import Base
from citeforge.engines.embedding.embedder import Embedder
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.engines.retrieval.dense import DenseCorpus
from citeforge.engines.retrieval.records import Rankings
from citeforge.engines.retrieval.runs import TrecRun
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


def from_context(base: Base, name: str) -> Ranked:
    """The passages of a context set, in its order.

    Raises:
        UnknownValueError: no such set.
    """
    return {q: [d["corpus-id"] for d in docs] for q, docs in base.context(name).items()}


def from_bm25(base: Base, depth: int) -> Ranked:
    """BM25 over title and text; what has no word of the query follows by id."""
    return _ids(Bm25.of(base.corpus).rank(_query_texts(base), depth, filled=True))


def from_embeddings(base: Base, depth: int, embedder: Embedder, folder: Path) -> Ranked:
    """Highest cosines, exactly as negatives are mined: in float64, to 6 decimals; ties by id."""
    return _ids(DenseCorpus(base.corpus, embedder, folder).rank(_query_texts(base), depth))


def from_run(base: Base, path: Path) -> Ranked:
    """A TREC run: ``qid Q0 docid rank score tag``, by score, ties by id as trec_eval does.

    Raises:
        InputError: a line that is none, a passage given twice, or one that the corpus lacks.
    """
    return _ids(TrecRun(path, base.corpus).rank(_query_texts(base), sys.maxsize))


def _query_texts(base: Base) -> dict[str, str]:
    return dict(zip(base.query_ids, base.queries["text"].to_pylist(), strict=True))


def _ids(rankings: Rankings) -> Ranked:
    return {query: [found.docid for found in row] for query, row in rankings.items()}
