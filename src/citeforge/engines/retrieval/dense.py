"""Dense retrieval: passages with the highest exact cosines; ties by id."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.engines.models.embedder import model_of
from citeforge.engines.retrieval.certain import TIE, CertainSearch, CorpusModel
from citeforge.engines.retrieval.records import DEPTH, Rankings, ranked
from citeforge.engines.tables import read_ids_and_ranks

_SPARE_CANDIDATES = 6
"""Candidates beyond the number asked for, so that most queries need one pass."""
_MATRIX_ENTRIES = 1 << 21
"""Entries of a candidate matrix (queries times candidates) that are held at once."""
DECIMALS = 3
"""Decimals of a cosine in rankings; each digit is that of exact arithmetic."""


class DenseCorpus:
    """Dense retriever over a corpus of Parquet shards (schema CORPUS)."""

    def __init__(self, model: CorpusModel) -> None:
        """Embed the passages of a corpus model (corpus and embedder) that have no vectors yet."""
        self._model = model
        _ = model.passages

    def identity(self) -> dict[str, Any]:
        """Describe the retriever for manifests: embedder and kind of search."""
        return {**model_of(self._model.embedder.fingerprint()), "search": "exact, cosine"}

    def rank(self, queries: Mapping[str, str], depth: int = DEPTH) -> Rankings:
        """Rank at most ``depth`` passages with the highest cosines for each query."""
        if not queries:
            return {}
        search = self._model.search(pa.array(list(queries.values()), pa.string()))
        corpus = self._model.corpus
        positions, scores = find_nearest(search, corpus, len(queries), depth)
        names, _ = read_ids_and_ranks(corpus, positions.ravel())
        rows = names.reshape(positions.shape).tolist()
        return {
            query: ranked(query, zip(ids, values, strict=True))
            for query, ids, values in zip(queries, rows, scores.tolist(), strict=True)
        }


def find_nearest(
    search: CertainSearch, corpus: list[Path], n_queries: int, depth: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Find each query's nearest passages: (positions, rounded cosines), best first, ties by id.

    Args:
        search: search over the corpus, with the queries set.
        corpus: Parquet files of the passages.
        n_queries: how many queries it has.
        depth: how many passages.

    Returns:
        Two arrays of shape (n queries, at most depth).
    """
    number = min(depth, search.size)
    nearest = np.empty((n_queries, number), np.int64)
    cosines = np.empty((n_queries, number), np.float64)
    rows, k = np.arange(n_queries), number + _SPARE_CANDIDATES
    while len(rows) and number:
        k, bounds_before = min(k, search.size), search.bounds.copy()
        step = max(1, _MATRIX_ENTRIES // k)
        is_certain = np.zeros(len(rows), np.bool_)
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            others, positions = search.find_candidates(some, k)
            nearest[some], cosines[some], low = _order_candidates(
                search, corpus, some, positions, number
            )
            is_certain[start : start + step] = low > others + search.bounds[0]
        # Lists rest on the bounds: where these have grown, all are looked at again.
        grown = bool((search.bounds > bounds_before).any())
        rows, k = np.arange(n_queries) if grown else rows[~is_certain], 4 * k
    return nearest, cosines


def _order_candidates(
    search: CertainSearch,
    corpus: list[Path],
    queries: npt.NDArray[np.int64],
    positions: npt.NDArray[np.int64],
    n_wanted: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Order candidates by exact cosine: (positions, rounded cosines, lower bound of the last).

    Args:
        search: search over the corpus.
        corpus: Parquet files of the passages.
        queries: rows of the queries.
        positions: candidates of each query, as positions in the corpus.
        n_wanted: how many of them are asked for.

    Returns:
        For each query the positions of the nearest candidates, their rounded cosines, and the least
        that the last one's cosine can be.
    """
    shape = positions.shape
    rows, flat = np.repeat(np.arange(shape[0]), shape[1]), positions.ravel()
    _, id_ranks = read_ids_and_ranks(corpus, flat)
    while True:
        scores, bounds = search.scores(queries[rows], flat)
        order = np.lexsort((id_ranks, -scores, rows)).reshape(shape)
        falling = scores[order]
        steps = np.diff(falling, axis=1, prepend=falling[:, :1]) < -TIE
        groups = np.cumsum(steps, axis=1)
        order = order.ravel()[np.lexsort((id_ranks[order.ravel()], groups.ravel(), rows))]
        order = order.reshape(shape)
        values, widths = scores[order], bounds[order]
        low, high = values - widths, values + widths
        highest_after = np.maximum.accumulate(high[:, ::-1], axis=1)[:, ::-1]
        lowest_before = np.minimum.accumulate(low, axis=1)
        is_open = np.zeros(shape, np.bool_)
        is_open[:, : shape[1] - 1] |= low[:, :-1] <= highest_after[:, 1:]
        is_open[:, 1:] |= high[:, 1:] >= lowest_before[:, :-1]
        # Behind the list only what may belong to it matters.
        is_open[:, n_wanted:] = high[:, n_wanted:] >= lowest_before[:, n_wanted - 1 : n_wanted]
        digits = 10**DECIMALS * values[:, :n_wanted]
        to_edge = np.abs(digits - np.floor(digits) - 0.5)
        is_open[:, :n_wanted] |= to_edge <= 10**DECIMALS * widths[:, :n_wanted]
        is_open &= widths > 0
        # What is known least is made out first: it may be all that the others overlap with.
        is_open &= widths >= np.where(is_open, widths, 0).max(axis=1, keepdims=True)
        if not is_open.any():
            best = order[:, :n_wanted]
            rounded = np.round(values[:, :n_wanted], DECIMALS) + 0.0  # no negative zero
            return flat[best], rounded, low[:, :n_wanted].min(axis=1)
        chosen = order[is_open]
        search.refine(queries[rows[chosen]], flat[chosen])
