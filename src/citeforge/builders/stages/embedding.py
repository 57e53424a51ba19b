"""The search that a build mines with: by its embedder, or over vectors that were made elsewhere."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from citeforge.engines.embedding.precomputed import PrecomputedVectors, passage_shards, query_rows
from citeforge.engines.io.progress import progress
from citeforge.engines.io.tables import count_rows, iter_batches
from citeforge.engines.models.compute import choose_compute
from citeforge.engines.models.embedder import Embedder, Refinable
from citeforge.engines.running.runner import LOCAL, make_runner
from citeforge.engines.search.certain import CertainSearch
from citeforge.engines.search.corpus import CorpusModel
from citeforge.schemas.recipes.base import RunOptions

_DECIDED_PER_QUERY = 12
"""Passages a query that are embedded twice where the first vectors are rough; measured on HAGRID's
passages (docs/performance.md)."""


def corpus_model(
    embedder: Embedder, corpus: list[Path], n_queries: int, folder: Path, run: RunOptions
) -> CorpusModel:
    """The embedder over the corpus, in the numbers that take the least time.

    Args:
        embedder: of the build.
        corpus: Parquet files of the passages.
        n_queries: how many are mined for.
        folder: where vectors are kept.
        run: where and how.

    Raises:
        UsageError: ``--compute`` of an embedder that does not compute here.
    """
    search = make_runner(run).first_stage(run.device)
    compute = run.compute
    if compute == "auto" and isinstance(embedder, Refinable):
        if count_rows(corpus) < 2 * _DECIDED_PER_QUERY * n_queries:
            compute = "fp32"  # most passages would be embedded twice
        elif run.engine == LOCAL.name and choose_compute("auto", run.device) == "int8":
            compute = "int8"
    return CorpusModel(embedder, corpus, folder, compute, run.shard_rows, search)


def given_search(
    precomputed: tuple[PrecomputedVectors, PrecomputedVectors],
    corpus: list[Path],
    all_queries: Sequence[str],
    queries: Sequence[str],
    folder: Path,
    rows: int,
) -> CertainSearch:
    """The search over vectors that were made elsewhere.

    Args:
        precomputed: of passages and of queries.
        corpus: Parquet files of the passages.
        all_queries: queries of the source.
        queries: those of the build.
        folder: for what is not read where it lies.
        rows: vectors a shard.

    Raises:
        InputError: they are not of these passages or queries, or no vectors.
    """
    total = count_rows(corpus)
    ids = (pa.array(b["_id"]) for b in iter_batches(corpus, ["_id"], rows=rows))
    with progress("checking vectors", total, "vectors") as advance:
        shards = passage_shards(precomputed[0], ids, total, folder, advance)
    return CertainSearch(shards).set_queries(query_rows(precomputed[1], all_queries, queries))
