"""Rank fusion: one ranking from the rankings of several queries (Attributed-IR, section 2.4).

A ranking is a list of (passage id, score), best first. Ties are broken by id; sums that differ by
rounding alone are ties.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from citeforge.engines.catalogue import Catalogue
from citeforge.schemas.catalogue import Choice
from citeforge.schemas.errors import UsageError

Ranking = Sequence[tuple[str, float]]
"""(passage id, score) pairs, best first; no id twice."""
Scorer = Callable[[Sequence[str]], Sequence[float]]
"""Maps passage ids to their scores for the original query, in order."""
Fusion = Callable[[Sequence[Ranking], Scorer], list[tuple[str, float]]]
"""Makes one ranking of several."""

PM2_WEIGHTS = (0.38, 0.24, 0.16, 0.10, 0.12)
"""Weights of the original query and of four sub-queries in PM2, as Attributed-IR sets them;
further sub-queries get the smallest."""
PM2_LAMBDA = 0.1
"""PM2's lambda in Attributed-IR: weight of the query whose turn it is against all others."""


def rank(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    """Sort passages by score, highest first; by id if scores are equal to 9 decimals."""
    return sorted(scores.items(), key=lambda pair: (-round(pair[1], 9), pair[0]))


def min_max(ranking: Ranking) -> list[tuple[str, float]]:
    """Scale the scores of a ranking to [0, 1] (min-max normalisation).

    Where all are equal, as in a ranking of one passage, each becomes 1.
    """
    values = [score for _, score in ranking]
    low, high = min(values, default=0.0), max(values, default=0.0)
    if high == low:
        return [(name, 1.0) for name, _ in ranking]
    return [(name, (score - low) / (high - low)) for name, score in ranking]


def comb_max(rankings: Sequence[Ranking]) -> list[tuple[str, float]]:
    """Rank passages by their highest score in any ranking (CombMAX).

    The scores must be comparable between queries, as those of a cross-encoder are.
    """
    return rank({name: max(scores) for name, scores in _scores_by_passage(rankings).items()})


def comb_sum(rankings: Sequence[Ranking]) -> list[tuple[str, float]]:
    """Rank passages by the sum of their min-max normalised scores (Fox and Shaw 1993)."""
    scores_of = _scores_by_passage(map(min_max, rankings))
    return rank({name: math.fsum(scores) for name, scores in scores_of.items()})


def comb_mnz(rankings: Sequence[Ranking]) -> list[tuple[str, float]]:
    """Rank passages by CombSUM times the number of rankings with them (Fox and Shaw 1993)."""
    scores_of = _scores_by_passage(map(min_max, rankings))
    return rank({name: len(scores) * math.fsum(scores) for name, scores in scores_of.items()})


def _scores_by_passage(rankings: Iterable[Ranking]) -> dict[str, list[float]]:
    """Collect the scores of each passage from all rankings that contain it."""
    scores_of: dict[str, list[float]] = {}
    for ranking in rankings:
        for name, score in ranking:
            scores_of.setdefault(name, []).append(score)
    return scores_of


def pool_ids(rankings: Iterable[Ranking]) -> list[str]:
    """List the distinct passage ids of all rankings, by first appearance."""
    return list(dict.fromkeys(name for ranking in rankings for name, _ in ranking))


def rerank(rankings: Sequence[Ranking], scorer: Scorer) -> list[tuple[str, float]]:
    """Rank the passages of all rankings by ``scorer``: their scores for the original query."""
    pool = pool_ids(rankings)
    return rank(dict(zip(pool, scorer(pool), strict=True)))


def pm2(
    rankings: Sequence[Ranking],
    query_weights: Sequence[float] = PM2_WEIGHTS,
    lambda_: float = PM2_LAMBDA,
    depth: int | None = None,
) -> list[tuple[str, float]]:
    """Fuse rankings of several queries by PM-2: ranks go to queries in proportion to weights.

    Dang and Croft 2012.

    Each seat goes to the query with the highest quotient (Sainte-Laguë), and is filled with the
    passage that suits it and, by ``1 - lambda_``, all other queries best; every query then has
    taken the part of the seat that the passage is about. What a passage is about is the softmax of
    each ranking's scores, 0 where it is not ranked. Equal quotients: the earlier query; one whose
    passages all have seats takes no further turn.

    Args:
        rankings: one per query (aspect), the original query's first.
        query_weights: weight of each query; further queries get the smallest.
        lambda_: lambda, in [0, 1].
        depth: seats; None for as many as there are passages.

    Returns:
        (passage, the score that won its seat); the order is that of the seats, and the scores of
        different seats are not comparable.
    """
    about = [_softmax(ranking) for ranking in rankings]
    weights = [*query_weights, *[min(query_weights)] * len(rankings)][: len(rankings)]
    rest = pool_ids(rankings)
    portions = [0.0] * len(rankings)
    seats: list[tuple[str, float]] = []
    for _ in range(len(rest) if depth is None else min(depth, len(rest))):
        quotients = [v / (2 * s + 1) for v, s in zip(weights, portions, strict=True)]
        open_ = [i for i, p in enumerate(about) if not p.keys().isdisjoint(rest)]
        turn = max(open_, key=lambda i: (quotients[i], -i))
        factors = [q * (lambda_ if i == turn else 1 - lambda_) for i, q in enumerate(quotients)]
        won = {
            name: math.fsum(f * p.get(name, 0.0) for f, p in zip(factors, about, strict=True))
            for name in rest
        }
        name, score = rank(won)[0]
        seats.append((name, score))
        rest.remove(name)
        total = math.fsum(p.get(name, 0.0) for p in about)
        portions = [s + p.get(name, 0.0) / total for s, p in zip(portions, about, strict=True)]
    return seats


def _softmax(ranking: Ranking) -> dict[str, float]:
    """Compute the softmax of a ranking's scores, by passage id; no value is exactly 0."""
    top = max((score for _, score in ranking), default=0.0)
    raw = {name: math.exp(max(score - top, -600.0)) for name, score in ranking}
    total = math.fsum(raw.values())
    return {name: value / total for name, value in raw.items()}


def _take_query(number: str) -> Fusion:
    """Make the fusion that returns one query's ranking; the user's query's if there is none.

    Raises:
        UsageError: not the number of a query.
    """
    if not number.isdecimal():
        raise UsageError(
            f"--fusion query:{number}: expected the number of a query, 0 for the user's",
            code="bad-option",
        )

    def select(rankings: Sequence[Ranking], scorer: Scorer) -> list[tuple[str, float]]:
        """Return the ranking of the chosen query, else the user's query's; ignore ``scorer``."""
        return list(rankings[int(number)] if int(number) < len(rankings) else rankings[0])

    return select


FUSIONS: Catalogue[Choice, Fusion] = Catalogue(
    "",
    "fusion",
    Choice,
    (
        Choice(
            "sort", "", "highest score in any ranking (CombMAX)",
            lambda: lambda rankings, _: comb_max(rankings),
        ),
        Choice("rerank", "", "score for the user's query", lambda: rerank),
        Choice(
            "combsum", "", "sum of normalised scores",
            lambda: lambda rankings, _: comb_sum(rankings),
        ),
        Choice(
            "combmnz", "", "CombSUM times the number of rankings with the passage",
            lambda: lambda rankings, _: comb_mnz(rankings),
        ),
        Choice(
            "pm2", "", "seats for each query in proportion to weights",
            lambda: lambda rankings, _: pm2(rankings),
        ),
        Choice("query", "N", "ranking of the N-th query alone; 0 is the user's", _take_query),
    ),
    "--fusion",
)  # fmt: skip
"""Fusion methods; the original query's ranking is first. Attributed-IR generates from the passages
of ``rerank``, the only method that uses the scorer."""
