"""What systems are shown: whole sub-graphs, sub-graphs with holes, and wrong sub-graphs.

``absent_n`` is KaLMA's conscious incompetence (section 4.4): n facts of the minimum knowledge set
are missing. ``retrieval_p`` is its retrieval accuracy (section 5.5): p % of all sub-graphs are the
right ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from citeforge.engines.draws import generator, key
from citeforge.kg.domain import Domain
from citeforge.schemas.benchmarks.kg import Graph, Triple

ABSENT = (1, 2, 3)
RETRIEVAL = (80, 60, 40, 20)


@dataclass(frozen=True)
class QueryGraphs:
    """A query with its sub-graphs.

    Attributes:
        query_id: its id.
        graphs: right sub-graphs, in order.
        gold: minimum knowledge set.
    """

    query_id: str
    graphs: tuple[Graph, ...]
    gold: tuple[Triple, ...] = ()


@dataclass
class Contexts:
    """All context sets.

    Attributes:
        triples: set to query to what is shown.
        removed: ``absent_n`` to query to (triple, why).
        short: set to query to what could be done.
        shares: ``retrieval_p`` to (right sub-graphs, sub-graphs in all).
    """

    triples: dict[str, dict[str, list[Triple]]] = field(default_factory=dict)
    removed: dict[str, dict[str, list[tuple[Triple, str]]]] = field(default_factory=dict)
    short: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    shares: dict[str, tuple[int, int]] = field(default_factory=dict)


def make_contexts(entries: Sequence[QueryGraphs], domain: Domain, seed: int) -> Contexts:
    """Freeze all context sets.

    Args:
        entries: queries in order; without gold there are no ``absent`` sets.
        domain: knows which relations are inverse.
        seed: seed of all draws; sets of one kind are nested.
    """
    found = Contexts()
    found.triples["full"] = {e.query_id: [t for g in e.graphs for t in g.triples] for e in entries}
    if any(e.gold for e in entries):
        _absent(found, entries, domain, seed)
    if len({g.qid for e in entries for g in e.graphs}) > 2:
        _retrieval(found, entries, seed)
    return found


def _absent(found: Contexts, entries: Sequence[QueryGraphs], domain: Domain, seed: int) -> None:
    for size in ABSENT:
        name = f"absent_{size}"
        found.triples[name], found.removed[name] = {}, {}
        for entry in entries:
            shown = found.triples["full"][entry.query_id]
            # Published gold may be of graphs that its retrieval missed: nothing to remove.
            order = [t for t in dict.fromkeys(entry.gold) if t in set(shown)]
            generator(seed, "kalma absent", entry.query_id).shuffle(order)
            taken = order[:size]
            if len(taken) < size:
                found.short.setdefault(name, {})[entry.query_id] = {"absent": len(taken)}
            removed = [(t, "gold") for t in taken]
            removed += [
                (t, "inverse")
                for t in shown
                if t not in taken and any(_leaks(t, gone, domain) for gone in taken)
            ]
            gone = {t for t, _ in removed}
            found.triples[name][entry.query_id] = [t for t in shown if t not in gone]
            found.removed[name][entry.query_id] = removed


def _leaks(triple: Triple, gone: Triple, domain: Domain) -> bool:
    """Whether a triple says what a removed one said: the other way round, or in the same words."""
    if triple.key == gone.key:
        return True
    mirrored = triple.qid == gone.value_id and triple.value_id == gone.qid
    return mirrored and triple.relation in domain.inverses(gone.relation)


def _retrieval(found: Contexts, entries: Sequence[QueryGraphs], seed: int) -> None:
    slots = [(e.query_id, at) for e in entries for at in range(len(e.graphs))]
    order = sorted(slots, key=lambda s: key(seed, "kalma retrieval", *s))
    graphs: Mapping[str, Graph] = {g.qid: g for e in entries for g in e.graphs}
    wrong = {
        (e.query_id, at): _irrelevant(e, at, graphs, seed)
        for e in entries
        for at in range(len(e.graphs))
    }
    for share in RETRIEVAL:
        name = f"retrieval_{share}"
        # Rounded half up, so that the share is exact whenever it can be.
        n_wrong = len(slots) - (len(slots) * share + 50) // 100
        replaced = set(order[:n_wrong])
        found.shares[name] = (len(slots) - n_wrong, len(slots))
        found.triples[name] = {
            e.query_id: [
                t
                for at, graph in enumerate(e.graphs)
                for t in (wrong[e.query_id, at] if (e.query_id, at) in replaced else graph).triples
            ]
            for e in entries
        }


def _irrelevant(entry: QueryGraphs, at: int, graphs: Mapping[str, Graph], seed: int) -> Graph:
    """A sub-graph of somebody whom the query is not about, another one for each place."""
    own = {g.qid for g in entry.graphs}
    others = sorted(
        (q for q in graphs if q not in own),
        key=lambda q: key(seed, "kalma irrelevant", entry.query_id, q),
    )
    return graphs[others[at % len(others)]]
