"""Context sets of KaLMA: whole sub-graphs, those without some gold facts, and wrong ones.

``absent_n`` is KaLMA's conscious incompetence (section 4.4): n facts of the minimum knowledge set
are missing. ``retrieval_p`` is its retrieval accuracy (section 5.5): p % of all sub-graphs are the
right ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from citeforge.engines.draws import generator, key
from citeforge.engines.shown import show_percent
from citeforge.kg.classes import select_domain
from citeforge.kg.domain import Domain
from citeforge.kg.equivalence import Equivalence
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.link import Linker, linking_quality
from citeforge.schemas.kg import GENERAL, Graph, Triple

ABSENT = (1, 2, 3)
RETRIEVAL = (80, 60, 40, 20)
RETRIEVED = "retrieved"
"""Name of the context set."""


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
        answers: shown triples that answer the general text and are no gold.
    """

    query_id: str
    graphs: tuple[Graph, ...]
    gold: tuple[tuple[Triple, int], ...] = ()
    specific: str = ""
    general: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    answers: tuple[Triple, ...] = ()


@dataclass(frozen=True)
class TripleContext:
    """One context set: the triples that systems are shown with each query.

    Attributes:
        description: what it holds, in words.
        triples: query to what is shown.
        removed: query to (triple, why), in ``absent_n``.
        short: query to what could be done, where fewer facts could be removed.
    """

    description: str
    triples: dict[str, list[Triple]] = field(default_factory=dict)
    removed: dict[str, list[tuple[Triple, str]]] = field(default_factory=dict)
    short: dict[str, dict[str, int]] = field(default_factory=dict)


def make_contexts(
    questions: Sequence[KalmaQuestion], equivalence: Equivalence, seed: int
) -> dict[str, TripleContext]:
    """Make the context sets of KaLMA questions by name, all but ``retrieved``.

    Args:
        questions: queries in order; without gold there are no ``absent`` sets, and with general
            texts there is one more that goes with those.
        equivalence: finds triples that state the same as a removed one.
        seed: seed of all draws; sets of one kind are nested.
    """
    full = {q.query_id: [t for g in q.graphs for t in g.triples] for q in questions}
    words = "the sub-graphs of its entities, with the specific question"
    contexts = {"full": TripleContext(words, full)}
    if all(q.general for q in questions):
        words = "the same sub-graphs, with the general question"
        contexts[GENERAL] = TripleContext(words, full)
    if any(q.gold for q in questions):
        contexts |= {
            f"absent_{n}": _remove_gold(questions, full, equivalence, n, seed) for n in ABSENT
        }
    if len({g.qid for q in questions for g in q.graphs}) > 2:
        contexts |= _replace_graphs(questions, seed)
    return contexts


def _remove_gold(
    questions: Sequence[KalmaQuestion], full_context: dict[str, list[Triple]],
    equivalence: Equivalence, n_removed: int, seed: int,
) -> TripleContext:  # fmt: skip
    """Make a context set without some gold facts per query and triples that restate these."""
    facts = "fact" if n_removed == 1 else "facts"
    made = TripleContext(
        f"{n_removed} {facts} of each minimum knowledge set removed, with what would leak it"
    )
    for question in questions:
        name, triples = question.query_id, full_context[question.query_id]
        # Published gold may be of graphs that its retrieval missed: nothing to remove.
        order = [t for t in dict.fromkeys(t for t, _ in question.gold) if t in set(triples)]
        generator(seed, "kalma absent", name).shuffle(order)
        absent = order[:n_removed]
        if len(absent) < n_removed:
            made.short[name] = {"absent": len(absent)}
        same = {t for a in absent for t in equivalence.equivalents(a, triples)}
        leaks = [t for t in triples if t not in absent and t in same]
        made.removed[name] = [(t, "gold") for t in absent] + [(t, "inverse") for t in leaks]
        gone = {*absent, *leaks}
        made.triples[name] = [t for t in triples if t not in gone]
    return made


Equivalents = dict[str, dict[Triple, list[Triple]]]
"""Query to its gold facts, each with the other shown triples that state it."""


def find_equivalents(
    questions: Sequence[KalmaQuestion],
    contexts: Mapping[str, TripleContext],
    equivalence: Equivalence,
) -> Equivalents:
    """Find, per gold fact, other shown triples that state it by another relation or its inverse."""
    found: Equivalents = {}
    for question in questions:
        name = question.query_id
        shown = dict.fromkeys(t for c in contexts.values() for t in c.triples[name])
        found[name] = {
            fact: [
                t
                for t in equivalence.equivalents(fact, shown)
                if t.key.compared != fact.key.compared
            ]
            for fact, _ in question.gold
        }
    return found


def find_theme_answers(
    domain: Domain, question: KalmaQuestion, equivalents: Mapping[Triple, Sequence[Triple]]
) -> list[Triple]:
    """List shown triples that are not gold but answer a general question (they fit its topics).

    Args:
        domain: has the themes with their relations; each entity has those of its class.
        question: its gold has the themes that are asked for.
        equivalents: its gold facts, each with the other shown triples that state it.
    """
    names = {g.qid: g.name for g in question.graphs}
    facts = [t for t in equivalents if not t.connects(names)]
    right = {t.key.compared for fact, more in equivalents.items() for t in (fact, *more)}
    answers = []
    for graph in question.graphs:
        words = select_domain(domain, graph).phrasing
        asked = {words.theme_of(t.relation) for t in facts if t.qid == graph.qid} - {""}
        answers += [
            t
            for t in graph.triples
            if t.key.compared not in right and not t.connects(names)
            if any(words.answers_theme(t.relation, theme) for theme in asked)
        ]
    return answers


def count_answers(
    questions: Sequence[KalmaQuestion], equivalents: Equivalents, equivalence: Equivalence,
    domain: Domain,
) -> dict[str, int]:  # fmt: skip
    """Count gold facts that other triples restate, and questions with right answers not in gold.

    The general questions' right answers are looked up by the relations of their themes.
    """
    n_facts = n_questions = n_other = n_more = 0
    for question in questions:
        same = equivalents[question.query_id]
        n_facts += sum(map(bool, same.values()))
        n_questions += any(same.values())
        right = {t.key.compared for fact, more in same.items() for t in (fact, *more)}
        names = {g.qid: g.name for g in question.graphs}
        n_more += bool(question.answers)
        counted = right.union(t.key.compared for t in question.answers)
        by_theme = find_theme_answers(domain, question, same) if question.general else []
        n_other += any(t.key.compared not in counted for t in by_theme) or any(
            equivalence.answers(t, fact)
            for graph in question.graphs
            for t in graph.triples
            if t.key.compared not in right and not t.connects(names)
            for fact, _ in question.gold
            if not fact.connects(names)
        )
    return {
        "gold_facts_restated": n_facts,
        "questions_with_restated_facts": n_questions,
        **({"questions_with_further_answers": n_more} if n_more else {}),
        "questions_with_uncounted_answers": n_other,
    }


def _replace_graphs(
    questions: Sequence[KalmaQuestion], seed: int
) -> Iterator[tuple[str, TripleContext]]:
    """Yield (name, context set) of each ``retrieval_P``: P % right sub-graphs, others wrong."""
    graphs: Mapping[str, Graph] = {g.qid: g for q in questions for g in q.graphs}
    wrong = {
        (q.query_id, at): _draw_graph(q, at, graphs, seed)
        for q in questions
        for at in range(len(q.graphs))
    }
    order = sorted(wrong, key=lambda slot: key(seed, "kalma retrieval", *slot))
    for share in RETRIEVAL:
        # Rounded half up, so that the share is exact whenever it can be.
        n_right = (len(order) * share + 50) // 100
        replaced = set(order[: len(order) - n_right])
        triples = {
            q.query_id: [
                triple
                for at, graph in enumerate(q.graphs)
                for slot in [(q.query_id, at)]
                for triple in (wrong[slot] if slot in replaced else graph).triples
            ]
            for q in questions
        }
        words = f"{n_right} of {len(order)} sub-graphs are the right ones, the others irrelevant"
        yield f"retrieval_{share}", TripleContext(words, triples)


def _draw_graph(
    question: KalmaQuestion, position: int, graphs: Mapping[str, Graph], seed: int
) -> Graph:
    """Draw a sub-graph of an entity that a query is not about, to replace the one at a position."""
    own = {g.qid for g in question.graphs}
    others = sorted(
        (q for q in graphs if q not in own),
        key=lambda q: key(seed, "kalma irrelevant", question.query_id, q),
    )
    return graphs[others[position % len(others)]]


def retrieve_graphs(
    kg: KnowledgeGraph, questions: Sequence[KalmaQuestion], ner: str | None
) -> tuple[TripleContext, dict[str, int]]:
    """Make (the set ``retrieved`` of sub-graphs found by names in questions, its counts).

    Args:
        kg: where names are looked up.
        questions: queries with their right sub-graphs; the specific texts are read.
        ner: installed spaCy model that finds names; None for the graph's own labels.

    Raises:
        MissingExtraError: spaCy is not installed.
        InputError: no such model.
    """
    links, graphs = Linker(kg, ner).link([q.specific for q in questions])
    triples = {}
    for question, mine in zip(questions, links, strict=True):
        ids = dict.fromkeys(link.candidates[0].qid for link in mine if link.candidates)
        triples[question.query_id] = [t for qid in ids for t in graphs[qid].triples]
    right = linking_quality(links, [{g.qid for g in q.graphs} for q in questions])
    by = f"names by {ner}" if ner else "names by the graph's own labels"
    counts = {
        "retrieved_graphs": right.linked,
        "questions_without_retrieved_graphs": sum(not t for t in triples.values()),
    }
    description = (
        f"sub-graphs that names in the specific question lead to ({by}): "
        f"{show_percent(right.recall, 1)} of the right ones, "
        f"{show_percent(right.precision, 1)} right"
    )
    return TripleContext(description, triples), counts
