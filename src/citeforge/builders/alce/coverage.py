"""Gold units (answers, claims) that retrieved passages contain, and recall (ALCE, Tables 12-14)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.package.items import GoldRows
from citeforge.schemas.counts import count_key
from citeforge.schemas.matching.answers import AnswerText
from citeforge.schemas.text import premise_of

SHORT, CLAIMS, JUDGED = "short answers", "claims", "judged passages"
_KEPT = {
    "": "oracle_recall_of_all_candidates_share",
    "-5": "oracle_recall_5_of_all_candidates_share",
}
"""Statistics of the queries whose chosen passages have the recall of all, by kind of recall."""
DEPTHS = (1, 3, 5, 20, 100)
"""Numbers of passages at which recall is reported (ALCE, Tables 12 to 14)."""
ENOUGH = 5
"""Answers of a list with which its recall-5 is full (ALCE, section 3.2)."""
_QUERIES_AT_ONCE = 32
"""Queries whose pairs are held at once."""

Texts = Mapping[str, tuple[str, str]]
"""Passage to (title, text)."""
QueryPassages = Mapping[str, Sequence[str]]
"""Query to ids of passages."""


class RecallKind(NamedTuple):
    """A recall that is reported.

    Attributes:
        suffix: end of its name in statistics.
        queries: queries that have it.
        compute: of a query and passages, the share of the query's gold that these contain.
    """

    suffix: str
    queries: list[str]
    compute: Callable[[str, Iterable[str]], float]


@dataclass
class Coverage:
    """Gold units of each query (short answers, claims) that each passage contains.

    Attributes:
        unit: SHORT, CLAIMS or JUDGED.
        sizes: query to the number of units of its gold; queries without any are absent.
        held: query to passage to the units that it holds.
        failures: decisions that the judge could not make; their claims count as not held.
    """

    unit: str
    sizes: dict[str, int] = field(default_factory=dict)
    held: dict[str, dict[str, frozenset[int]]] = field(default_factory=dict)
    failures: int = 0

    def get_units(self, query: str, passages: Iterable[str]) -> list[frozenset[int]]:
        """Get, per given passage, the indexes of the gold units (such as answers) it contains."""
        covers = self.held.get(query, {})
        return [covers.get(name, frozenset()) for name in passages]

    def hits(self, query: str, passages: Iterable[str]) -> int:
        """Count the gold units (such as answers) that any of the given passages contains."""
        return len(frozenset().union(*self.get_units(query, passages)))

    def recall(self, query: str, passages: Iterable[str]) -> float:
        """Compute the share of a query's gold units (such as answers) in the given passages."""
        return self.hits(query, passages) / self.sizes[query]

    def recall_5(self, query: str, passages: Iterable[str]) -> float:
        """Compute ALCE's recall-5 (section 3.2): gold answers found of 5, or of all if fewer."""
        return min(ENOUGH, self.hits(query, passages)) / min(ENOUGH, self.sizes[query])

    def recalls(self, queries_with_lists: frozenset[str]) -> Iterator[RecallKind]:
        """Yield the recalls to report: of all gold and, for queries with answer lists, recall-5.

        Args:
            queries_with_lists: queries whose gold is a list of answers.
        """
        yield RecallKind("", list(self.sizes), self.recall)
        if self.unit == SHORT and (listed := [q for q in self.sizes if q in queries_with_lists]):
            yield RecallKind("-5", listed, self.recall_5)


def covered_answers(
    gold: Mapping[str, GoldRows], candidates: QueryPassages, texts: Texts
) -> Coverage:
    """Find which gold short answers each query's candidate passages contain, as ALCE does.

    Units are the groups of accepted forms in ``qa_pair`` and ``answer_list`` rows.

    Args:
        gold: gold rows of each query.
        candidates: query to its candidates.
        texts: (title, text) of these candidates.
    """
    coverage = Coverage(SHORT)
    read: dict[str, AnswerText] = {}
    for query, rows in gold.items():
        units = [list(g.aliases) for g in (*rows.qa_pairs, *rows.answer_lists) if any(g.aliases)]
        if not units:
            continue
        coverage.sizes[query] = len(units)
        covers = {}
        for name in candidates[query]:
            if name not in read:
                read[name] = AnswerText(texts[name][1])
            covers[name] = frozenset(i for i, u in enumerate(units) if read[name].contains_any(u))
        coverage.held[query] = covers
    return coverage


def entailed_claims(
    gold: Mapping[str, GoldRows], candidates: QueryPassages, texts: Texts, judge: JudgeSession
) -> Coverage:
    """Ask a judge which of a query's gold claims each of its candidate passages entails.

    Args:
        gold: gold rows of each query.
        candidates: query to its candidates.
        texts: (title, text) of these candidates.
        judge: decides entailment.
    """
    coverage = Coverage(CLAIMS)
    claims_of = {q: [c.text or "" for c in rows.claims] for q, rows in gold.items() if rows.claims}
    queries = list(claims_of)
    for start in range(0, len(queries), _QUERIES_AT_ONCE):
        block = queries[start : start + _QUERIES_AT_ONCE]
        pairs = {
            (query, name, i): Pair(premise_of(*texts[name]), claim)
            for query in block
            for name in candidates[query]
            for i, claim in enumerate(claims_of[query])
        }
        decisions = judge.ask(pairs.values())
        coverage.failures += sum(isinstance(d, JudgeFailure) for d in decisions.values())
        for query in block:
            coverage.sizes[query] = len(claims_of[query])
            coverage.held[query] = {name: frozenset() for name in candidates[query]}
        for (query, name, i), pair in pairs.items():
            decision = decisions[pair]
            if not isinstance(decision, JudgeFailure) and decision.entailed:
                coverage.held[query][name] |= {i}
    return coverage


def judged_relevant(
    relevant: QueryPassages, candidates: QueryPassages, whole_ids: Mapping[str, str]
) -> Coverage:
    """Find which candidates (or the passages they were cut from) the source judges relevant.

    Args:
        relevant: query to the passages judged relevant.
        candidates: query to candidates.
        whole_ids: candidate to the passage that it was cut from; itself where nothing was cut.
    """
    coverage = Coverage(JUDGED)
    for query, ids in relevant.items():
        if not ids:
            continue
        at = {name: i for i, name in enumerate(ids)}
        coverage.sizes[query] = len(at)
        coverage.held[query] = {
            name: frozenset([at[whole_ids[name]]]) if whole_ids[name] in at else frozenset()
            for name in candidates[query]
        }
    return coverage


def mean_recalls(
    name: str,
    passages: QueryPassages,
    coverage: Coverage,
    queries_with_lists: frozenset[str],
    max_depth: int,
) -> dict[str, object]:
    """Compute the mean gold recall of each query's first 1, 3, 5, … passages, by statistic name.

    Args:
        name: name of the retriever or set, for the statistics.
        passages: query to its passages, in their order.
        coverage: gold units that the passages contain.
        queries_with_lists: queries whose gold is a list of answers; 5 are enough for recall-5.
        max_depth: passages that were asked for; the last depth.

    Returns:
        Statistics by name.
    """
    return {
        count_key("recall_mean", name, f"{recall.suffix}@{depth}", coverage.unit): _mean(
            [recall.compute(q, passages[q][:depth]) for q in recall.queries]
        )
        for depth in (*(d for d in DEPTHS if d < max_depth), max_depth)
        for recall in coverage.recalls(queries_with_lists)
    }


def share_kept(
    chosen: QueryPassages,
    candidates: QueryPassages,
    coverage: Coverage,
    queries_with_lists: frozenset[str],
) -> dict[str, object]:
    """Compute the share of queries whose chosen passages reach the recall of all candidates.

    Args:
        chosen: query to its chosen passages.
        candidates: query to all its candidates.
        coverage: gold units that the passages contain.
        queries_with_lists: queries whose gold is a list of answers, which also have recall-5.

    Returns:
        Statistics by name: shares of the queries that have such gold.
    """
    return {
        _KEPT[recall.suffix]: _mean(
            [
                float(recall.compute(q, chosen[q]) == recall.compute(q, candidates[q]))
                for q in recall.queries
            ]
        )
        for recall in coverage.recalls(queries_with_lists)
    }


def _mean(values: Sequence[float]) -> float:
    """Compute the mean of values, rounded to 4 digits."""
    return round(sum(values) / len(values), 4)


def choose_oracle(units_by_passage: Sequence[AbstractSet[int]], k: int) -> list[int]:
    """Choose greedily the indexes of k passages that together contain most gold units.

    The k passages with the highest recall of their own are the start; then every other passage, by
    its own recall, takes the place of the one whose replacement raises the recall of the set most,
    if any does. Ties go to the better rank, and of two places to that of the weaker passage. The
    result is not always the best set: one swap at a time may not lead there.

    Args:
        units_by_passage: gold units that each passage contains, best rank first.
        k: size of the set, at least 1.

    Returns:
        Positions of the chosen passages, by their own recall, then rank; fewer than k only when
        there are fewer passages.
    """

    def count_units(positions: Sequence[int]) -> int:
        """Count the distinct gold units (such as answers) in the passages at given positions."""
        return len({unit for i in positions for unit in units_by_passage[i]})

    order = sorted(range(len(units_by_passage)), key=lambda i: (-len(units_by_passage[i]), i))
    best_rows = order[:k]
    for new in order[k:]:
        swaps = [[*best_rows[:at], new, *best_rows[at + 1 :]] for at in reversed(range(k))]
        best = max(swaps, key=count_units)
        if count_units(best) > count_units(best_rows):
            best_rows = sorted(best, key=order.index)
    return best_rows
