"""What the baseline's own retrieval finds for every question (KaLMA, sections 3.1 and 3.2)."""

from collections.abc import Sequence

from citeforge.builders.kalma.contexts import KalmaQuestion, TripleContext
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.link import Linker, linking_quality

RETRIEVED = "retrieved"
"""Name of the context set."""


def retrieve_graphs(
    kg: KnowledgeGraph, questions: Sequence[KalmaQuestion], ner: str | None
) -> tuple[TripleContext, dict[str, int]]:
    """Names to entities, namesakes ranked by exact matches, the best one's sub-graph; and counts.

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
        "retrieved sub-graphs": right.linked,
        "questions without retrieved sub-graphs": sum(not t for t in triples.values()),
    }
    description = (
        f"sub-graphs that names in the specific question lead to ({by}): "
        f"{100 * right.recall:.1f} % of the right ones, {100 * right.precision:.1f} % right"
    )
    return TripleContext(description, triples), counts
