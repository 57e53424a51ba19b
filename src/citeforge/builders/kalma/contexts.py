"""What systems are shown: whole sub-graphs, sub-graphs with holes, and wrong sub-graphs.

``absent_n`` is KaLMA's conscious incompetence (section 4.4): n facts of the minimum knowledge set
are missing. ``retrieval_p`` is its retrieval accuracy (section 5.5): p % of all sub-graphs are the
right ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from citeforge.engines.draws import generator, key
from citeforge.kg.domain import Domain
from citeforge.schemas.benchmarks.kg import Graph, Triple

ABSENT = (1, 2, 3)
RETRIEVAL = (80, 60, 40, 20)


@dataclass(frozen=True)
class KalmaQuestion:
    """A query with its sub-graphs.

    Attributes:
        query_id: its id.
        graphs: right sub-graphs, in order.
        gold: minimum knowledge set, each triple with the round that added it.
        specific: text that asks for each fact.
        general: text that asks for facts by topic; empty where there is none.
        metadata: of the query.
    """

    query_id: str
    graphs: tuple[Graph, ...]
    gold: tuple[tuple[Triple, int], ...] = ()
    specific: str = ""
    general: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


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


def make_contexts(questions: Sequence[KalmaQuestion], domain: Domain, seed: int) -> Contexts:
    """Freeze all context sets.

    Args:
        questions: queries in order; without gold there are no ``absent`` sets.
        domain: knows which relations are inverse.
        seed: seed of all draws; sets of one kind are nested.
    """
    contexts = Contexts()
    contexts.triples["full"] = {
        q.query_id: [t for g in q.graphs for t in g.triples] for q in questions
    }
    if any(q.gold for q in questions):
        _absent(contexts, questions, domain, seed)
    if len({g.qid for q in questions for g in q.graphs}) > 2:
        _retrieval(contexts, questions, seed)
    return contexts


def _absent(
    contexts: Contexts, questions: Sequence[KalmaQuestion], domain: Domain, seed: int
) -> None:
    for size in ABSENT:
        name = f"absent_{size}"
        contexts.triples[name], contexts.removed[name] = {}, {}
        for question in questions:
            full = contexts.triples["full"][question.query_id]
            # Published gold may be of graphs that its retrieval missed: nothing to remove.
            order = [t for t in dict.fromkeys(t for t, _ in question.gold) if t in set(full)]
            generator(seed, "kalma absent", question.query_id).shuffle(order)
            absent = order[:size]
            if len(absent) < size:
                contexts.short.setdefault(name, {})[question.query_id] = {"absent": len(absent)}
            removed = [(t, "gold") for t in absent]
            removed += [
                (t, "inverse")
                for t in full
                if t not in absent and any(_leaks(t, gone, domain) for gone in absent)
            ]
            gone = {t for t, _ in removed}
            contexts.triples[name][question.query_id] = [t for t in full if t not in gone]
            contexts.removed[name][question.query_id] = removed


def _leaks(triple: Triple, gone: Triple, domain: Domain) -> bool:
    """Whether a triple says what a removed one said: the other way round, or in the same words."""
    if triple.key == gone.key:
        return True
    mirrored = triple.qid == gone.value_id and triple.value_id == gone.qid
    return mirrored and triple.relation in domain.inverses(gone.relation)


def _retrieval(contexts: Contexts, questions: Sequence[KalmaQuestion], seed: int) -> None:
    slots = [(q.query_id, at) for q in questions for at in range(len(q.graphs))]
    order = sorted(slots, key=lambda s: key(seed, "kalma retrieval", *s))
    graphs: Mapping[str, Graph] = {g.qid: g for q in questions for g in q.graphs}
    wrong = {
        (q.query_id, at): _irrelevant(q, at, graphs, seed)
        for q in questions
        for at in range(len(q.graphs))
    }
    for share in RETRIEVAL:
        name = f"retrieval_{share}"
        # Rounded half up, so that the share is exact whenever it can be.
        n_wrong = len(slots) - (len(slots) * share + 50) // 100
        replaced = set(order[:n_wrong])
        contexts.shares[name] = (len(slots) - n_wrong, len(slots))
        contexts.triples[name] = {
            q.query_id: [
                t
                for at, graph in enumerate(q.graphs)
                for t in (wrong[q.query_id, at] if (q.query_id, at) in replaced else graph).triples
            ]
            for q in questions
        }


def _irrelevant(question: KalmaQuestion, at: int, graphs: Mapping[str, Graph], seed: int) -> Graph:
    """A sub-graph of somebody whom the query is not about, another one for each place."""
    own = {g.qid for g in question.graphs}
    others = sorted(
        (q for q in graphs if q not in own),
        key=lambda q: key(seed, "kalma irrelevant", question.query_id, q),
    )
    return graphs[others[at % len(others)]]
