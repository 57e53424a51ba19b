"""Counts of relations in a knowledge graph, and drafts of domains made from them."""

from dataclasses import dataclass
from typing import Any

import yaml

from citeforge.kg.domain import Domain, plain_phrase
from citeforge.kg.facts import COUNT
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.plain import ALT_LABEL, RDF_TYPE, RDFS_LABEL, local_words
from citeforge.kg.values import Row, plain_label
from citeforge.schemas.errors import InputError

_SCHEMA = ("https://schema.org/", "http://schema.org/")
_LABELS = (
    RDFS_LABEL,
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://xmlns.com/foaf/0.1/name",
    *(start + "name" for start in _SCHEMA),
    "http://purl.org/dc/terms/title",
    "http://purl.org/dc/elements/1.1/title",
)
_ALIASES = (ALT_LABEL, *(start + "alternateName" for start in _SCHEMA))
_UNMAPPED = ("http://www.w3.org/2002/07/owl#sameAs", "http://www.w3.org/2000/01/rdf-schema#comment")


@dataclass(frozen=True)
class RelationProfile:
    """Counts of one relation of a class.

    Attributes:
        pid: id of the relation.
        label: label of the relation; the id if it has none.
        entities: number of entities of the class that have the relation.
        values: number of distinct values.
        example: the first value, in alphabetical order.
        has_words: whether the domain has words for questions about it.
    """

    pid: str
    label: str
    entities: int
    values: int
    example: str
    has_words: bool


@dataclass(frozen=True)
class ClassProfile:
    """Size and relations of one class of a graph, beside the sizes of all classes.

    Attributes:
        entity_class: id of the class: the domain's, or the largest if the graph has none of it.
        entities: number of entities of the class.
        classes: (id, label, entities) of every class of the graph, the largest first.
        relations: relations of the class, the most frequent first.
    """

    entity_class: str
    entities: int
    classes: list[tuple[str, str, int]]
    relations: list[RelationProfile]

    def draft(self, domain: Domain) -> str:
        """Write a domain as YAML, with draft words for questions about relations that have none.

        Uninformative relations are left out.
        """
        content: dict[str, Any] = domain.model_dump(mode="json", exclude_defaults=True)
        content["entity_class"] = self.entity_class
        questions = content.setdefault("questions", {})
        relations = questions.setdefault("relations", {})
        for relation in self.relations:
            if not relation.has_words and relation.label not in domain.uninformative:
                words = plain_phrase(relation.label, domain.form_of(relation.label))
                relations[relation.label] = words.model_dump(exclude_defaults=True)
        head = f"# {domain.name}: relations without `theme` have draft words; see docs/kalma.md.\n"
        return head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


def profile_class(kg: KnowledgeGraph) -> ClassProfile:
    """Count the relations and values of the domain's class, or of the graph's largest class.

    Raises:
        InputError: an endpoint cannot answer.
    """
    domain = kg.domain
    link = domain.direct_iri + domain.instance_of
    rows = kg.ask("classes", ("class", "entities"), instance_of=link)
    classes = [
        (name, kg.reader.label(same, "label") or name, _read_count(kg, same[0], "entities"))
        for name, same in _group_by_id(kg, rows, "class").items()
    ]
    classes.sort(key=lambda c: (-c[2], c[0]))
    sizes = {name: n for name, _, n in classes}
    own = domain.entity_class if domain.entity_class in sizes else next(iter(sizes), "")
    rows = [] if not own else kg.ask(
        "profile", ("prop", "entities", "values"), instance_of=link,
        **{"class": domain.entity_iri + own},
    )  # fmt: skip
    groups = _group_by_id(kg, rows, "prop")
    relations = [_profile_relation(kg, pid, same) for pid, same in groups.items()]
    relations.sort(key=lambda r: (-r.entities, r.label))
    return ClassProfile(own or domain.entity_class, sizes.get(own, 0), classes, relations)


@dataclass(frozen=True)
class PredicateProfile:
    """Counts of one predicate of RDF that no domain maps yet.

    Attributes:
        iri: IRI of the predicate.
        triples: number of statements with it.
        entities: number of distinct subjects.
        values: number of distinct values.
        sort: type of the values: ``entity``, ``text``, or ``any`` for both.
        example: the first value, in alphabetical order.
    """

    iri: str
    triples: int
    entities: int
    values: int
    sort: str
    example: str


@dataclass(frozen=True)
class PlainProfile:
    """Predicates and classes of unmapped RDF, the most frequent first.

    Attributes:
        classes: (IRI, entities) by rdf:type.
        predicates: all predicates.
    """

    classes: list[tuple[str, int]]
    predicates: list[PredicateProfile]

    def draft(self, name: str) -> str:
        """Draft a domain that maps every predicate, as YAML to be improved by hand.

        Args:
            name: name of the domain.
        """
        there = {p.iri for p in self.predicates}
        labels = [p for p in _LABELS if p in there]
        aliases = [p for p in _ALIASES if p in there]
        mapped = {RDF_TYPE, *_UNMAPPED, *labels, *aliases}
        relations = {
            p.iri: {
                "label": local_words(p.iri) or p.iri,
                **({"values": "entity"} if p.sort == "entity" else {}),
            }
            for p in self.predicates
            if p.iri not in mapped
        }
        plain = {
            "classes": [iri for iri, _ in self.classes[:1]] or ["http://example.org/Class"],
            "labels": labels or [RDFS_LABEL],
            **({"aliases": aliases} if aliases else {}),
            "language": "en",
            "relations": relations,
        }
        head = f"# {name}: a draft. Keep and name the relations to ask for; see docs/kalma.md.\n"
        content = {"name": name, "model": "plain", "plain": plain}
        return head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


def profile_plain(kg: KnowledgeGraph) -> PlainProfile:
    """Count predicates and classes of RDF that is not in Wikidata's model.

    Raises:
        InputError: the graph cannot be read.
    """
    rows = kg.ask("classes", ("class", "entities"), instance_of=RDF_TYPE)
    classes = {row["class"].value: _read_count(kg, row, "entities") for row in rows}
    predicates = []
    for row in kg.ask("predicates", ("predicate", "triples", "literals")):
        triples, literals = _read_count(kg, row, "triples"), _read_count(kg, row, "literals")
        sort = "entity" if not literals else "text" if literals == triples else "any"
        example = plain_label(row["example"].value) if "example" in row else ""
        predicates.append(
            PredicateProfile(
                row["predicate"].value, triples, _read_count(kg, row, "entities"),
                _read_count(kg, row, "values"), sort, example,
            )
        )  # fmt: skip
    predicates.sort(key=lambda p: (-p.triples, p.iri))
    return PlainProfile(sorted(classes.items(), key=lambda c: (-c[1], c[0])), predicates)


def _group_by_id(kg: KnowledgeGraph, rows: list[Row], variable: str) -> dict[str, list[Row]]:
    """Group rows by the id in one of their variables; an id has one row per label."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        name = plain_label(row[variable].value.removeprefix(kg.domain.entity_iri))
        groups.setdefault(name, []).append(row)
    return groups


def _read_count(kg: KnowledgeGraph, row: Row, variable: str) -> int:
    """Read the whole number in a variable of a row; refuse anything else."""
    value = row[variable].value
    if not COUNT.fullmatch(value):
        raise InputError(
            f"the reply has {value[:20]!r} in place of a number", field=variable,
            path=kg.engine.identity().get("endpoint"), code="bad-reply",
            allowed="an endpoint of SPARQL 1.1, or a snapshot (--kg file:…)",
        )  # fmt: skip
    return int(value)


def _profile_relation(kg: KnowledgeGraph, pid: str, rows: list[Row]) -> RelationProfile:
    """Make the profile of one relation from its rows, one row per language of its label."""
    label = kg.reader.label(rows, "propLabel") or pid
    words = kg.domain.questions
    example = plain_label(rows[0]["example"].value) if "example" in rows[0] else ""
    return RelationProfile(
        pid, label, _read_count(kg, rows[0], "entities"), _read_count(kg, rows[0], "values"),
        example, words is not None and words.phrase(label) is not None,
    )  # fmt: skip
