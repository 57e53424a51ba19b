"""Mining of seemingly relevant passages, by vectors (RAGE, section 3.1) or from rankings."""

from collections import Counter
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.builders.rage.exclusions import FINE, Exclusions
from citeforge.engines.retrieval.certain import TIE, CertainSearch, best_first, find_undecided
from citeforge.engines.retrieval.records import Rankings
from citeforge.engines.tables import find_rows, read_ids_and_ranks
from citeforge.schemas.tables import SEEMINGLY_RELEVANT

_SPARE_CANDIDATES = 32
"""Candidates beyond the number asked for, so that most queries need one pass."""
_MATRIX_ENTRIES = 1 << 23
"""Entries of a candidate matrix (queries times k) that are held at once."""
_SKIPPED, _CHOSEN, _OTHER = range(3)
"""Classes of candidates: nearer than the chosen ones, chosen, and farther."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Negative:
    """One negative of a query: its position, score and rank.

    Attributes:
        position: in the corpus.
        score: cosine as far as it is known, or the score in a given ranking.
        rank: 1-based among the query's candidates by that score, those passed over included; 0
            if it was not ranked and has no score.
    """

    position: int
    score: float = 0.0
    rank: int = 0


def mine_ranked(rankings: Rankings, exclusions: Exclusions) -> list[list[Negative]]:
    """Take each query's best ranked allowed passages from given rankings as negatives.

    Args:
        rankings: rankings of all queries, in the order of ``exclusions``; passages of the corpus.
        exclusions: passages that must not be negatives.

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
                Negative(at[r.docid], r.score, rank)
                for rank, r in enumerate((r for r in row if at[r.docid] not in forbidden), 1)
            ][mining.skip_top :]
        )
        for row, forbidden in zip(rankings.values(), exclusions.forbidden, strict=True)
    ]
    best: list[list[Negative]] = [[] for _ in candidates]
    dropped: Counter[int] = Counter()
    while block := [
        (row, one)
        for row, following in enumerate(candidates)
        if len(best[row]) < number
        for one in islice(following, number)
    ]:
        rows = np.array([row for row, _ in block], np.int64)
        verdicts = exclusions.classify(rows, np.array([m.position for _, m in block], np.int64))
        for (row, one), verdict in zip(block, verdicts.tolist(), strict=True):
            if len(best[row]) == number:
                continue
            if verdict == FINE:
                best[row].append(one)
            else:
                dropped[verdict] += 1
    exclusions.count_dropped(SEEMINGLY_RELEVANT, dropped)
    return best


@dataclass
class _MinedQuery:
    """Negatives selected for one query, and what is still uncertain about them.

    Attributes:
        passages: in the order of the corpus.
        dropped: verdicts on candidates that were passed over for their text.
        above: option to candidates that were passed over for a score above its limit.
        lowest: lowest possible score of the farthest passage; -inf if too few were found.
        unclear: candidates to make out better, as indices of pairs.
        is_limit_unclear: whether the relevant passages, which limits come from, are to be, too.
    """

    passages: list[Negative]
    dropped: Counter[int]
    above: Counter[str]
    lowest: float
    unclear: npt.NDArray[np.int64]
    is_limit_unclear: bool


@dataclass(frozen=True)
class _Pairs:
    """Candidate passages of some queries, ordered by query.

    Attributes:
        rows: the query of each.
        positions: its row in the corpus.
        id_ranks: rank of its id among their ids, which breaks ties.
        verdicts: on its text.
    """

    rows: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]
    id_ranks: npt.NDArray[np.int64]
    verdicts: npt.NDArray[np.int8]


class SeeminglyRelevant:
    """Finds the nearest non-relevant passages of every query.

    Which passages these are does not depend on what vectors were computed in: where bounds of
    cosines leave it open, the passages concerned are embedded in finer numbers.

    Attributes:
        dropped: verdicts on candidates that were passed over for their text.
        above: option that sets a limit to candidates that were passed over for a score above it.
    """

    def __init__(
        self,
        search: CertainSearch,
        exclusions: Exclusions,
        n_wanted: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """Prepare to mine ``n_wanted`` nearest passages per query, except excluded ones.

        Args:
            search: search over the corpus, with the queries set.
            exclusions: passages to pass over.
            n_wanted: passages wanted for each query; None for the mining's number.
        """
        self.search, self.exclusions = search, exclusions
        self.mining = exclusions.mining
        self.n_queries = len(exclusions.relevant)
        if n_wanted is None:
            n_wanted = np.full(self.n_queries, self.mining.seemingly_relevant)
        self._n_wanted = n_wanted
        self.dropped: Counter[int] = Counter()
        self.above = Counter(dict.fromkeys(self._score_limits(np.empty(0, np.int64)), 0))

    def mine(self) -> list[list[Negative]]:
        """Find each query's nearest allowed passages, up to the wanted number, in corpus order."""
        results: dict[int, _MinedQuery] = {}
        open_rows = np.flatnonzero(self._n_wanted)
        extra = min(max((len(f) for f in self.exclusions.forbidden), default=0), 32)
        k = self.mining.skip_top + self.mining.seemingly_relevant + _SPARE_CANDIDATES + extra
        while len(open_rows):
            k, bounds = min(k, self.search.size), self.search.bounds.copy()
            step = max(1, _MATRIX_ENTRIES // k)
            undecided = [
                row
                for start in range(0, len(open_rows), step)
                for row in self._mine_queries(open_rows[start : start + step], k, results)
            ]
            # Lists stand by the bounds: where these have grown, all are looked at again.
            grown = (self.search.bounds > bounds).any()
            open_rows = np.flatnonzero(self._n_wanted) if grown else np.array(undecided, np.int64)
            k *= 4
        for chosen in results.values():
            self.dropped += chosen.dropped
            self.above.update(chosen.above)
        return [results[r].passages if r in results else [] for r in range(self.n_queries)]

    def _mine_queries(
        self, query_indexes: npt.NDArray[np.int64], k: int, results: dict[int, _MinedQuery]
    ) -> list[int]:
        """Mine negatives among queries' k nearest into ``results``; return queries that need more.

        Args:
            query_indexes: numbers of the queries.
            k: candidates per query.
            results: takes in the negatives of each query by its number.

        Returns:
            Numbers of the queries that need a larger k.
        """
        others, candidates = self.search.find_candidates(query_indexes, k)
        pairs = self._pair_up(query_indexes, candidates)
        todo = query_indexes
        while True:
            still_open, unclear = [], []
            cuts = np.searchsorted(pairs.rows, [todo, todo + 1]).T
            of_query = [np.arange(start, end) for start, end in cuts.tolist()]
            of_todo = np.concatenate(of_query)
            known = self.search.scores(pairs.rows[of_todo], pairs.positions[of_todo])
            ends = np.cumsum([len(indices) for indices in of_query])[:-1]
            scores, bounds = (np.split(values, ends) for values in known)
            limits = self._score_limits(todo)
            for i, row in enumerate(todo.tolist()):
                limits_of = {option: (low[i], high[i]) for option, (low, high) in limits.items()}
                n_wanted = int(self._n_wanted[row])
                chosen = self._select_negatives(
                    n_wanted, of_query[i], pairs, scores[i], bounds[i], limits_of
                )
                results[row] = chosen
                if len(chosen.unclear) or chosen.is_limit_unclear:
                    still_open.append(row)
                    positions = pairs.positions[chosen.unclear].tolist()
                    positions += self.exclusions.relevant[row] if chosen.is_limit_unclear else []
                    unclear += [(row, position) for position in positions]
            if not still_open:
                break
            before = self.search.bounds.copy()
            self.search.refine(*np.array(unclear, np.int64).T)
            todo = (
                query_indexes
                if (self.search.bounds > before).any()
                else np.array(still_open, np.int64)
            )
        margin = self.search.bounds[0]
        return [
            row
            for i, row in enumerate(query_indexes.tolist())
            if others[i] > -np.inf and results[row].lowest <= others[i] + margin
        ]

    def _pair_up(
        self, query_indexes: npt.NDArray[np.int64], candidates: npt.NDArray[np.int64]
    ) -> _Pairs:
        """Pair queries with their candidate passages, except excluded ones, in columns.

        Args:
            query_indexes: numbers of the queries.
            candidates: corpus positions of the candidates, one row per query.
        """
        forbidden = self.exclusions.forbidden
        pairs = [
            (row, position)
            for row, found in zip(query_indexes.tolist(), candidates.tolist(), strict=True)
            for position in found
            if position not in forbidden[row]
        ]
        pair_rows, positions = np.array(pairs, np.int64).reshape(-1, 2).T
        verdicts = self.exclusions.classify(pair_rows, positions)
        _, id_ranks = read_ids_and_ranks(self.exclusions.corpus, positions)
        return _Pairs(pair_rows, positions, id_ranks, verdicts)

    def _score_limits(
        self, query_indexes: npt.NDArray[np.int64]
    ) -> dict[str, tuple[Floats, Floats]]:
        """Compute, per option such as ``--margin``, bounds of the highest allowed cosine.

        Args:
            query_indexes: numbers of the queries.

        Returns:
            Option to (lower bounds, upper bounds), one of each per query.
        """
        mining, n = self.mining, len(query_indexes)
        limits: dict[str, tuple[Floats, Floats]] = {}
        if mining.max_score is not None:
            limits["--max-score"] = np.full(n, mining.max_score), np.full(n, mining.max_score)
        if mining.margin is None and mining.relative_margin is None:
            return limits
        relevant = [self.exclusions.relevant[row] for row in query_indexes.tolist()]
        query_of = np.repeat(np.arange(n), [len(r) for r in relevant])
        positions = np.array([p for r in relevant for p in r], np.int64)
        scores, bounds = self.search.scores(query_indexes[query_of], positions)
        # Without a relevant passage there is nothing to compare to.
        best = np.full((2, n), -np.inf)
        np.maximum.at(best[0], query_of, scores - bounds)
        np.maximum.at(best[1], query_of, scores + bounds)
        best[np.isinf(best)] = np.inf
        if (margin := mining.margin) is not None:
            limits["--margin"] = best[0] - margin, best[1] - margin
        if (share := mining.relative_margin) is not None:
            # A share of a negative score would be above it.
            finite = np.where(np.isfinite(best), best, 0)
            low, high = np.where(np.isfinite(best), finite - (1 - share) * np.abs(finite), np.inf)
            limits["--relative-margin"] = low, high
        return limits

    def _select_negatives(
        self,
        n_wanted: int,
        query_pairs: npt.NDArray[np.int64],
        pairs: _Pairs,
        scores: Floats,
        error_bounds: Floats,
        cosine_limits: dict[str, tuple[float, float]],
    ) -> _MinedQuery:
        """Select one query's negatives; also list candidates with too imprecise cosines.

        Args:
            n_wanted: how many to select.
            query_pairs: the query's candidates, as indices of ``pairs``.
            pairs: candidates of all queries.
            scores: best known cosine of each candidate of the query.
            error_bounds: most that it may differ from the exact cosine.
            cosine_limits: option to bounds (least, most) of the highest score that it allows.
        """
        positions, verdicts = pairs.positions[query_pairs], pairs.verdicts[query_pairs]
        nearest_first = best_first(scores, pairs.id_ranks[query_pairs])
        low, high = scores - error_bounds, scores + error_bounds
        fitting, dropped, above = list[int](), Counter[int](), Counter[str]()
        is_near_limit = np.zeros(len(query_pairs), np.bool_)
        for i in nearest_first[self.mining.skip_top :].tolist():
            exceeded = None
            for option, (least, most) in cosine_limits.items():
                if (
                    low[i] <= most + TIE
                    and high[i] >= least - TIE
                    and (most > least or error_bounds[i])
                ):
                    is_near_limit[i] = True
                if exceeded is None and scores[i] > (least + most) / 2 + TIE:
                    exceeded = option
            if exceeded is None and verdicts[i] == FINE:
                fitting.append(i)
            elif len(fitting) >= n_wanted:
                continue  # farther than all chosen ones
            elif exceeded is not None:
                above[exceeded] += 1
            else:
                dropped[int(verdicts[i])] += 1
        compared = np.array(fitting, np.int64)
        chosen = compared[:n_wanted]
        lowest = float(low[chosen].min()) if len(chosen) == n_wanted else -np.inf
        classes = np.full(len(query_pairs), _OTHER)
        classes[nearest_first[: self.mining.skip_top]] = _SKIPPED
        classes[chosen] = _CHOSEN
        is_unclear = np.zeros(len(query_pairs), np.bool_)
        is_unclear[compared] = find_undecided(low[compared], high[compared], classes[compared])
        if self.mining.skip_top:
            is_unclear |= find_undecided(low, high, np.minimum(classes, _CHOSEN))
        is_near_limit &= high >= lowest  # what is farther than all chosen ones does not matter
        is_unclear |= is_near_limit & (error_bounds > 0)
        spans = (
            [most - least for least, most in cosine_limits.values()] if is_near_limit.any() else []
        )
        limit_bound = max(spans, default=0) / 2
        # What is known least is made out first: it may be all that the others overlap with.
        widest = max(limit_bound, error_bounds[is_unclear].max(initial=0))
        is_unclear &= error_bounds >= widest
        ranks = np.empty(len(query_pairs), np.int64)
        ranks[nearest_first] = np.arange(1, len(query_pairs) + 1)
        passages = [
            Negative(int(positions[i]), float(scores[i]), int(ranks[i]))
            for i in chosen[np.argsort(positions[chosen])].tolist()
        ]
        unclear = query_pairs[is_unclear]
        return _MinedQuery(passages, dropped, above, lowest, unclear, 0 < limit_bound >= widest)
