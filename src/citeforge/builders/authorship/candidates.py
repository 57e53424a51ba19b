"""Ranked passages of each query, from which contexts are made (section 4, appendices D and E)."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa

from citeforge.builders.corpus import embedding_texts, take_rows
from citeforge.builders.derive import Base
from citeforge.builders.exclusions import Exclusions
from citeforge.builders.mining import SeeminglyRelevant
from citeforge.engines.embedder import Embedder
from citeforge.engines.progress import progress
from citeforge.engines.textfiles import text_lines
from citeforge.engines.vectors import SHARD_ROWS, ensure_shards, iter_blocks
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.rage import Mining

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
    """BM25 (Lucene's variant, k1 = 1.2, b = 0.75) over title and text; ties by id."""
    import bm25s

    ids = np.array([i for b in base.passages(["_id"]) for i in b["_id"].to_pylist()], dtype=object)
    texts: list[str] = [
        t for chunk in embedding_texts(base.corpus, SHARD_ROWS) for t in chunk.to_pylist()
    ]
    tokens = bm25s.tokenize(texts, stopwords="en", show_progress=False)
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(tokens, show_progress=False)
    by_id = np.empty(len(ids), np.int64)
    by_id[np.argsort(ids.astype(str), kind="stable")] = np.arange(len(ids))
    ranked: Ranked = {}
    asked = base.queries["text"].to_pylist()
    with progress("ranking with BM25", len(asked), "queries") as advance:
        for query, text in zip(base.query_ids, asked, strict=True):
            words = bm25s.tokenize(text, stopwords="en", show_progress=False, return_ids=False)[0]
            known = [w for w in words if w in index.vocab_dict]
            scores = index.get_scores(known) if known else np.zeros(len(ids), np.float32)
            order = np.lexsort((by_id, -np.round(scores.astype(np.float64), 6)))[:depth]
            ranked[query] = [str(i) for i in ids[order]]
            advance(1)
    return ranked


def from_embeddings(base: Base, depth: int, embedder: Embedder, folder: Path) -> Ranked:
    """Highest cosines, exactly as negatives are mined: in float64, to 6 decimals; ties by id."""
    paths = base.corpus
    total = sum(b.num_rows for b in base.passages(["_id"]))
    with progress("embedding passages", total, "passages") as advance:
        shards = ensure_shards(
            folder, "passages", embedding_texts(paths, SHARD_ROWS), embedder, "passage", advance
        )
    texts = pa.concat_arrays(base.queries["text"].chunks)
    with progress("embedding queries", len(texts), "queries") as advance:
        asked = ensure_shards(folder, "queries", iter([texts]), embedder, "query", advance)
    vectors = np.concatenate([block.copy() for _, block in iter_blocks(asked, len(texts))])
    n = len(vectors)
    nothing_excluded = Exclusions([[]] * n, [set()] * n, [[]] * n)
    mining = Mining(seemingly_relevant=depth)
    found = SeeminglyRelevant(paths, shards, vectors, nothing_excluded, mining).mine()
    unique = np.unique([m.position for mined in found for m in mined])
    names = take_rows(paths, unique, ["_id"])["_id"].to_pylist()
    ids = dict(zip(unique.tolist(), names, strict=True))
    return {
        query: [ids[m.position] for m in mined]
        for query, mined in zip(base.query_ids, found, strict=True)
    }


def from_run(base: Base, path: Path) -> Ranked:
    """A TREC run: ``qid Q0 docid rank score tag``, by score, ties by id as trec_eval does.

    Raises:
        InputError: a line that is none, a passage given twice, or one that the corpus lacks.
    """
    known = set(base.query_ids)
    scored: dict[str, dict[str, float]] = {q: {} for q in base.query_ids}
    lines: dict[str, int] = {}
    for number, line in text_lines(path):
        fields = line.split()
        if len(fields) != 6:
            raise InputError(
                f"has {len(fields)} fields", path=path, line=number,
                allowed="qid Q0 docid rank score tag",
            )  # fmt: skip
        query, _, passage, _, score, _ = fields
        try:
            value = float(score)
        except ValueError:
            value = math.nan
        if math.isnan(value):
            raise InputError(
                f"{score!r} is no number", path=path, line=number, field="score",
                allowed="a finite number",
            )  # fmt: skip
        if query not in known:
            continue  # runs often cover more queries than a sample has
        if passage in scored[query]:
            raise InputError(
                f"{passage!r} comes twice for query {query!r}", path=path, line=number,
                field="docid",
            )  # fmt: skip
        scored[query][passage] = value
        lines.setdefault(passage, number)
    if not lines:
        raise InputError("names no query of the benchmark", path=path)
    there = base.texts(lines)
    for passage, number in lines.items():
        if passage not in there:
            raise InputError(
                f"the corpus has no passage {passage!r}", path=path, line=number, field="docid",
                allowed="a run over this benchmark's corpus",
            )  # fmt: skip
    # trec_eval breaks ties by descending id.
    return {
        q: sorted(sorted(found, reverse=True), key=lambda i: -found[i])
        for q, found in scored.items()
    }
