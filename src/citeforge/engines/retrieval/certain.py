"""Vector search of a corpus in any numeric format; its results equal those of exact arithmetic.

A cosine is known up to a bound. Vectors of all passages are made in whatever numbers are quick
(bfloat16, float32). Where the bounds of two passages overlap and their order matters, both
get vectors in finer numbers: float32, then float64, whose error is below every gap that counts.
The bounds are measured on a sample of the build's own pairs, kept with a margin, and measured
again on every pair that is refined.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.draws import distinct_below, generator
from citeforge.engines.models.embedder import Embedder, Refinable, Role
from citeforge.engines.models.vectors import (
    SHARD_ROWS,
    VectorShard,
    ensure_shards,
    gather,
    unit_vectors,
)
from citeforge.engines.progress import progress
from citeforge.engines.retrieval.exact import (
    CANDIDATE_ERROR,
    FirstStage,
    rescore,
    retrieve_candidates,
)
from citeforge.engines.tables import ROWS_PER_GROUP, count_rows, iter_batches, regroup, take_rows
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Compute

TIE = 1e-12
"""Cosines in float64 that are no further apart are equal: float64 errs by some 1e-15 here, and
different texts differ by far more."""
_APPROXIMATE_MARGIN, _FLOAT32_MARGIN = 1.5, 4.0
"""Factors on the largest measured error, which give the bounds. Few pairs are measured in float64,
and a wide bound of float32 costs little."""
_DEVIATIONS = 6
"""Factor on the root mean square of the errors; the bound for small samples (one query: 200)."""
_LEAST_BOUND = 1e-6
"""Smallest bound, for small samples or small errors."""
_SAMPLE_PASSAGES, _SAMPLE_QUERIES = 200, 1000
_FLOAT32_SAMPLE = 16
"""Number of passages, and of queries, whose pairs float32 is measured on."""

Rows = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
EmbedPassages = Callable[[int, str, pa.Array], list[VectorShard]]
"""(level, name to keep them under, texts) to vectors."""
EmbedQueries = Callable[[Rows], npt.NDArray[np.float64]]
"""Queries to vectors in float64."""
_FINER: dict[str, tuple[Compute, ...]] = {"float64": (), "float32": ("fp64",)}
"""Numeric format of the first vectors to the formats that decide what these leave open."""


@dataclass(frozen=True)
class CorpusModel:
    """An embedder and a corpus; makes a :class:`CertainSearch` for queries.

    Attributes:
        embedder: turns texts into vectors.
        corpus: Parquet files of the passages (schema CORPUS).
        folder: folder for vectors of passages.
        compute: numbers that all passages are embedded in; the lists do not depend on it.
        shard_rows: texts per shard of vectors.
        first_stage: function that searches vectors in float32.
        query_folder: folder for all other vectors; None for ``folder``, which no other process
            may then use.
    """

    embedder: Embedder
    corpus: list[Path]
    folder: Path
    compute: Compute = "fp32"
    shard_rows: int = SHARD_ROWS
    first_stage: FirstStage = retrieve_candidates
    query_folder: Path | None = None

    def __post_init__(self) -> None:
        """Check that the embedder can compute in the requested numeric format.

        Raises:
            UsageError: numbers are requested of an embedder that does not compute here.
        """
        if not isinstance(self.embedder, Refinable) and self.compute not in ("auto", "fp32"):
            name = self.embedder.fingerprint()["name"]
            raise UsageError(
                f"--compute {self.compute}: {name} does not compute here; leave it out",
                code="option-without-effect",
            )

    @cached_property
    def size(self) -> int:
        """Number of passages in the corpus."""
        return count_rows(self.corpus)

    @property
    def passages(self) -> list[VectorShard]:
        """Vectors of all passages, in shards; computed at the first call."""
        return self._embedded[0]

    @cached_property
    def _embedded(self) -> tuple[list[VectorShard], dict[str, Any]]:
        """Embed all passages; return (shards of vectors, numeric format and device by name).

        Returns:
            (shards of vectors, facts about how they were computed).
        """
        first = self.embedder
        if isinstance(first, Refinable):
            first = first.at(self.compute)
        computed: dict[str, Any] = first.fingerprint().get("computed", {})
        dtype = computed.get("dtype")
        stage = f"embedding passages in {dtype}" if dtype else "embedding passages"
        texts = embedding_texts(self.corpus, self.shard_rows)
        with progress(stage, self.size, "passages") as advance:
            name = f"passages-{dtype or 'given'}"
            shards = ensure_shards(
                self.folder, name, texts, first, "passage", advance, self._read_id
            )
        return shards, computed

    def computed(self) -> dict[str, Any]:
        """Get numeric format and device of the passage vectors; empty for a user's vectors."""
        return self._embedded[1]

    def exact_vectors(self, name: str, rows: Rows) -> npt.NDArray[np.float64]:
        """Get float64 vectors of some passages, embedded in float64 (as ``name``) if possible.

        Args:
            name: name to keep them under.
            rows: sorted rows of the passages.
        """
        if not isinstance(self.embedder, Refinable) or self.computed().get("dtype") == "float64":
            return gather(self.passages, rows)
        texts = join_titles(take_rows(self.corpus, rows, ["title", "text"]))
        shards = self._embed_texts(name, texts, self.embedder.at("fp64"), "passage")
        return gather(shards, np.arange(len(rows)))

    def search(self, queries: pa.Array) -> "CertainSearch":
        """Embed queries, and return the search with them set; an earlier search becomes invalid."""
        embedder = self.embedder
        if not isinstance(embedder, Refinable):
            vectors = unit_vectors(self._embed_texts("queries", queries, embedder, "query"))
            return self._search.set_queries(vectors)
        search = self._search  # its passages come first: one model is in memory at a time
        vectors = unit_vectors(self._embed_texts("queries", queries, embedder.at("fp32"), "query"))

        def embed_queries(rows: Rows) -> npt.NDArray[np.float64]:
            """Embed the queries at some rows, in float64."""
            texts = queries.take(pa.array(rows))
            shards = self._embed_texts("exact-queries", texts, embedder.at("fp64"), "query")
            return gather(shards, np.arange(len(rows)))

        return search.set_queries(vectors, embed_queries)

    @cached_property
    def _search(self) -> "CertainSearch":
        """Make the search over passages that embeds near ties again in more precise formats."""
        search = CertainSearch(self.passages, self.first_stage)
        embedder = self.embedder
        if isinstance(embedder, Refinable):
            finer = _FINER.get(str(self.computed().get("dtype")), ("fp32", "fp64"))

            def embed_passages(level: int, name: str, texts: pa.Array) -> list[VectorShard]:
                """Embed passages more precisely (``level`` 2: most) into files named ``name``."""
                return self._embed_texts(name, texts, embedder.at(finer[level - 1]), "passage")

            search.refine_by(self.corpus, len(finer) + 1, embed_passages)
        return search

    def count_cut(self, queries: pa.Array) -> dict[str, int]:
        """Count passages and queries that the model truncates: name of the count to number."""
        if not isinstance(self.embedder, Refinable):
            return {}
        counts = {}
        texts: dict[Role, Iterator[pa.Array]] = {
            "passage": embedding_texts(self.corpus, self.shard_rows),
            "query": iter([queries]),
        }
        for kind, pieces in texts.items():
            if (found := self.embedder.count_cut(pieces, kind)) is not None:
                plural = {"passage": "passages", "query": "queries"}[kind]
                counts[count_key("texts_cut_by_the_embedder", plural, found[1])] = found[0]
        return counts

    def _embed_texts(
        self, name: str, texts: pa.Array, embedder: Embedder, kind: Role
    ) -> list[VectorShard]:
        """Embed queries or passages into files called ``name``, or read these if they are there.

        Args:
            name: first part of the names of files with the vectors.
            texts: the texts.
            embedder: makes vectors that are not there.
            kind: whether the texts are queries or passages.
        """
        folder = self.query_folder or self.folder
        stage = {"query": "embedding queries", "passage": "embedding close passages again"}[kind]
        pieces = (texts.slice(i, self.shard_rows) for i in range(0, len(texts), self.shard_rows))
        with progress(stage, len(texts), "texts") as advance:
            return ensure_shards(
                folder, name, pieces, embedder, kind, advance, lambda i: str(texts[i])[:60]
            )

    def _read_id(self, position: int) -> str:
        """Read the id of the passage at a position, for error messages."""
        return str(take_rows(self.corpus, np.array([position]), ["_id"])["_id"][0])


class CertainSearch:
    """Search by cosines with error bounds; doubtful ones are computed again in finer formats.

    A passage has a level: 0 for the vectors that all have, then finer ones. Vectors that were
    given, or that a server made, are the only ones there are: their cosines have no error.

    Attributes:
        size: passages.
        bounds: most that a cosine at each level may differ from the exact one.
    """

    def __init__(
        self, shards: list[VectorShard], first_stage: FirstStage = retrieve_candidates
    ) -> None:
        """Set the passage vectors to search, and the function that searches them in float32.

        Args:
            shards: vectors of the corpus, in order.
            first_stage: function that searches them in float32.
        """
        self.size = sum(shard.rows for shard in shards)
        self.bounds = np.zeros(1)
        self._shards, self._first_stage = shards, first_stage
        self._level = np.zeros(self.size, np.int8)
        self._refined: list[list[tuple[Rows, list[VectorShard]]]] = [[]]

    def refine_by(self, corpus: list[Path], n_levels: int, embed: EmbedPassages) -> None:
        """Set the corpus, the number of numeric formats, and the function that embeds in them.

        Args:
            corpus: Parquet files of the passages.
            n_levels: 1 if all vectors are in float64; 2 if they are in float32, with float64 as the
                finer format; 3 if they are coarser, with float32 and float64 as finer formats.
            embed: makes finer vectors.
        """
        self._corpus, self._embed_passages = corpus, embed
        self.bounds = np.full(n_levels, _LEAST_BOUND)
        self.bounds[-1] = 0.0
        self._refined = [[] for _ in range(n_levels)]

    def set_queries(
        self, queries: npt.NDArray[np.float32], embed: EmbedQueries | None = None
    ) -> "CertainSearch":
        """Set the queries' vectors; measure error bounds of cosines on a sample; return the search.

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
                self._embed_exactly(np.arange(len(queries)))
                return self
            if len(self.bounds) > 2:
                rows, positions = self._sample_pairs(_SAMPLE_PASSAGES, _SAMPLE_QUERIES)
                self.refine(rows, positions, max_level=1)
                errors = self._first_errors(rows, positions)
                mean = float((errors**2).sum() / max(len(errors), 1))
                self._widen(0, _DEVIATIONS * mean**0.5 + self.bounds[1])
            self.refine(*self._sample_pairs(_FLOAT32_SAMPLE, _FLOAT32_SAMPLE))
        return self

    @property
    def n_refined(self) -> list[int]:
        """Number of passages that reached each numeric format (all, float32, float64), in order."""
        return [int((self._level >= level).sum()) for level in range(len(self.bounds))]

    def find_candidates(self, query_rows: Rows, k: int) -> tuple[Scores, Rows]:
        """Find each query's k best passages by rough cosine: (bound of other cosines, positions).

        The cosines are of the first vectors, which all passages have.

        Args:
            query_rows: rows of the queries.
            k: passages each; at most all.

        Returns:
            (most that the approximate cosine of any other passage can be, shape (n queries,), -inf
            where there is no other; positions, shape (n queries, k)).
        """
        with progress("searching", self.size, "passages") as advance:
            scores, positions = self._first_stage(
                self._queries[query_rows], self._shards, k, advance
            )
        if k >= self.size:
            return np.full(len(query_rows), -np.inf), positions
        return scores[:, -1].astype(np.float64) + CANDIDATE_ERROR, positions

    def scores(self, query_rows: Rows, positions: Rows) -> tuple[Scores, Scores]:
        """Compute the best known cosines of (query, passage) pairs, and bounds of their errors.

        Args:
            query_rows: rows of the pairs' queries.
            positions: their passages, as positions in the corpus.
        """
        levels = self._level[positions]
        scores, bounds = np.empty(len(query_rows), np.float64), self.bounds[levels]
        for level, refined in enumerate(self._refined):
            mine = np.flatnonzero(levels == level)
            if level == 0:
                scores[mine] = self._rescore(self._shards, query_rows[mine], positions[mine])
            for stored, shards in refined:
                found = np.searchsorted(stored, positions[mine])
                here = stored[np.minimum(found, len(stored) - 1)] == positions[mine]
                at = mine[here]
                scores[at] = self._rescore(shards, query_rows[at], found[here])
        if len(self.bounds) > 1:  # a query in float32 has an error of its own
            half = (levels == len(self.bounds) - 1) & (self._exact_row[query_rows] < 0)
            bounds[half] = self.bounds[-2]
        return scores, bounds

    def refine(self, query_rows: Rows, positions: Rows, max_level: int | None = None) -> None:
        """Replace the vectors of pairs' passages by more precise ones (``max_level``; None: best).

        In the most precise one their queries are embedded again, too. Error bounds widen where the
        new cosines show larger errors of the old ones.

        Args:
            query_rows: rows of the pairs' queries.
            positions: their passages.
            max_level: highest level that they rise to; None for the finest.
        """
        before, levels = self.scores(query_rows, positions)[0], self._level[positions]
        finest = len(self.bounds) - 1
        for level in range(finest if max_level is None else max_level):
            if len(fresh := np.unique(positions[levels == level])):
                self._embed_finer(fresh, level + 1)
        self._embed_exactly(np.unique(query_rows[self._level[positions] == finest]))
        # Passages that rose for earlier queries are measured on these, too.
        first = self._first_errors(query_rows, positions).max(initial=0)
        change = np.abs(self.scores(query_rows, positions)[0] - before)
        last = change[levels >= finest - 1].max(initial=0)
        self._widen(finest - 1, _FLOAT32_MARGIN * (last if finest > 1 else max(first, last)))
        if finest > 1:
            self._widen(0, _APPROXIMATE_MARGIN * first + self.bounds[1])

    def _widen(self, level: int, bound: float) -> None:
        """Raise the error bound of cosines of a precision (``level`` 0: lowest) to ``bound``."""
        self.bounds[level] = max(self.bounds[level], bound)

    def _first_errors(self, query_rows: Rows, positions: Rows) -> Scores:
        """Compute errors of the first, least precise cosines against the best known ones."""
        first = self._rescore(self._shards, query_rows, positions)
        return np.abs(self.scores(query_rows, positions)[0] - first)

    def _embed_finer(self, positions: Rows, level: int) -> None:
        """Embed passages again in a more precise numeric format, and keep the vectors."""
        texts = join_titles(take_rows(self._corpus, positions, ["title", "text"]))
        refined = self._refined[level]
        shards = self._embed_passages(level, f"refined-{level}-{len(refined)}", texts)
        refined.append((positions, shards))
        self._level[positions] = level

    def _embed_exactly(self, query_rows: Rows) -> None:
        """Embed queries in float64, except those that already are.

        Args:
            query_rows: rows of the queries.
        """
        fresh = query_rows[self._exact_row[query_rows] < 0]
        if len(fresh):
            known = len(self._exact_queries)
            made = self._embed_queries(fresh)
            self._exact_queries = np.concatenate([self._exact_queries, made])
            self._exact_row[fresh] = np.arange(known, known + len(fresh))

    def _rescore(self, shards: Sequence[VectorShard], query_rows: Rows, positions: Rows) -> Scores:
        """Compute cosines of (query, passage) pairs from the given shards, in float64.

        Args:
            shards: vectors of the passages.
            query_rows: rows of the pairs' queries.
            positions: their passages, as positions in these shards.
        """
        exact = self._exact_row[query_rows]
        scores = np.empty(len(query_rows), np.float64)
        for mine, queries, of in (
            (exact < 0, self._queries, query_rows),
            (exact >= 0, self._exact_queries, exact),
        ):
            scores[mine] = rescore(queries, shards, of[mine], positions[mine])
        return scores

    def _sample_pairs(self, n_passages: int, n_queries: int) -> tuple[Rows, Rows]:
        """Draw passages and queries; return (query rows, passage positions) of all their pairs."""
        draw = generator(0, "sample of errors")
        positions = np.array(distinct_below(self.size, n_passages, draw, ()), np.int64)
        rows = np.array(distinct_below(len(self._queries), n_queries, draw, ()), np.int64)
        return np.repeat(rows, len(positions)), np.tile(positions, len(rows))


def best_first(scores: Scores, id_ranks: Rows) -> Rows:
    """Get the indices that sort scores from the highest; ties (within TIE) by ``id_ranks``."""
    order = np.lexsort((id_ranks, -scores))
    falling = scores[order]
    groups = np.cumsum(np.append(False, falling[:-1] - falling[1:] > TIE))
    return order[np.lexsort((id_ranks[order], groups))]


def find_undecided(low: Scores, high: Scores, classes: Rows) -> npt.NDArray[np.bool_]:
    """Select cosines to compute more precisely: [low, high] overlaps that of another class.

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


def embedding_texts(corpus: list[Path], shard_rows: int) -> Iterator[pa.Array]:
    """Stream the texts to embed (title and text of each passage), ``shard_rows`` per array."""
    batches = iter_batches(corpus, ["title", "text"], rows=min(shard_rows, ROWS_PER_GROUP))
    return map(pa.concat_arrays, regroup(map(join_titles, batches), shard_rows))


def join_titles(rows: pa.RecordBatch | pa.Table) -> pa.Array:
    """Join title and text of each passage; the text alone if the title is empty or equal to it."""
    joined = pc.binary_join_element_wise(rows["title"], rows["text"], " ")
    is_bare = pc.or_(pc.equal(rows["title"], ""), pc.equal(rows["title"], rows["text"]))
    texts = pc.if_else(is_bare, rows["text"], joined)
    return pa.concat_arrays(texts.chunks) if isinstance(texts, pa.ChunkedArray) else texts
