"""Search by rough vectors that nominate and exact ones that decide.

All passages have a vector in int8; float32 vectors are computed of those that may be in a list.
How far the two scores of a pair lie apart is measured on the build's own pairs: the nominated
ones, and all pairs with a random sample of passages. A passage without an exact vector scores at
most its rough score and that margin. So a query first nominates few, whose exact scores say what
the last of its list scores at least; then only passages that can reach that get exact vectors.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.engines.embedding.vectors import VectorShard, gather
from citeforge.engines.io.corpus import take_rows, titled
from citeforge.engines.io.progress import progress
from citeforge.engines.retrieval.dense import nearest
from citeforge.engines.search.exact import (
    NOMINATION_ERROR,
    FirstStage,
    rescore,
    retrieve_candidates,
)

_MARGIN_FACTOR = 1.25
"""The margin is the largest difference seen, times this."""
_MOST_NOMINATIONS_FACTOR = 256
"""Nominations are at most this many times those of the first pass; what that does not settle is
decided all the same, and counted."""

Rows = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
NOBODY = -1
"""In place of a nomination that cannot be in the list."""
Embed = Callable[[str, pa.Array], list[VectorShard]]
"""Vectors of texts, kept under a name."""


class ExactSearch:
    """One vector a passage, which nominates and decides.

    Attributes:
        size: passages.
        quantized: whether lists are settled by a measured margin and not by proof.
        margin: of rough scores.
    """

    quantized = False
    margin = 0.0

    def __init__(
        self,
        queries: npt.NDArray[np.float32],
        shards: list[VectorShard],
        retrieve_candidates: FirstStage = retrieve_candidates,
    ) -> None:
        """Take vectors.

        Args:
            queries: unit vectors, shape (n queries, dimension).
            shards: vectors of the corpus, in order.
            retrieve_candidates: what searches them.
        """
        self._nominate = retrieve_candidates
        self._queries, self._shards = queries, shards
        self.size = sum(shard.rows for shard in shards)

    def is_deepest(self, k: int) -> bool:
        """Whether no more than ``k`` are ever nominated."""
        return k >= self.size

    def retrieve_candidates(
        self, rows: Rows, k: int, floors: Scores | None = None
    ) -> tuple[Scores, Rows]:
        """The best k passages of some queries.

        Args:
            rows: the queries.
            k: nominations each.
            floors: what a passage has to score to be of use, shape (n rows,); all are scored here.

        Returns:
            (most that any other passage scores, shape (n rows,); positions, shape (n rows, k)).
        """
        with progress("mining", self.size, "passages") as advance:
            scores, positions = self._nominate(self._queries[rows], self._shards, k, advance)
        if k >= self.size:
            return np.full(len(rows), -np.inf), positions
        return scores[:, -1].astype(np.float64) + NOMINATION_ERROR, positions

    def rescore(self, rows: Rows, positions: Rows) -> Scores:
        """Exact cosines of (query, passage) pairs, to 6 decimals."""
        return rescore(self._queries, self._shards, rows, positions)


class TwoStageSearch:
    """Rough vectors of all passages; exact ones of those nominated.

    Attributes:
        size: passages.
        quantized: whether lists are settled by a measured margin and not by proof.
        margin: largest excess of an exact score over the rough one seen, times a factor for safety.
        embedded: passages with an exact vector.
    """

    quantized = True

    def __init__(
        self,
        corpus: list[Path],
        queries: npt.NDArray[np.float32],
        shards: list[VectorShard],
        embed: Embed,
        sample: Rows,
    ) -> None:
        """Take vectors, and measure on a sample.

        Args:
            corpus: Parquet files of the passages.
            queries: exact unit vectors, shape (n queries, dimension).
            shards: rough vectors of the corpus, in order.
            embed: makes exact vectors.
            sample: positions of passages drawn at random.
        """
        self._corpus, self._queries, self._shards = corpus, queries, shards
        self._embed = embed
        self.size = sum(shard.rows for shard in shards)
        self.margin = 0.0
        self._first: int | None = None
        self._rounds: list[tuple[Rows, list[VectorShard]]] = []
        self._known: Rows = np.empty(0, np.int64)
        self._measure_sample(np.unique(sample))

    @property
    def embedded(self) -> int:
        return len(self._known)

    def is_deepest(self, k: int) -> bool:
        """Whether no more than ``k`` are ever nominated."""
        return k >= min(self.size, _MOST_NOMINATIONS_FACTOR * (self._first or k))

    def retrieve_candidates(
        self, rows: Rows, k: int, floors: Scores | None = None
    ) -> tuple[Scores, Rows]:
        """The k passages of some queries that score best roughly; they get exact vectors.

        Args:
            rows: the queries.
            k: nominations each.
            floors: what a passage has to score to be of use, shape (n rows,); None when nothing
                is known. Nominations that cannot reach it get no exact vector.

        Returns:
            (most that any other passage is taken to score, shape (n rows,); positions or NOBODY,
            shape (n rows, k)).
        """
        self._first = self._first or k
        positions, scores = nearest(self._corpus, self._shards, self._queries[rows], k)
        least = np.full(len(rows), -np.inf) if floors is None else floors
        margin = -1.0
        while margin < self.margin:  # it may grow by what is scored
            margin = self.margin
            able = scores + margin >= least[:, None]
            query_rows, flat = rows[np.nonzero(able)[0]], positions[able]
            self._measure(self.rescore(query_rows, flat) - scores[able])
        following = able.sum(axis=1)  # the first that was left out; scores fall along a row
        others = scores[np.arange(len(rows)), np.minimum(following, k - 1)]
        others[(following == k) & (k == self.size)] = -np.inf
        return others + self.margin, np.where(able, positions, NOBODY)

    def rescore(self, rows: Rows, positions: Rows) -> Scores:
        """Exact cosines of (query, passage) pairs, to 6 decimals."""
        self._ensure(positions)
        scores = np.empty(len(rows), np.float64)
        for stored, shards in self._rounds:
            place = np.searchsorted(stored, positions)
            mine = np.flatnonzero(stored[np.minimum(place, len(stored) - 1)] == positions)
            scores[mine] = rescore(self._queries, shards, rows[mine], place[mine])
        return scores

    def _ensure(self, positions: Rows) -> None:
        """Exact vectors of passages that have none yet."""
        fresh = np.setdiff1d(positions, self._known)
        if len(fresh):
            texts = titled(take_rows(self._corpus, fresh, ["title", "text"]))
            self._rounds.append((fresh, self._embed(f"decided-{len(self._rounds)}", texts)))
            self._known = np.union1d(self._known, fresh)

    def _measure_sample(self, sample: Rows) -> None:
        """All pairs of a query with a passage of the sample."""
        self._ensure(sample)
        _, exact = self._rounds[0]
        apart = _unit_rows(exact, np.arange(len(sample))) - _unit_rows(self._shards, sample)
        # In float64: threads change the last of its digits, and the margin is kept to four.
        self._measure(self._queries.astype(np.float64) @ apart.T)

    def _measure(self, differences: npt.NDArray[np.floating]) -> None:
        largest = float(differences.max(initial=0.0))
        self.margin = max(self.margin, float(np.ceil(largest * _MARGIN_FACTOR * 1e4) / 1e4))


def _unit_rows(shards: list[VectorShard], positions: Rows) -> npt.NDArray[np.float64]:
    vectors: npt.NDArray[np.float64] = gather(shards, positions).astype(np.float64)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    np.divide(vectors, norms, out=vectors, where=norms > 0)
    return vectors
