"""Vector search whose results equal exact arithmetic, whatever numeric format comes first.

A cosine is known up to a bound. Vectors of all passages are made in whatever numbers are quick
(bfloat16, int8, float32). Where the bounds of two passages overlap and their order matters, both
get vectors in finer numbers: float32, then float64, whose error is below every gap that counts.
The bounds are measured on a sample of the build's own pairs, kept with a margin, and measured
again on every pair that is refined.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.engines.corpus import join_titles, take_rows
from citeforge.engines.draws import distinct_below, generator
from citeforge.engines.models.vectors import VectorShard
from citeforge.engines.progress import progress
from citeforge.engines.retrieval.exact import (
    NOMINATION_ERROR,
    FirstStage,
    rescore,
    retrieve_candidates,
)

TIE = 1e-12
"""Cosines in float64 that are no further apart are equal: float64 errs by some 1e-15 here, and
different texts differ by far more."""
_ROUGH_MARGIN, _FLOAT32_MARGIN = 1.5, 4.0
"""Factors on the largest measured error, which give the bounds. Few pairs are measured in float64,
and a wide bound of float32 costs little."""
_DEVIATIONS = 6
"""Factor on the root mean square of the errors; the bound for small samples (one query: 200)."""
_LEAST_BOUND = 1e-6
"""Smallest bound, for small samples or small errors."""
_ROUGH_PASSAGES, _ROUGH_QUERIES = 200, 1000
_FLOAT32_SAMPLE = 16
"""Number of passages, and of queries, whose pairs float32 is measured on."""

Rows = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
EmbedPassages = Callable[[int, str, pa.Array], list[VectorShard]]
"""(level, name to keep them under, texts) to vectors."""
EmbedQueries = Callable[[Rows], npt.NDArray[np.float64]]
"""Queries to vectors in float64."""


class CertainSearch:
    """Cosines of queries and passages with error bounds, made finer where the bounds leave doubt.

    A passage has a level: 0 for the vectors that all have, then finer ones. Vectors that were
    given, or that a server made, are the only ones there are: their cosines have no error.

    Attributes:
        size: passages.
        bounds: most that a cosine at each level may differ from the exact one.
    """

    def __init__(
        self, shards: list[VectorShard], first_stage: FirstStage = retrieve_candidates
    ) -> None:
        """Set the vectors to search; without `refine_by` no finer ones can be made.

        Args:
            shards: vectors of the corpus, in order.
            first_stage: function that searches them in float32.
        """
        self.size = sum(shard.rows for shard in shards)
        self.bounds = np.zeros(1)
        self._shards, self._first_stage = shards, first_stage
        self._level = np.zeros(self.size, np.int8)
        self._refined: list[list[tuple[Rows, list[VectorShard]]]] = [[]]

    def refine_by(self, corpus: list[Path], levels: int, embed: EmbedPassages) -> None:
        """Set the corpus and the function that embeds its passages in finer numeric formats.

        Args:
            corpus: Parquet files of the passages.
            levels: 1 if all vectors are in float64; 2 if they are in float32, with float64 as the
                finer format; 3 if they are rougher, with float32 and float64 as finer formats.
            embed: makes finer vectors.
        """
        self._corpus, self._embed_passages = corpus, embed
        self.bounds = np.full(levels, _LEAST_BOUND)
        self.bounds[-1] = 0.0
        self._refined = [[] for _ in range(levels)]

    def set_queries(
        self, queries: npt.NDArray[np.float32], embed: EmbedQueries | None = None
    ) -> "CertainSearch":
        """Set the queries to search for, and measure error bounds on a sample of pairs.

        Args:
            queries: unit vectors, shape (n queries, dimension).
            embed: makes those in the finest numbers; None where nothing is finer.

        Returns:
            The same search.
        """
        self._queries = queries
        self._exact_row = np.full(len(queries), -1, np.int64)
        self._exact_queries = np.empty((0, queries.shape[1]))
        if embed is not None:
            self._embed_queries = embed
            if len(self.bounds) == 1:
                self._make_exact(np.arange(len(queries)))
                return self
            if len(self.bounds) > 2:
                rows, positions = self._sample_pairs(_ROUGH_PASSAGES, _ROUGH_QUERIES)
                self.refine(rows, positions, to=1)
                errors = self._rough_errors(rows, positions)
                mean = float((errors**2).sum() / max(len(errors), 1))
                self._widen(0, _DEVIATIONS * mean**0.5 + self.bounds[1])
            self.refine(*self._sample_pairs(_FLOAT32_SAMPLE, _FLOAT32_SAMPLE))
        return self

    @property
    def n_refined(self) -> list[int]:
        """Number of passages embedded at each level or a finer one."""
        return [int((self._level >= level).sum()) for level in range(len(self.bounds))]

    def nominate(self, rows: Rows, k: int) -> tuple[Scores, Rows]:
        """Find the k passages of some queries with the highest rough (level 0) cosines.

        Args:
            rows: the queries.
            k: passages each; at most all.

        Returns:
            (most that any other passage scores at level 0, shape (n rows,), -inf where there is
            no other; positions, shape (n rows, k)).
        """
        with progress("searching", self.size, "passages") as advance:
            scores, positions = self._first_stage(self._queries[rows], self._shards, k, advance)
        if k >= self.size:
            return np.full(len(rows), -np.inf), positions
        return scores[:, -1].astype(np.float64) + NOMINATION_ERROR, positions

    def scores(self, rows: Rows, positions: Rows) -> tuple[Scores, Scores]:
        """Compute the best known cosines of (query, passage) pairs, and bounds of their errors."""
        levels = self._level[positions]
        scores, bounds = np.empty(len(rows), np.float64), self.bounds[levels]
        for level, refined in enumerate(self._refined):
            mine = np.flatnonzero(levels == level)
            if level == 0:
                scores[mine] = self._rescore(self._shards, rows[mine], positions[mine])
            for stored, shards in refined:
                place = np.searchsorted(stored, positions[mine])
                here = stored[np.minimum(place, len(stored) - 1)] == positions[mine]
                at = mine[here]
                scores[at] = self._rescore(shards, rows[at], place[here])
        if len(self.bounds) > 1:  # a query in float32 has an error of its own
            half = (levels == len(self.bounds) - 1) & (self._exact_row[rows] < 0)
            bounds[half] = self.bounds[-2]
        return scores, bounds

    def refine(self, rows: Rows, positions: Rows, to: int | None = None) -> None:
        """Embed the passages of (query, passage) pairs again in a more precise numeric format.

        In the most precise one their queries are embedded again, too. Error bounds widen where the
        new cosines show larger errors of the old ones.

        Args:
            rows: queries of the pairs.
            positions: their passages.
            to: highest level that they rise to; None for the finest.
        """
        before, levels = self.scores(rows, positions)[0], self._level[positions]
        finest = len(self.bounds) - 1
        for level in range(finest if to is None else to):
            if len(fresh := np.unique(positions[levels == level])):
                self._embed_finer(fresh, level + 1)
        self._make_exact(np.unique(rows[self._level[positions] == finest]))
        # Passages that rose for earlier queries are measured on these, too.
        rough = self._rough_errors(rows, positions).max(initial=0)
        change = np.abs(self.scores(rows, positions)[0] - before)
        last = change[levels >= finest - 1].max(initial=0)
        self._widen(finest - 1, _FLOAT32_MARGIN * (last if finest > 1 else max(rough, last)))
        if finest > 1:
            self._widen(0, _ROUGH_MARGIN * rough + self.bounds[1])

    def _widen(self, level: int, bound: float) -> None:
        """Raise the error bound of a level to at least ``bound``."""
        self.bounds[level] = max(self.bounds[level], bound)

    def _rough_errors(self, rows: Rows, positions: Rows) -> Scores:
        """Compute the errors of the level-0 cosines of pairs against the best known ones."""
        rough = self._rescore(self._shards, rows, positions)
        return np.abs(self.scores(rows, positions)[0] - rough)

    def _embed_finer(self, positions: Rows, level: int) -> None:
        """Embed passages again in the numeric format of a level, and keep the vectors."""
        texts = join_titles(take_rows(self._corpus, positions, ["title", "text"]))
        refined = self._refined[level]
        shards = self._embed_passages(level, f"refined-{level}-{len(refined)}", texts)
        refined.append((positions, shards))
        self._level[positions] = level

    def _make_exact(self, rows: Rows) -> None:
        """Embed queries in float64, except those that are already."""
        fresh = rows[self._exact_row[rows] < 0]
        if len(fresh):
            known = len(self._exact_queries)
            made = self._embed_queries(fresh)
            self._exact_queries = np.concatenate([self._exact_queries, made])
            self._exact_row[fresh] = np.arange(known, known + len(fresh))

    def _rescore(self, shards: Sequence[VectorShard], rows: Rows, positions: Rows) -> Scores:
        """Compute cosines of (query, passage) pairs from the given shards, in float64."""
        exact = self._exact_row[rows]
        scores = np.empty(len(rows), np.float64)
        for mine, queries, of in (
            (exact < 0, self._queries, rows),
            (exact >= 0, self._exact_queries, exact),
        ):
            scores[mine] = rescore(queries, shards, of[mine], positions[mine])
        return scores

    def _sample_pairs(self, passages: int, queries: int) -> tuple[Rows, Rows]:
        """Draw passages and queries at random; return all pairs of them."""
        draw = generator(0, "sample of errors")
        positions = np.array(distinct_below(self.size, passages, draw, ()), np.int64)
        rows = np.array(distinct_below(len(self._queries), queries, draw, ()), np.int64)
        return np.repeat(rows, len(positions)), np.tile(positions, len(rows))


def best_first(scores: Scores, places: Rows) -> Rows:
    """Sort scores, highest first; ties (within TIE) in the order of ``places``. Return indices."""
    order = np.lexsort((places, -scores))
    falling = scores[order]
    groups = np.cumsum(np.append(False, falling[:-1] - falling[1:] > TIE))
    return order[np.lexsort((places[order], groups))]


def undecided(low: Scores, high: Scores, classes: Rows) -> npt.NDArray[np.bool_]:
    """Select the scores to compute more precisely, as their order by rank is uncertain.

    Where bounds of two classes overlap, some contain the middle between both classes. Of these the
    ones on one side are selected; the others often need nothing once these are known.

    Args:
        low: least that each score may be.
        high: most.
        classes: class of each score, by rank: scores of a lower class are higher.

    Returns:
        Whether each score is selected; never one that is exact.
    """
    scores = (low + high) / 2
    selected = np.zeros(len(low), np.bool_)
    for number in np.unique(classes)[1:]:
        better, worse = classes < number, classes >= number
        middle = (scores[better].min() + scores[worse].max()) / 2
        down = better & (low <= min(middle, high[worse].max())) & (high > low)
        up = worse & (high >= max(middle, low[better].min())) & (high > low)
        selected |= min((side for side in (down, up) if side.any()), key=np.sum, default=selected)
    return selected
