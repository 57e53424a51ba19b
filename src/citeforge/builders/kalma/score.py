"""The best next triple (KaLMA, appendix A.3, equation 1)."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citeforge.schemas.benchmarks.kg import Graph, Triple, relation_key


@dataclass(frozen=True)
class ScoredTriple:
    """A candidate of a round.

    Attributes:
        triple: what may be added.
        score: α · specificity + (1 − α) · coherence.
        specificity: log(2N / Count_r).
        coherence: softmax over the round's candidates of 1 / perplexity.
        perplexity: of paragraph and verbalised triple.
    """

    triple: Triple
    score: float
    specificity: float
    coherence: float
    perplexity: float


class Specificity:
    """How rare relations are in the data set's graphs: the rarer, the more they tell."""

    def __init__(self, graphs: Iterable[Graph]) -> None:
        distinct = {g.qid: g for g in graphs}
        self.n_graphs = len(distinct)
        self.counts = Counter(
            name
            for g in distinct.values()
            for name in {relation_key(t.relation) for t in g.triples}
        )

    def of(self, relation: str) -> float:
        """log(2N / Count_r); a relation that no graph has counts once."""
        return math.log(2 * self.n_graphs / max(self.counts[relation_key(relation)], 1))


def rank_triples(
    triples: Sequence[Triple], perplexities: Sequence[float], specificity: Specificity, alpha: float
) -> list[ScoredTriple]:
    """Candidates, best first; ties by id, relation and value."""
    inverse = [1.0 / p if p > 0 else 0.0 for p in perplexities]
    top = max(inverse, default=0.0)
    powers = [math.exp(i - top) for i in inverse]
    total = math.fsum(powers)
    scored = []
    for triple, perplexity, power in zip(triples, perplexities, powers, strict=True):
        rare, coherent = specificity.of(triple.relation), power / total
        score = alpha * rare + (1 - alpha) * coherent
        # Rounded where the last bits of a perplexity may depend on the machine's libraries.
        scored.append(
            ScoredTriple(
                triple, round(score, 9), round(rare, 9), round(coherent, 9), round(perplexity, 6)
            )
        )
    return sorted(scored, key=lambda s: (-s.score, s.triple.key, s.triple.value_id))
