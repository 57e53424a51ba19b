"""Questions about one entity: one end of a linked pair, without the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from citeforge.builders.kalma.mentions import contains_value
from citeforge.builders.kalma.selection import EntityPair, values_by_relation
from citeforge.engines.draws import generator, sample_ids
from citeforge.kg.classes import select_domain
from citeforge.kg.domain import Domain
from citeforge.schemas.kg import Graph, Triple, relation_key

_PURPOSE = "kalma one entity"


@dataclass(frozen=True)
class EntityDraw:
    """Pairs of which some are replaced by one of their entities.

    Attributes:
        pairs: pairs and single entities, in the order of the pairs.
        n_single: number of single entities.
    """

    pairs: list[EntityPair]
    n_single: int


def draw_single_entities(
    domain: Domain, pairs: Sequence[EntityPair], share: float, seed: int
) -> EntityDraw:
    """Replace a share of pairs by one of their entities, each entity at most once.

    A pair stays where neither entity is free and has a fact to begin with.

    Args:
        domain: its words choose the fact that the first sentence states.
        pairs: linked entities.
        share: share of the pairs, from 0 to 1.
        seed: seed of the draws.
    """
    drawn = set(sample_ids([p.id for p in pairs], round(share * len(pairs)), seed, _PURPOSE))
    used = set[str]()
    kept: list[EntityPair] = []
    for pair in pairs:
        graphs = list(pair.graphs) if pair.id in drawn else []
        generator(seed, _PURPOSE, "entity", pair.id).shuffle(graphs)
        singles = (
            EntityPair(graph, None, fact)
            for graph in graphs
            if graph.qid not in used
            if (fact := _draw_fact(select_domain(domain, graph), graph, seed)) is not None
        )
        single = next(singles, None)
        if single is not None:
            used.add(single.first.qid)
        kept.append(single or pair)
    return EntityDraw(kept, len(used))


def _draw_fact(domain: Domain, graph: Graph, seed: int) -> Triple | None:
    """Draw the fact for an entity's first sentence; None if no fact is suitable.

    It is the one value of its relation, and does not contain the name.
    """
    uninformative = set(map(relation_key, domain.uninformative))
    unnamed = {relation_key(t.relation) for t in graph.unnamed}
    facts = [
        values[0]
        for (_, relation), values in values_by_relation(graph.triples).items()
        if len(values) == 1 and relation not in uninformative | unnamed
        if values[0].has_label and domain.phrasing.phrase(relation) is not None
        if not contains_value(values[0].value, graph.name)
    ]
    return generator(seed, _PURPOSE, "fact", graph.qid).choice(facts) if facts else None
