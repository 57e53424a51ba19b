"""Equivalent triples: the same fact stated the other way round, or by a related relation."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from citeforge.kg.classes import merge_classes
from citeforge.kg.domain import Domain
from citeforge.kg.graph import KnowledgeGraph
from citeforge.schemas.kg import Graph, Triple, relation_key

MIN_LINKS, MIN_SHARE = 5, 0.5
"""Two relations are inverse where so many links of a graph are stated both ways, and these are such
a share of the links of either relation."""


class Equivalence:
    """Decides which triples state the same fact.

    Two triples do so if they are equal; if they have the same entity and value, and two relations
    of a declared group; or if each is about the value of the other, by inverse relations.
    """

    def __init__(
        self,
        domain: Domain,
        inverses: Mapping[str, Iterable[str]] | None = None,
        graphs: Iterable[Graph] = (),
    ) -> None:
        """Collect inverse and synonymous relations of domain and graph, to compare facts by them.

        Args:
            domain: declares some of both.
            inverses: relation to the names of its inverses, as the graph states them.
            graphs: sub-graphs whose links show further inverses.
        """
        self._inverse: defaultdict[str, set[str]] = defaultdict(set)
        self._group: defaultdict[str, set[str]] = defaultdict(set)
        domain = merge_classes(domain)
        declared = ((r, o) for r, others in domain.inverse.items() for o in others)
        pairs = ((r, o) for r, others in (inverses or {}).items() for o in others)
        for one, other in chain(declared, pairs, observed_inverses(graphs)):
            self._inverse[relation_key(one)].add(relation_key(other))
            self._inverse[relation_key(other)].add(relation_key(one))
        for group in domain.same_value:
            for relation in group:
                self._group[relation_key(relation)] |= set(map(relation_key, group))

    def related(self, relation: str) -> set[str]:
        """Get the normalised labels of a relation and of its synonyms."""
        key = relation_key(relation)
        return {key} | self._group.get(key, set())

    def inverses(self, relation: str) -> set[str]:
        """Get the normalised labels of a relation's inverses and of their synonyms."""
        inverses = (i for r in self.related(relation) for i in self._inverse.get(r, ()))
        return {other for i in inverses for other in self.related(i)}

    def same(self, first: Triple, second: Triple) -> bool:
        """Whether two triples state the same fact."""
        if first.key.compared == second.key.compared:
            return True
        if first.qid == second.qid:
            is_related = relation_key(second.relation) in self.related(first.relation)
            return is_related and _have_same_value(first, second)
        is_mirrored = _leads_to(first, second) and _leads_to(second, first)
        return is_mirrored and relation_key(second.relation) in self.inverses(first.relation)

    def equivalents(self, fact: Triple, shown: Iterable[Triple]) -> list[Triple]:
        """List the other shown triples that state a gold fact, directly or through other triples.

        Args:
            fact: a gold triple.
            shown: triples of the context.
        """
        rest = [t for t in dict.fromkeys(shown) if t != fact]
        found, waiting = dict[Triple, None](), [fact]
        while waiting:
            one = waiting.pop()
            more = [t for t in rest if t not in found and self.same(one, t)]
            found |= dict.fromkeys(more)
            waiting += more
        return [t for t in rest if t in found]

    def answers(self, triple: Triple, fact: Triple) -> bool:
        """Whether a triple states a fact, or another value that its question would accept."""
        if self.same(triple, fact):
            return True
        if triple.qid == fact.qid:
            return relation_key(triple.relation) == relation_key(fact.relation)
        # Whose child somebody is answers who the parents were, not who the father was.
        inverses = self.inverses(triple.relation)
        is_inverse = bool(inverses) and inverses <= self.related(fact.relation)
        return is_inverse and _leads_to(triple, fact)


def read_equivalence(kg: KnowledgeGraph, graphs: Iterable[Graph]) -> Equivalence:
    """Make the test whether two triples state one fact; query the graph's inverse relations.

    Args:
        kg: graph that declares inverse relations.
        graphs: sub-graphs whose triples will be compared.

    Raises:
        InputError: an endpoint does not answer.
    """
    shown = {g.qid: g for g in graphs}.values()
    labels = {t.pid: t.relation for g in shown for t in g.triples}
    stated = {labels[pid]: names for pid, names in kg.inverses(sorted(labels)).items()}
    return Equivalence(kg.domain, stated, shown)


def observed_inverses(graphs: Iterable[Graph]) -> Iterator[tuple[str, str]]:
    """Yield pairs of labels of relations that sub-graphs show to be inverse (parent, child).

    Of the links by either relation between two sub-graphs, half and at least five must have the
    other relation in the opposite direction. A pair comes in both orders.
    """
    named = {g.qid: g for g in graphs}
    links: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for graph in named.values():
        for t in graph.triples:
            if t.value_id in named and t.value_id != t.qid:
                links[t.qid, t.value_id].add(relation_key(t.relation))
    total = Counter(r for relations in links.values() for r in relations)
    both = Counter(
        (r, other)
        for (one, two), relations in links.items()
        for r in relations
        for other in links.get((two, one), ())
    )
    for (r, other), n in sorted(both.items()):
        if n >= MIN_LINKS and n >= MIN_SHARE * max(total[r], total[other]):
            yield r, other


def _have_same_value(first: Triple, second: Triple) -> bool:
    """Whether two triples have the same value, by entity id or by text."""
    has_one_id = bool(first.value_id) and first.value_id == second.value_id
    return has_one_id or first.key.compared.value == second.key.compared.value


def _leads_to(first: Triple, second: Triple) -> bool:
    """Whether the value of the first triple is the subject of the second one."""
    return first.value_id == second.qid if first.value_id else first.value == second.name
