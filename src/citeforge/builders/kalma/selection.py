"""Selection of the entity pairs that questions are about (KaLMA, appendices A.1 and A.2)."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.draws import sample_ids
from citeforge.engines.jsonlines import read_rows
from citeforge.engines.textfiles import read_csv
from citeforge.kg.classes import merge_classes, select_domain
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.lives import Lives
from citeforge.schemas.counts import count_key, describe_count
from citeforge.schemas.errors import InputError
from citeforge.schemas.kg import Graph, Key, Triple, relation_key

_FIELDS = {
    "paragraph": ("paragraph", "sentence", "text"),
    "first": ("first", "subject", "e1", "name1", "person"),
    "relation": ("relation", "predicate", "label"),
    "second": ("second", "object", "e2", "name2", "value"),
}


@dataclass(frozen=True)
class StatedPair:
    """A paragraph with the relation that it states between two names.

    Attributes:
        line: line of the input file.
        paragraph: text.
        first: a name.
        relation: words of the relation.
        second: the other name.
    """

    line: int
    paragraph: str
    first: str
    relation: str
    second: str


@dataclass(frozen=True)
class EntityPair:
    """Two connected entities, or one entity alone.

    Attributes:
        first: sub-graph of the first.
        second: sub-graph of the second; None for one entity alone.
        stated: the triple that the seed sentence states: of two entities the one that connects
            them, seen from the first.
        paragraph: seed sentence of the questions; empty if the writer is to write it.
    """

    first: Graph
    second: Graph | None
    stated: Triple
    paragraph: str = ""

    @property
    def link(self) -> Triple | None:
        """The triple that connects the pair's two entities; None for one entity alone."""
        return None if self.second is None else self.stated

    @property
    def id(self) -> str:
        """Id of the query about the pair: the QIDs of its entities."""
        return "-".join(g.qid for g in self.graphs)

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """Sub-graphs of the pair's entities; one for a single entity."""
        return (self.first,) if self.second is None else (self.first, self.second)

    @property
    def has_one_name(self) -> bool:
        """Whether both entities of the pair have the same name: no text can tell them apart."""
        return len({relation_key(g.name) for g in self.graphs}) < len(self.graphs)

    @property
    def owner(self) -> Graph:
        """Sub-graph of the subject of the triple that links both; questions name it first."""
        return next(g for g in self.graphs if g.qid == self.stated.qid)

    @property
    def other(self) -> Graph:
        """Sub-graph of the entity that the linking triple leads to; a single entity's own one."""
        return self.graphs[-1] if self.stated.qid == self.first.qid else self.first

    @property
    def pool(self) -> tuple[Triple, ...]:
        """The knowledge pool: all triples of the entities' sub-graphs."""
        return tuple(t for g in self.graphs for t in g.triples)


def values_by_relation(pool: Iterable[Triple]) -> dict[tuple[str, str], list[Triple]]:
    """Group triples by (entity id, relation key), with each value once."""
    values: dict[tuple[str, str], dict[Key, Triple]] = {}
    for triple in pool:
        same = values.setdefault((triple.qid, relation_key(triple.relation)), {})
        same.setdefault(triple.key.compared, triple)
    return {relation: list(same.values()) for relation, same in values.items()}


def missing_values(
    pool: Iterable[Triple], gold: Iterable[Triple], question_entities: Collection[str]
) -> list[Triple]:
    """List gold relations' other triples, which the gold lacks; named entities are no values.

    A question for a relation asks for all of its values, and a system that gives one of these
    would be right and marked as wrong. Values that are among ``question_entities`` do not
    count: the question names them.
    """
    by_relation = values_by_relation(t for t in pool if t.value_id not in question_entities)
    mine = [t for t in gold if t.value_id not in question_entities]
    keys = {t.key.compared for t in mine}
    relations = dict.fromkeys((t.qid, relation_key(t.relation)) for t in mine)
    return [t for r in relations for t in by_relation.get(r, ()) if t.key.compared not in keys]


@dataclass
class SelectedPairs:
    """Selected pairs, and counts of the dropped ones by reason."""

    pairs: list[EntityPair] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


_Row = msgspec.defstruct(
    "_Row", [(name, str | None, None) for names in _FIELDS.values() for name in names]
)
"""A line of a pairs file."""


def read_stated(path: Path) -> list[StatedPair]:
    """Read paragraphs, each with two names and their stated relation, from JSON Lines or CSV.

    Raises:
        InputError: unreadable, or a field is missing or empty.
    """
    rows: Iterable[tuple[int, dict[str, Any]]] = (
        read_csv(path)
        if path.suffix == ".csv"
        else ((line, msgspec.structs.asdict(row)) for line, row in read_rows(path, _Row))
    )
    triples = []
    for line, row in rows:
        values = {}
        for name, others in _FIELDS.items():
            values[name] = next((" ".join(row[o].split()) for o in others if row.get(o)), "")
            if not values[name]:
                raise InputError(
                    "is missing or empty", path=path, line=line, field=name,
                    allowed=f"one of {', '.join(others)}", code="missing-field"
                )  # fmt: skip
        triples.append(StatedPair(line, **values))
    if not triples:
        raise InputError("has no paragraphs", path=path, code="empty-file")
    return triples


def disambiguate(
    kg: KnowledgeGraph, paragraphs: Sequence[StatedPair], keeps_impossible: bool = False
) -> SelectedPairs:
    """Find, for each paragraph's two names, the entities that the graph links as the text says.

    All entities of each name are candidates; a pair is kept when exactly one combination of them is
    connected by an edge that agrees with the stated relation, in either direction.

    Args:
        kg: where names are looked up.
        paragraphs: paragraphs with their names.
        keeps_impossible: keep pairs with impossible ages or lifetimes.
    """
    selected = SelectedPairs()
    least = merge_classes(kg.domain).min_name_parts
    usable = []
    for row in paragraphs:
        if min(len(row.first.split()), len(row.second.split())) < least:
            selected.counts[count_key("pairs_with_a_short_name", least)] += 1
        else:
            usable.append(row)
    entities = kg.find({n for r in usable for n in (r.first, r.second)})
    graphs = kg.subgraphs(sorted({q for ids in entities.values() for q in ids}))
    lives = Lives(kg.domain, graphs.values())
    pairs: dict[frozenset[str], EntityPair] = {}
    for row in usable:
        first, second = (
            [graphs[q] for q in entities[name] if q in graphs] for name in (row.first, row.second)
        )
        connected, agreeing = _connections(kg, row.relation, first, second)
        if not first or not second:
            selected.counts["pairs_without_entity"] += 1
        elif not connected:
            selected.counts["pairs_not_linked"] += 1
        elif not agreeing:
            selected.counts["pairs_linked_otherwise"] += 1
        elif len({(a.qid, b.qid) for a, b, _ in agreeing}) > 1:
            selected.counts["pairs_fitting_several_entities"] += 1
        elif (both := frozenset(g.qid for g in agreeing[0][:2])) in pairs:
            selected.counts["pairs_repeated"] += 1
        elif _is_possible(lives, agreeing[0][:2], keeps_impossible, selected.counts):
            pairs[both] = EntityPair(*agreeing[0], row.paragraph)
    selected.pairs = list(pairs.values())
    return selected


def _connections(
    kg: KnowledgeGraph, relation: str, first: list[Graph], second: list[Graph]
) -> tuple[bool, list[tuple[Graph, Graph, Triple]]]:
    """Get (whether candidates are linked at all, [(first, second, triple)] as the text states)."""
    domain = merge_classes(kg.domain)
    label = domain.find_relation(relation)
    stated = relation_key(label)
    inverse = {relation_key(r) for r in domain.inverses(label)}
    connected = False
    agreeing = []
    for a, b in ((a, b) for a in first for b in second if a.qid != b.qid):
        forth = [t for t in a.triples if t.value_id == b.qid]
        back = [t for t in b.triples if t.value_id == a.qid]
        connected = connected or bool(forth or back)
        fitting = [t for t in forth if relation_key(t.relation) == stated]
        fitting += [t for t in back if relation_key(t.relation) in inverse]
        agreeing += [(a, b, t) for t in fitting[:1]]
    return connected, agreeing


def _is_possible(
    life_rules: Lives, graphs: Iterable[Graph], keeps_impossible: bool, counts: Counter[str]
) -> bool:
    """Whether a pair is kept: no impossible dates of life, or allowed; add to ``counts`` if any.

    An impossible life is counted by its first reason.
    """
    wrong = next((one for g in graphs for one in life_rules.find_impossible(g)), None)
    if wrong is None:
        return True
    if keeps_impossible:
        counts[count_key("pairs_kept_with_an_impossible_life", wrong.reason)] += 1
    else:
        counts[count_key("pairs_with_an_impossible_life", wrong.reason)] += 1
    return keeps_impossible


def from_graph(
    kg: KnowledgeGraph, graph_name: str | None, relations: Sequence[str], limit: int | None,
    seed: int, keeps_impossible: bool = False,
) -> SelectedPairs:  # fmt: skip
    """Draw pairs of entities that the knowledge graph links by given relations.

    Args:
        kg: the graph.
        graph_name: the graph's name in messages.
        relations: labels of the relations.
        limit: most pairs, drawn by the seed; None for all.
        seed: seed of the draw.
        keeps_impossible: keep pairs with impossible ages or lifetimes.

    Raises:
        InputError: the graph has no such relation, or no pair.
    """
    selected = SelectedPairs()
    ids = kg.properties(relations)
    missing = [r for r in relations if not ids[r]]
    if missing:
        raise InputError(
            f"has no relation called {missing[0]!r}", path=graph_name,
            allowed="--pairs-from-kg with labels as the graph has them", code="unknown-id"
        )  # fmt: skip
    unique: dict[frozenset[str], tuple[str, str, str]] = {}
    connected = kg.statements([i for r in relations for i in ids[r]])
    found = {prop for _, prop, _ in connected}
    without = {r: ids[r] for r in relations if not found & set(ids[r])}
    selected.counts.update(dict.fromkeys(_other_ends(kg, without), 1))
    for first, prop, second in connected:
        if first != second:
            unique.setdefault(frozenset((first, second)), (first, prop, second))
    graphs = kg.subgraphs(sorted({q for both in unique for q in both}))
    lives = Lives(kg.domain, graphs.values())
    usable = []
    for a, prop, b in unique.values():
        if a not in graphs or b not in graphs:
            selected.counts["pairs_without_statements"] += 1
        elif (least := max(_required_name_words(kg, graphs[q]) for q in (a, b))) > 0:
            selected.counts[count_key("pairs_with_a_short_name", least)] += 1
        elif _is_possible(lives, (graphs[a], graphs[b]), keeps_impossible, selected.counts):
            usable.append((a, prop, b))
    if limit is not None:
        selected.counts["pairs_before_sampling"] = len(usable)
        usable = sample_ids(usable, limit, seed, "kalma pairs")
    for a, prop, b in usable:
        link = next(t for t in graphs[a].triples if t.pid == prop and t.value_id == b)
        selected.pairs.append(EntityPair(graphs[a], graphs[b], link))
    if not selected.pairs:
        reasons = "; ".join(
            describe_count(key) + f" ({n})" * (n > 1) for key, n in selected.counts.items()
        )
        ends = "the domain's class, or one of `others`"
        if kg.domain.model == "plain":
            ends = "the domain's `plain: classes`; add the class of the relation's values there"
        raise InputError(
            f"finds no pair ({reasons or 'no statements'})", path="--pairs-from-kg",
            allowed=f"relations between two entities of {ends}"
            + ", or --keep-impossible" * any("impossible_life" in key for key in selected.counts),
            code="no-pairs"
        )  # fmt: skip
    return selected


def _required_name_words(kg: KnowledgeGraph, graph: Graph) -> int:
    """Get the number of words that an entity's name must have; 0 if it has enough."""
    least = select_domain(kg.domain, graph).min_name_parts
    return least if len(graph.name.split()) < least else 0


def _other_ends(kg: KnowledgeGraph, relations: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a key for a manifest's counts per relation without pairs, with its values' classes.

    Args:
        kg: the graph.
        relations: label of each relation that links no two entities, to its property ids.
    """
    all_ids = [i for ids in relations.values() for i in ids]
    ends = kg.count_values_by_class(all_ids) if relations else {}
    for relation, ids in relations.items():
        classes = Counter[str]()
        for own in ids:
            classes.update(ends.get(own, {}))
        listed = ", ".join(name or "entities of no class" for name, _ in classes.most_common(3))
        if listed:
            yield count_key("relations_without_a_pair", relation, listed)
        else:
            yield count_key("relations_of_no_entity", relation)
