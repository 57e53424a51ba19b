"""Mining of seemingly relevant and irrelevant passages (RAGE, section 3.1)."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.builders.rage.exclusions import FINE, Exclusions
from citeforge.engines.draws import distinct_below, generator
from citeforge.engines.io.corpus import find_rows, names_at
from citeforge.engines.io.tables import iter_batches
from citeforge.engines.retrieval.records import Rankings
from citeforge.engines.search.two_stage import NOBODY, ExactSearch, TwoStageSearch
from citeforge.schemas.recipes.rage import Mining

_RESERVE_NOMINATIONS = 6
"""Nominations beyond what is asked, so that most queries are settled in one pass."""

_MATRIX_ENTRIES = 1 << 23
"""Entries of a nomination matrix (queries times k) that are held at once."""


@dataclass(frozen=True)
class Mined:
    """One negative of a query.

    Attributes:
        position: in the corpus.
        score: cosine, rounded to 6 decimals.
        rank: 1-based among the query's candidates, those passed over included; 0 where nobody
            ranked it, and the score says nothing.
    """

    position: int
    score: float = 0.0
    rank: int = 0


@dataclass
class _Chosen:
    """What a query is given.

    Attributes:
        passages: nearest first.
        dropped: verdicts on candidates that were passed over for their text.
        above: option to candidates that were passed over for a score above its limit.
        certain: whether no other passage can belong among them.
        stands: margin of rough scores below which that holds; infinite where it is proof.
    """

    passages: list[Mined] = field(default_factory=list)
    dropped: Counter[int] = field(default_factory=Counter)
    above: Counter[str] = field(default_factory=Counter)
    certain: bool = True
    stands: float = np.inf


class SeeminglyRelevant:
    """Finds the nearest non-relevant passages of every query.

    Attributes:
        dropped: verdicts on candidates that were passed over for their text.
        above: option that sets a limit to candidates that were passed over for a score above it.
        n_measured: queries whose lists a measured margin settled, where not all was embedded
            exactly.
        n_unsettled: queries that nominations of no depth settled.
    """

    def __init__(self, search: ExactSearch | TwoStageSearch, exclusions: Exclusions) -> None:
        self.search, self.exclusions = search, exclusions
        self.mining = exclusions.mining
        self.n_queries = len(exclusions.relevant)
        self.n_measured = self.n_unsettled = 0
        self._least = np.full(self.n_queries, -np.inf)
        self.dropped: Counter[int] = Counter()
        self._ceiling = self._ceilings()
        self.above = Counter(dict.fromkeys(self._ceiling, 0))

    def _ceilings(self) -> dict[str, npt.NDArray[np.float64]]:
        """Option to the highest score that it allows to a candidate of each query."""
        n = self.n_queries
        ceilings: dict[str, npt.NDArray[np.float64]] = {}
        if self.mining.max_score is not None:
            ceilings["--max-score"] = np.full(n, self.mining.max_score)
        relevant = self.exclusions.relevant
        share = self.mining.relative_margin
        if self.mining.margin is not None or share is not None:
            rows = np.repeat(np.arange(n), [len(r) for r in relevant])
            positions = np.array([p for r in relevant for p in r], np.int64)
            best = np.full(n, -np.inf)
            np.maximum.at(best, rows, self.search.rescore(rows, positions))
            finite = np.isfinite(best)  # without a relevant passage there is nothing to compare to
            best = np.where(finite, best, 0.0)
            if self.mining.margin is not None:
                limit = np.where(finite, np.round(best - self.mining.margin, 6), np.inf)
                ceilings["--margin"] = limit
            if share is not None:
                # A share of a negative score would be above it.
                limit = np.where(finite, np.round(best - (1 - share) * np.abs(best), 6), np.inf)
                ceilings["--relative-margin"] = limit
        return ceilings

    def mine(self) -> list[list[Mined]]:
        """Up to ``mining.seemingly_relevant`` passages for each query, nearest first."""
        results: list[_Chosen] = [_Chosen() for _ in range(self.n_queries)]
        open_rows = np.arange(self.n_queries)
        extra = min(max((len(f) for f in self.exclusions.forbidden), default=0), 32)
        k = nominations(self.mining) + extra
        while len(open_rows) and self.mining.seemingly_relevant:
            k = min(k, self.search.size)
            undecided = []
            step = max(1, _MATRIX_ENTRIES // k)
            for start in range(0, len(open_rows), step):
                rows = open_rows[start : start + step]
                undecided.extend(self._search(rows, k, results))
            # A list that stood by a margin is looked at again when more than that was seen.
            fallen = [r for r, c in enumerate(results) if c.stands <= self.search.margin]
            open_rows = np.union1d(undecided, fallen).astype(np.int64)
            if not self.search.is_deepest(k):
                k *= 4
        for each in results:
            self.dropped += each.dropped
            self.above.update(each.above)
            self.n_measured += each.certain and each.stands < np.inf
            self.n_unsettled += not each.certain
        return [each.passages for each in results]

    def _search(self, rows: npt.NDArray[np.int64], k: int, results: list[_Chosen]) -> list[int]:
        """Settle what k nominations can settle; returns the rows that need more."""
        bounds, positions = self.search.retrieve_candidates(rows, k, self._least[rows])
        pairs = [
            (row, position)
            for row, candidates in zip(rows.tolist(), positions.tolist(), strict=True)
            for position in candidates
            if position != NOBODY and position not in self.exclusions.forbidden[row]
        ]
        pair_rows, pair_positions = np.array(pairs, np.int64).reshape(-1, 2).T
        exact = self.search.rescore(pair_rows, pair_positions)
        verdicts = self.exclusions.verdicts(pair_rows, pair_positions)
        _, places = names_at(self.exclusions.corpus, pair_positions)
        order = np.lexsort((places, -exact, pair_rows))
        ends = np.searchsorted(pair_rows[order], np.append(rows, rows[-1] + 1))
        undecided = []
        for i, row in enumerate(rows.tolist()):
            mine = order[ends[i] : ends[i + 1]]
            result = self._choose(row, mine, pair_positions, exact, verdicts)
            whole = len(result.passages) == self.mining.seemingly_relevant
            last = result.passages[-1].score if whole else -np.inf
            # What scores above all that was not scored is certain.
            result.certain = bool(bounds[i] < last or bounds[i] == -np.inf)
            if result.certain and self.search.quantized:
                result.stands = float(self.search.margin + last - bounds[i])
            if result.certain or self.search.is_deepest(k):
                results[row] = result
            else:
                undecided.append(row)
            self._least[row] = last
        return undecided

    def _choose(
        self,
        row: int,
        order: npt.NDArray[np.int64],
        positions: npt.NDArray[np.int64],
        exact: npt.NDArray[np.float64],
        verdicts: npt.NDArray[np.int8],
    ) -> _Chosen:
        """The query's passages among those scored."""
        result = _Chosen()
        for rank, i in enumerate(order.tolist(), 1):
            score = float(exact[i])
            if rank <= self.mining.skip_top:
                continue
            option = next((o for o, limit in self._ceiling.items() if score > limit[row]), None)
            if option is not None:
                result.above[option] += 1
                continue
            if verdicts[i] != FINE:
                result.dropped[int(verdicts[i])] += 1
                continue
            result.passages.append(Mined(int(positions[i]), score, rank))
            if len(result.passages) == self.mining.seemingly_relevant:
                break
        return result


def nominations(mining: Mining) -> int:
    """Nominations a query in the first pass, passages that may be relevant not counted."""
    return mining.skip_top + mining.seemingly_relevant + _RESERVE_NOMINATIONS


def mine_ranked(rankings: Rankings, exclusions: Exclusions) -> list[list[Mined]]:
    """The best ranked passages of every query that are not relevant, out of somebody's ranking.

    Args:
        rankings: of all queries, in the order of ``exclusions``; passages of the corpus.
        exclusions: what may not stand as a negative.

    Returns:
        Passages of each query, best first: the score is the ranking's, the rank counts candidates
        that are no exclusions. Those passed over for their text are counted.
    """
    mining, number = exclusions.mining, exclusions.mining.seemingly_relevant
    names = list({r.docid for row in rankings.values() for r in row})
    positions, indices = find_rows(exclusions.corpus, "_id", pa.array(names, pa.string()))
    at = {names[i]: p for p, i in zip(positions.tolist(), indices.tolist(), strict=True)}
    candidates = [
        iter(
            [
                Mined(at[r.docid], r.score, rank)
                for rank, r in enumerate((r for r in row if at[r.docid] not in forbidden), 1)
            ][mining.skip_top :]
        )
        for row, forbidden in zip(rankings.values(), exclusions.forbidden, strict=True)
    ]
    best: list[list[Mined]] = [[] for _ in candidates]
    dropped: Counter[int] = Counter()
    while block := [
        (row, one)
        for row, following in enumerate(candidates)
        if len(best[row]) < number
        for one in islice(following, number)
    ]:
        rows = np.array([row for row, _ in block], np.int64)
        verdicts = exclusions.verdicts(rows, np.array([m.position for _, m in block], np.int64))
        for (row, one), verdict in zip(block, verdicts.tolist(), strict=True):
            if len(best[row]) == number:
                continue
            if verdict == FINE:
                best[row].append(one)
            else:
                dropped[verdict] += 1
    exclusions.note_dropped("seemingly relevant", dropped)
    return best


def draw_irrelevant(
    query_ids: list[str], exclusions: Exclusions, mined: list[list[Mined]], seed: int
) -> list[list[Mined]]:
    """Uniform draws over the corpus, disjoint from relevant and seemingly relevant passages.

    Args:
        query_ids: ids, which key the draws.
        exclusions: what may not be drawn.
        mined: seemingly relevant passages of each query.
        seed: seed of the draws.

    Returns:
        Passages of each query in the order drawn. Those dropped for their text are counted.
    """
    number = exclusions.mining.irrelevant
    size = sum(b.num_rows for b in iter_batches(exclusions.corpus, ["_id"]))
    drawn: list[list[Mined]] = [[] for _ in query_ids]
    dropped: Counter[int] = Counter()
    open_rows = list(range(len(query_ids)))
    ask = 2 * number + _RESERVE_NOMINATIONS if exclusions.reads_texts else number
    while open_rows and number:
        candidates = []
        for row in open_rows:
            barred = exclusions.forbidden[row] | {m.position for m in mined[row]}
            rng = generator(seed, "irrelevant", query_ids[row])
            candidates.append(distinct_below(size, ask, rng, barred))
        sizes = [len(positions) for positions in candidates]
        rows = np.repeat(np.array(open_rows, np.int64), sizes)
        positions = np.array([p for mine in candidates for p in mine], np.int64)
        verdicts = np.split(exclusions.verdicts(rows, positions), np.cumsum(sizes)[:-1])
        still_open = []
        for row, mine, verdict in zip(open_rows, candidates, verdicts, strict=True):
            fitting = [Mined(p) for p, v in zip(mine, verdict, strict=True) if v == FINE]
            drawn[row] = fitting[:number]
            if len(fitting) < number and len(mine) == ask:
                still_open.append(row)
            else:
                dropped.update(verdict[verdict != FINE].tolist())
        open_rows = still_open
        ask *= 4
    exclusions.note_dropped("irrelevant", dropped)
    return drawn
