"""Mined positions as mapping tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from citeforge.builders.corpus import take_rows
from citeforge.builders.mining import Mined
from citeforge.engines.tables import table_of
from citeforge.schemas.tables import MAPPING


def seemingly_table(corpus: list[Path], ids: list[str], taken: list[list[Mined]]) -> pa.Table:
    """Schema MAPPING with score and rank, queries in order, nearest first."""
    flat = [(query, m) for query, mined in zip(ids, taken, strict=True) for m in mined]
    names = _names(corpus, [m.position for _, m in flat])
    rows = [
        (query, name, None, m.score, m.rank) for (query, m), name in zip(flat, names, strict=True)
    ]
    return table_of(rows, MAPPING)


def irrelevant_table(corpus: list[Path], ids: list[str], drawn: list[list[int]]) -> pa.Table:
    """Schema MAPPING, queries in order, passages in the order drawn."""
    flat = [(query, p) for query, positions in zip(ids, drawn, strict=True) for p in positions]
    names = _names(corpus, [p for _, p in flat])
    rows = [(query, name, None, None, None) for (query, _), name in zip(flat, names, strict=True)]
    return table_of(rows, MAPPING)


def _names(corpus: list[Path], positions: list[int]) -> list[str]:
    unique, inverse = np.unique(np.array(positions, np.int64), return_inverse=True)
    ids: list[str] = take_rows(corpus, unique, ["_id"])["_id"].take(pa.array(inverse)).to_pylist()
    return ids
