"""Mined positions as mapping tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from citeforge.builders.rage.exclusions import Exclusions
from citeforge.builders.rage.mining import Mined, draw_irrelevant
from citeforge.builders.rage.mixture import Pools
from citeforge.builders.rage.screening import note_screened
from citeforge.engines.io.corpus import names_at
from citeforge.engines.io.tables import iter_batches, table_of
from citeforge.schemas.benchmarks.tables import IRRELEVANT, MAPPING, SEEMINGLY_RELEVANT
from citeforge.schemas.recipes.rage import Mining


def seemingly_table(corpus: list[Path], ids: list[str], by_query: list[list[Mined]]) -> pa.Table:
    """Schema MAPPING with score and rank, queries in order, nearest first."""
    flat = [(query, m) for query, mined in zip(ids, by_query, strict=True) for m in mined]
    names, _ = names_at(corpus, np.array([m.position for _, m in flat], np.int64))
    rows = [
        (query, name, None, m.score, m.rank) for (query, m), name in zip(flat, names, strict=True)
    ]
    return table_of(rows, MAPPING)


def drawn_table(
    corpus: list[Path],
    ids: list[str],
    exclusions: Exclusions,
    mined: list[list[Mined]],
    mining: Mining,
    seed: int,
) -> pa.Table:
    """Irrelevant passages, drawn: schema MAPPING, queries in order, passages in the order drawn.

    Args:
        corpus: Parquet files of the corpus.
        ids: queries.
        exclusions: what may not be drawn; told how many were dropped for their text.
        mined: seemingly relevant passages of each query, which are not drawn either.
        mining: how many are drawn.
        seed: seed of the draws.
    """
    size = sum(b.num_rows for b in iter_batches(corpus, ["_id"]))
    drawn, dropped = draw_irrelevant(corpus, size, ids, exclusions, mined, mining, seed)
    note_screened(exclusions.counts, "irrelevant", dropped, mining)
    flat = [(query, p) for query, positions in zip(ids, drawn, strict=True) for p in positions]
    names, _ = names_at(corpus, np.array([p for _, p in flat], np.int64))
    rows = [(query, name, None, None, None) for (query, _), name in zip(flat, names, strict=True)]
    return table_of(rows, MAPPING)


def short_mappings(pools: Pools, mining: Mining) -> dict[str, dict[str, int]]:
    """Queries with fewer mapped passages than asked: query to label to the number found."""
    short: dict[str, dict[str, int]] = {}
    for label, number in (
        (IRRELEVANT, mining.irrelevant),
        (SEEMINGLY_RELEVANT, mining.seemingly_relevant),
    ):
        for query, pool in pools.by_label[label].items():
            if len(pool) < number:
                short.setdefault(query, {})[label] = len(pool)
    return short
