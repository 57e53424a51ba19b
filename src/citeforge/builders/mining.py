"""Mining of seemingly relevant and irrelevant passages (RAGE, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citeforge.builders.exclusions import Exclusions, carriers
from citeforge.engines.corpus import names_at
from citeforge.engines.draws import distinct_below, generator
from citeforge.engines.two_stage import NOMINATED, ExactSearch, TwoStageSearch
from citeforge.schemas.recipes.rage import Mining

_RESERVE = 6
"""Nominations beyond what is asked, so that most queries are settled in one pass."""

_MATRIX = 1 << 23
"""Entries of a nomination matrix (queries times k) that are held at once."""


@dataclass(frozen=True)
class Mined:
    """One seemingly relevant passage of a query.

    Attributes:
        position: in the corpus.
        score: cosine, rounded to 6 decimals.
        rank: 1-based among the query's candidates, those passed over included.
    """

    position: int
    score: float
    rank: int


class SeeminglyRelevant:
    """Finds the nearest non-relevant passages of every query.

    Attributes:
        n_answer_carriers: candidates that were passed over because they hold a gold answer.
        n_measured: queries whose lists a measured margin settled, where not all was embedded
            exactly.
        n_unsettled: queries that nominations of no depth settled.
    """

    def __init__(
        self,
        corpus: list[Path],
        search: ExactSearch | TwoStageSearch,
        exclusions: Exclusions,
        mining: Mining,
    ) -> None:
        self.corpus = corpus
        self.search = search
        self.exclusions = exclusions
        self.mining = mining
        self.n_queries = len(exclusions.relevant)
        self.n_answer_carriers = self.n_measured = self.n_unsettled = 0
        self._ceiling = self._ceilings()

    def _ceilings(self) -> npt.NDArray[np.float64]:
        """Highest score allowed to a candidate of each query."""
        n = self.n_queries
        ceiling = np.full(n, np.inf)
        if self.mining.max_score is not None:
            ceiling[:] = self.mining.max_score
        relevant = self.exclusions.relevant
        if self.mining.margin is not None:
            rows = np.repeat(np.arange(n), [len(r) for r in relevant])
            positions = np.array([p for r in relevant for p in r], np.int64)
            best = np.full(n, -np.inf)
            np.maximum.at(best, rows, self.search.rescore(rows, positions))
            known = np.isfinite(best)  # without a relevant passage there is nothing to compare to
            limit = np.round(best[known] - self.mining.margin, 6)
            ceiling[known] = np.minimum(ceiling[known], limit)
        return ceiling

    def mine(self) -> list[list[Mined]]:
        """Up to ``mining.seemingly_relevant`` passages for each query, nearest first."""
        found: list[list[Mined]] = [[] for _ in range(self.n_queries)]
        open_rows = np.arange(self.n_queries)
        extra = min(max((len(f) for f in self.exclusions.forbidden), default=0), 32)
        k = nominations(self.mining, self.search.rough) + extra
        while len(open_rows) and self.mining.seemingly_relevant:
            k = min(k, self.search.size)
            undecided = []
            step = max(1, _MATRIX // k)
            for start in range(0, len(open_rows), step):
                rows = open_rows[start : start + step]
                undecided.extend(self._search(rows, k, found))
            open_rows = np.array(undecided, np.int64)
            k *= 4
        return found

    def _search(self, rows: npt.NDArray[np.int64], k: int, found: list[list[Mined]]) -> list[int]:
        """Settle what k nominations can settle; returns the rows that need more."""
        bounds, positions = self.search.nominate(rows, k)
        pairs = [
            (row, position)
            for row, candidates in zip(rows.tolist(), positions.tolist(), strict=True)
            for position in candidates
            if position not in self.exclusions.forbidden[row]
        ]
        if pairs:
            pair_rows, pair_positions = (np.array(c, np.int64) for c in zip(*pairs, strict=True))
        else:
            pair_rows = pair_positions = np.empty(0, np.int64)
        exact = self.search.rescore(pair_rows, pair_positions)
        carried = self._carriers(pair_rows, pair_positions)
        _, places = names_at(self.corpus, pair_positions)
        order = np.lexsort((places, -exact, pair_rows))
        ends = np.searchsorted(pair_rows[order], np.append(rows, rows[-1] + 1))
        undecided = []
        for i, row in enumerate(rows.tolist()):
            mine = order[ends[i] : ends[i + 1]]
            # What scores above all that was not nominated is certain.
            chosen = self._choose(row, mine, pair_positions, exact, carried, float(bounds[i]))
            if chosen is not None:
                self.n_measured += self.search.rough and k < self.search.size
            elif self.search.is_deepest(k):
                chosen = self._choose(row, mine, pair_positions, exact, carried, -np.inf)
                self.n_unsettled += 1
            if chosen is None:
                undecided.append(row)
            else:
                found[row] = chosen
        return undecided

    def _choose(
        self,
        row: int,
        order: npt.NDArray[np.int64],
        positions: npt.NDArray[np.int64],
        exact: npt.NDArray[np.float64],
        carried: npt.NDArray[np.bool_],
        certain: float,
    ) -> list[Mined] | None:
        """The query's passages, or None when a passage not nominated might belong among them."""
        chosen: list[Mined] = []
        carriers_met = 0
        for rank, i in enumerate(order.tolist(), 1):
            score = float(exact[i])
            if score <= certain:
                return None
            if rank <= self.mining.skip_top or score > self._ceiling[row]:
                continue
            if carried[i]:
                carriers_met += 1
                continue
            chosen.append(Mined(int(positions[i]), score, rank))
            if len(chosen) == self.mining.seemingly_relevant:
                break
        else:
            if certain != -np.inf:
                return None
        self.n_answer_carriers += carriers_met
        return chosen

    def _carriers(
        self, rows: npt.NDArray[np.int64], positions: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        if not self.mining.exclude_answers or not len(rows):
            return np.zeros(len(rows), np.bool_)
        return carriers(self.corpus, rows, positions, self.exclusions.answers)


def nominations(mining: Mining, rough: bool) -> int:
    """Nominations a query in the first pass, passages that may be relevant not counted."""
    asked = mining.skip_top + mining.seemingly_relevant
    return (NOMINATED if rough else 1) * asked + _RESERVE


def draw_irrelevant(
    corpus: list[Path],
    size: int,
    query_ids: list[str],
    exclusions: Exclusions,
    taken: list[list[Mined]],
    mining: Mining,
    seed: int,
) -> tuple[list[list[int]], int]:
    """Uniform draws over the corpus, disjoint from relevant and seemingly relevant passages.

    Args:
        corpus: Parquet files of the corpus.
        size: number of passages in it.
        query_ids: ids, which key the draws.
        exclusions: what may not be drawn.
        taken: seemingly relevant passages of each query.
        mining: how many, and whether carriers of short answers are dropped.
        seed: seed of the draws.

    Returns:
        (positions for each query in the order drawn, number of answer carriers dropped).
    """
    wanted = mining.irrelevant
    drawn: list[list[int]] = [[] for _ in query_ids]
    dropped = 0
    open_rows = list(range(len(query_ids)))
    ask = wanted if not mining.exclude_answers else 2 * wanted + _RESERVE
    while open_rows and wanted:
        candidates = {}
        for row in open_rows:
            barred = exclusions.forbidden[row] | {m.position for m in taken[row]}
            rng = generator(seed, "irrelevant", query_ids[row])
            candidates[row] = distinct_below(size, ask, rng, barred)
        kept = _without_carriers(corpus, candidates, exclusions, mining)
        still_open = []
        for row in open_rows:
            drawn[row] = kept[row][:wanted]
            if len(drawn[row]) < wanted and len(candidates[row]) == ask:
                still_open.append(row)
            else:
                dropped += len(candidates[row]) - len(kept[row])
        open_rows = still_open
        ask *= 4
    return drawn, dropped


def _without_carriers(
    corpus: list[Path], candidates: dict[int, list[int]], exclusions: Exclusions, mining: Mining
) -> dict[int, list[int]]:
    if not mining.exclude_answers:
        return candidates
    pairs = [(row, position) for row, positions in candidates.items() for position in positions]
    if not pairs:
        return candidates
    rows, positions = (np.array(c, np.int64) for c in zip(*pairs, strict=True))
    carried = carriers(corpus, rows, positions, exclusions.answers)
    kept: dict[int, list[int]] = {row: [] for row in candidates}
    for (row, position), bad in zip(pairs, carried.tolist(), strict=True):
        if not bad:
            kept[row].append(position)
    return kept
