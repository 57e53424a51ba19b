"""Mining of seemingly relevant passages (RAGE, section 3.1), and the passages to exclude."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.retrieval.certain import TIE, CertainSearch, best_first, find_undecided
from citeforge.engines.tables import find_rows, read_ids_and_ranks, take_rows
from citeforge.engines.text.overlap import Shingles, shared, shingles
from citeforge.schemas.recipes.rage import Mining
from citeforge.schemas.text import contains_answer, normalise_answer, normalise_passages

FINE, ANSWER, PIECE = 0, 1, 2
"""Verdicts of the text rules on a candidate."""
WORDS = {ANSWER: "contain an answer", PIECE: "share text with a relevant passage"}
"""Descriptions of the verdicts, for counts."""
_SPARE_CANDIDATES = 32
"""Candidates beyond the number asked for, so that most queries need one pass."""
_MATRIX_ENTRIES = 1 << 23
"""Entries of a candidate matrix (queries times k) that are held at once."""
_SKIPPED, _CHOSEN, _OTHER = range(3)
"""Classes of candidates: nearer than the chosen ones, chosen, and farther."""

Floats = npt.NDArray[np.float64]


@dataclass
class Exclusions:
    """Passages that must not be negatives of each query, by position and by text.

    Texts are read, and cut into shingles, once a call; those of relevant passages once in all.

    Attributes:
        corpus: Parquet files.
        mining: options of the mining, with the rules on texts.
        relevant: positions of the query's relevant passages, in the order of the judgements.
        forbidden: those; passages with the same normalised text as one of them; and, unless they
            are wanted, the query itself: passages with its id or its text.
        answers: gold short answers of the query; empty when they are not to be looked for.
        counts: how many passages each rule excluded.
    """

    corpus: list[Path]
    mining: Mining
    relevant: list[list[int]]
    forbidden: list[set[int]]
    answers: list[list[str]]
    counts: dict[str, int] = field(default_factory=dict)
    _shingles: dict[int, Shingles] = field(default_factory=dict)

    @property
    def reads_texts(self) -> bool:
        """Whether an exclusion rule needs the texts of passages."""
        return self.mining.exclude_answers or self.mining.exclude_contained

    def verdicts(
        self, rows: npt.NDArray[np.int64], positions: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int8]:
        """Classify (query, passage) pairs: FINE, ANSWER (has one), PIECE (of a relevant text)."""
        verdicts = np.zeros(len(rows), np.int8)
        if not self.reads_texts or not len(rows):
            return verdicts
        unique, inverse = np.unique(positions, return_inverse=True)
        texts: list[str] = take_rows(self.corpus, unique, ["text"])["text"].to_pylist()
        pairs = list(zip(rows.tolist(), inverse.tolist(), strict=True))
        if self.mining.exclude_answers:
            forms = [normalise_answer(t) for t in texts]
            for i, (row, at) in enumerate(pairs):
                if contains_answer(forms[at], self.answers[row]):
                    verdicts[i] = ANSWER
        if self.mining.exclude_contained:
            self._add_shingles({p for row, _ in pairs for p in self.relevant[row]})
            cut = [shingles(t) for t in texts]
            least = self.mining.contained
            for i, (row, at) in enumerate(pairs):
                if verdicts[i] == FINE and any(
                    shared(cut[at], self._shingles[p]) >= least for p in self.relevant[row]
                ):
                    verdicts[i] = PIECE
        return verdicts

    def _add_shingles(self, positions: set[int]) -> None:
        """Compute and keep the runs of words (shingles) of passages at given corpus positions."""
        if new := sorted(positions - self._shingles.keys()):
            texts = take_rows(self.corpus, np.array(new, np.int64), ["text"])["text"].to_pylist()
            self._shingles.update(zip(new, map(shingles, texts), strict=True))

    def note_dropped(self, what: str, dropped: Counter[int]) -> None:
        """Record how many candidates each text rule dropped, zero included."""
        rules = {ANSWER: self.mining.exclude_answers, PIECE: self.mining.exclude_contained}
        for verdict, words in WORDS.items():
            if rules[verdict]:
                self.counts[f"{what} candidates dropped: {words}"] = dropped[verdict]


def find_exclusions(
    corpus: list[Path],
    mining: Mining,
    queries: pa.Table,
    relevant: pa.Table,
    relevant_positions: npt.NDArray[np.int64],
    answers: list[list[str]],
) -> Exclusions:
    """Find, for each query, the passages that must not be mined as its negatives.

    Args:
        corpus: Parquet files of the corpus.
        mining: options of the mining, which exclude further passages.
        queries: schema QUERIES.
        relevant: schema MAPPING, only queries of ``queries``.
        relevant_positions: corpus position of each row of ``relevant``.
        answers: short answers of each query whose carriers are excluded; empty lists for none.
    """
    row_of = {name: row for row, name in enumerate(queries["_id"].to_pylist())}
    result = Exclusions(corpus, mining, [[] for _ in row_of], [set() for _ in row_of], answers)
    for name, position in zip(
        relevant["query-id"].to_pylist(), relevant_positions.tolist(), strict=True
    ):
        result.relevant[row_of[name]].append(position)
    for row, positions in enumerate(result.relevant):
        result.forbidden[row].update(positions)
    _exclude_equal_texts(result)
    if not mining.keep_self:
        _exclude_queries(queries, result)
    return result


def _exclude_equal_texts(result: Exclusions) -> None:
    """Exclude passages with the same normalised text as a relevant passage of the query."""
    unique = np.unique([p for positions in result.relevant for p in positions]).astype(np.int64)
    if not len(unique):
        return
    texts = normalise_passages(
        pa.concat_arrays(take_rows(result.corpus, unique, ["text"])["text"].chunks)
    )
    carriers = _find_all(result.corpus, "text", texts, "looking for copies of relevant passages")
    twins = dict(zip(unique.tolist(), carriers, strict=True))
    added = sum(
        _add_new(result.forbidden[row], (p for r in relevant for p in twins[r]))
        for row, relevant in enumerate(result.relevant)
    )
    result.counts["negatives excluded: same text as a relevant passage"] = added


def _exclude_queries(queries: pa.Table, result: Exclusions) -> None:
    """Exclude passages that have the query's own text or id."""
    texts = normalise_passages(pa.concat_arrays(queries["text"].chunks))
    ids = pa.concat_arrays(queries["_id"].chunks)
    for column, values, what in (("text", texts, "text"), ("_id", ids, "id")):
        carriers = _find_all(result.corpus, column, values, f"looking for the queries' own {what}s")
        added = sum(map(_add_new, result.forbidden, carriers))
        result.counts[f"negatives excluded: the query's own {what}"] = added


def _find_all(corpus: list[Path], column: str, values: pa.Array, stage: str) -> list[list[int]]:
    """Find the corpus positions at which a column has each of the given values."""
    distinct = values.unique()
    positions_of: list[list[int]] = [[] for _ in distinct]
    positions, indices = find_rows(corpus, column, distinct, stage)
    for position, index in zip(positions.tolist(), indices.tolist(), strict=True):
        positions_of[index].append(position)
    return [positions_of[i] for i in pc.index_in(values, value_set=distinct).to_pylist()]


def _add_new(forbidden: set[int], positions: Iterable[int]) -> int:
    """Add positions to a set; return how many were new."""
    before = len(forbidden)
    forbidden.update(positions)
    return len(forbidden) - before


@dataclass(frozen=True)
class Mined:
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


@dataclass
class _MinedQuery:
    """Negatives selected for one query, and what is still uncertain about them.

    Attributes:
        passages: in the order of the corpus.
        dropped: verdicts on candidates that were passed over for their text.
        above: option to candidates that were passed over for a score above its limit.
        least: lowest possible score of the farthest passage; -inf if too few were found.
        is_open: candidates to make out better, as indices.
        is_limit_open: whether relevant passages, which limits come from, are to be made out better.
    """

    passages: list[Mined]
    dropped: Counter[int]
    above: Counter[str]
    least: float
    is_open: npt.NDArray[np.int64]
    is_limit_open: bool


@dataclass(frozen=True)
class _Pairs:
    """Candidate passages of some queries, ordered by query.

    Attributes:
        rows: the query of each.
        positions: its place in the corpus.
        places: its id among their ids, which breaks ties.
        verdicts: on its text.
    """

    rows: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
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
        """Prepare to mine ``n_wanted`` near passages for each query, except excluded ones.

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

    def mine(self) -> list[list[Mined]]:
        """Find each query's nearest non-relevant passages, as many as wanted, in corpus order."""
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
        self, rows: npt.NDArray[np.int64], k: int, results: dict[int, _MinedQuery]
    ) -> list[int]:
        """Select negatives among k candidates per query; return queries that need a larger k."""
        others, candidates = self.search.find_candidates(rows, k)
        pairs = self._pair_up(rows, candidates)
        todo = rows
        while True:
            still_open, unclear = [], []
            start, end = np.searchsorted(pairs.rows, [todo, todo + 1])
            of_todo = np.concatenate([np.arange(*ends) for ends in zip(start, end, strict=True)])
            known = self.search.scores(pairs.rows[of_todo], pairs.positions[of_todo])
            limits = self._score_limits(todo)
            at = 0
            for i, row in enumerate(todo.tolist()):
                mine = of_todo[at : at + end[i] - start[i]]
                scores, bounds = (values[at : at + len(mine)] for values in known)
                at += len(mine)
                limits_of = {option: (low[i], high[i]) for option, (low, high) in limits.items()}
                wanted = int(self._n_wanted[row])
                chosen = self._select_negatives(wanted, mine, pairs, scores, bounds, limits_of)
                results[row] = chosen
                if len(chosen.is_open) or chosen.is_limit_open:
                    still_open.append(row)
                    positions = pairs.positions[chosen.is_open].tolist()
                    positions += self.exclusions.relevant[row] if chosen.is_limit_open else []
                    unclear += [(row, position) for position in positions]
            if not still_open:
                break
            before = self.search.bounds.copy()
            self.search.refine(*np.array(unclear, np.int64).T)
            todo = rows if (self.search.bounds > before).any() else np.array(still_open, np.int64)
        margin = self.search.bounds[0]
        return [
            row
            for i, row in enumerate(rows.tolist())
            if others[i] > -np.inf and results[row].least <= others[i] + margin
        ]

    def _pair_up(self, rows: npt.NDArray[np.int64], candidates: npt.NDArray[np.int64]) -> _Pairs:
        """Pair queries with their candidates, except excluded passages."""
        forbidden = self.exclusions.forbidden
        pairs = [
            (row, position)
            for row, found in zip(rows.tolist(), candidates.tolist(), strict=True)
            for position in found
            if position not in forbidden[row]
        ]
        pair_rows, positions = np.array(pairs, np.int64).reshape(-1, 2).T
        verdicts = self.exclusions.verdicts(pair_rows, positions)
        return _Pairs(
            pair_rows, positions, read_ids_and_ranks(self.exclusions.corpus, positions)[1], verdicts
        )

    def _score_limits(self, rows: npt.NDArray[np.int64]) -> dict[str, tuple[Floats, Floats]]:
        """Compute (low, high) bounds of the highest score each option allows, per query."""
        mining, n = self.mining, len(rows)
        limits: dict[str, tuple[Floats, Floats]] = {}
        if mining.max_score is not None:
            limits["--max-score"] = np.full(n, mining.max_score), np.full(n, mining.max_score)
        if mining.margin is None and mining.relative_margin is None:
            return limits
        relevant = [self.exclusions.relevant[row] for row in rows.tolist()]
        places = np.repeat(np.arange(n), [len(r) for r in relevant])
        positions = np.array([p for r in relevant for p in r], np.int64)
        scores, bounds = self.search.scores(rows[places], positions)
        # Without a relevant passage there is nothing to compare to.
        best = np.full((2, n), -np.inf)
        np.maximum.at(best[0], places, scores - bounds)
        np.maximum.at(best[1], places, scores + bounds)
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
        wanted: int,
        mine: npt.NDArray[np.int64],
        pairs: _Pairs,
        scores: Floats,
        bounds: Floats,
        limits: dict[str, tuple[float, float]],
    ) -> _MinedQuery:
        """Select one query's negatives among its candidates, and list uncertain candidates."""
        order = best_first(scores, pairs.places[mine])
        low, high = scores - bounds, scores + bounds
        classes = np.full(len(mine), _OTHER)
        classes[order[: self.mining.skip_top]] = _SKIPPED
        fitting, dropped, above, number = [], Counter[int](), Counter[str](), 0
        near_limit = np.zeros(len(mine), np.bool_)
        counting = True
        for i in order[self.mining.skip_top :].tolist():
            option = None
            for name, (least, most) in limits.items():
                if low[i] <= most + TIE and high[i] >= least - TIE and (most > least or bounds[i]):
                    near_limit[i] = True
                if option is None and scores[i] > (least + most) / 2 + TIE:
                    option = name
            if option is not None or pairs.verdicts[mine[i]] != FINE:
                if counting and option is not None:
                    above[option] += 1
                elif counting:
                    dropped[int(pairs.verdicts[mine[i]])] += 1
                continue
            fitting.append(i)
            number += number < wanted
            counting = len(fitting) < wanted
        chosen = np.array(fitting[:number], np.int64)
        classes[chosen] = _CHOSEN
        whole = number == wanted
        least = float(low[chosen].min()) if whole else -np.inf
        compared = np.array(fitting, np.int64)
        is_open = np.zeros(len(mine), np.bool_)
        is_open[compared] = find_undecided(low[compared], high[compared], classes[compared])
        if self.mining.skip_top:
            is_open |= find_undecided(low, high, np.minimum(classes, _CHOSEN))
        near_limit &= high >= least  # what is farther than all chosen ones does not matter
        is_open |= near_limit & (bounds > 0)
        wide = max((m - e for e, m in limits.values()), default=0) / 2 if near_limit.any() else 0
        # What is known least is made out first: it may be all that the others overlap with.
        widest = max(wide, bounds[is_open].max(initial=0))
        is_open &= bounds >= widest
        ranks = np.empty(len(mine), np.int64)
        ranks[order] = np.arange(1, len(mine) + 1)
        passages = [
            Mined(int(pairs.positions[mine[i]]), float(scores[i]), int(ranks[i]))
            for i in chosen[np.argsort(pairs.positions[mine[chosen]])].tolist()
        ]
        return _MinedQuery(passages, dropped, above, least, mine[is_open], 0 < wide >= widest)
