"""KaLMA's retrieval (sections 3.1, 3.2): from names in a question to entities and sub-graphs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from citeforge.engines.text.spacy_models import english_model, installed_pipeline
from citeforge.kg.classes import merge_classes
from citeforge.kg.graph import KnowledgeGraph
from citeforge.schemas.kg import Graph
from citeforge.schemas.matching.answers import AnswerText, is_answer

# Entity types of spaCy's models that fit a class; others are looked up without a filter.
_TYPES = {"Q5": ("PERSON", "PER")}


@dataclass(frozen=True)
class Candidate:
    """An entity that a name may stand for.

    Attributes:
        qid: its id.
        matches: how many of its neighbour values appear in the question.
    """

    qid: str
    matches: int


@dataclass(frozen=True)
class Link:
    """A name in a question, with the entities that have it.

    Attributes:
        name: as it is in the question.
        candidates: best first; ties by id.
    """

    name: str
    candidates: tuple[Candidate, ...]


class Linker:
    """Finds names in questions, looks them up in a graph, and ranks entities of one name.

    Names come from an installed spaCy model, or from an EntityRuler over the graph's own labels,
    which finds only names of the graph.
    """

    def __init__(self, kg: KnowledgeGraph, model: str | None = None) -> None:
        """Set the graph, and the spaCy model that finds names (None: match labels of the graph)."""
        self.kg, self.model = kg, english_model(model)

    @cached_property
    def _pipeline(self) -> Any:
        """spaCy pipeline that finds names: an installed model, or a matcher of graph labels."""
        import spacy

        if self.model is not None:
            return installed_pipeline(self.model)
        pipeline = spacy.blank("en")
        ruler: Any = pipeline.add_pipe("entity_ruler")
        least = merge_classes(self.kg.domain).min_name_parts
        names = [n for n in self.kg.labels_of_class() if len(n.split()) >= least]
        with pipeline.select_pipes(enable=[]):
            ruler.add_patterns([{"label": "ENTITY", "pattern": n} for n in names])
        return pipeline

    def find_names(self, question: str) -> list[str]:
        """List the names in a question, in order; leave out those of fewer words than required."""
        domain = self.kg.domain
        types = None if domain.others else _TYPES.get(domain.entity_class)
        names = [
            e.text.removesuffix("'s").removesuffix("’s")
            for e in self._pipeline(question).ents
            if self.model is None or types is None or e.label_ in types
        ]
        least = merge_classes(self.kg.domain).min_name_parts
        return list(dict.fromkeys(n for n in names if len(n.split()) >= least))

    def link(self, questions: Sequence[str]) -> tuple[list[list[Link]], dict[str, Graph]]:
        """Link the names in questions: (ranked candidates per name and question, sub-graphs by id).

        All names are looked up together, and all sub-graphs are fetched together.
        """
        names_of = [self.find_names(q) for q in questions]
        entities = self.kg.find({n for names in names_of for n in names})
        graphs = self.kg.subgraphs(sorted({q for ids in entities.values() for q in ids}))
        links = [
            [Link(n, self._rank(question, entities[n], graphs)) for n in names]
            for question, names in zip(questions, names_of, strict=True)
        ]
        return links, graphs

    def _rank(
        self, question: str, ids: Iterable[str], graphs: dict[str, Graph]
    ) -> tuple[Candidate, ...]:
        """Rank candidate entities by how many values of their sub-graphs occur in a question.

        Args:
            question: text of the question.
            ids: ids of the candidates.
            graphs: id to sub-graph.
        """
        text = AnswerText(question)
        candidates = [Candidate(q, _count_matches(text, graphs[q])) for q in ids if q in graphs]
        return tuple(sorted(candidates, key=lambda c: -c.matches))


def _count_matches(question: AnswerText, graph: Graph) -> int:
    """Count the distinct values of an entity's sub-graph that a question mentions."""
    values = {t.value for t in graph.triples if not is_answer(t.value, [graph.name])}
    return sum(map(question.contains, values))


@dataclass(frozen=True)
class LinkQuality:
    """Recall and precision of linked entities, against the entities a data set expects.

    Attributes:
        recall: share of expected entities that are linked.
        precision: share of linked entities that are expected.
        expected: number of expected entities.
        linked: number of linked entities.
    """

    recall: float
    precision: float
    expected: int
    linked: int


def linking_quality(links: Sequence[Sequence[Link]], expected: Sequence[set[str]]) -> LinkQuality:
    """Compute recall and precision of the best-ranked entities, over all questions together.

    Args:
        links: names found in each question, with their ranked candidates.
        expected: ids of the entities that each question names.
    """
    hits = n_expected = n_linked = 0
    for mine, right in zip(links, expected, strict=True):
        best = {link.candidates[0].qid for link in mine if link.candidates}
        hits += len(best & right)
        n_expected += len(right)
        n_linked += len(best)
    return LinkQuality(
        hits / n_expected if n_expected else 0.0,
        hits / n_linked if n_linked else 0.0,
        n_expected,
        n_linked,
    )
