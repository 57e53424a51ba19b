"""Counts of relations in a knowledge graph, and drafts of domains made from them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from citeforge.kg.domain import Domain, list_built_in, load_domain
from citeforge.kg.drafts import (
    SCHEMA,
    DraftRelation,
    ValueKinds,
    ValueSort,
    class_sort,
    draft_label,
    draft_phrasing,
    uninformative_relations,
)
from citeforge.kg.english import guess_label_form
from citeforge.kg.facts import COUNT
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.plain import ALT_LABEL, RDF_TYPE, RDFS_LABEL, local_words
from citeforge.kg.values import Row, plain_label
from citeforge.schemas.errors import InputError

_LABELS = (
    RDFS_LABEL,
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://xmlns.com/foaf/0.1/name",
    *(start + "name" for start in SCHEMA),
    "http://purl.org/dc/terms/title",
    "http://purl.org/dc/elements/1.1/title",
)
_ALIASES = (ALT_LABEL, *(start + "alternateName" for start in SCHEMA))
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
        sort: what most of its values are.
    """

    pid: str
    label: str
    entities: int
    values: int
    example: str
    has_words: bool
    sort: ValueSort


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

    @property
    def label(self) -> str:
        """Label of the profiled class; its id if it has none."""
        labels = (label for name, label, _ in self.classes if name == self.entity_class)
        return next(labels, self.entity_class)

    def draft(self, domain: Domain) -> str:
        """Draft a domain of the profiled class as YAML; extend ``domain`` if that is of the class.

        A domain for another class gives its IRIs alone: its words are about other entities.
        Uninformative relations are left out.
        """
        is_own = domain.entity_class == self.entity_class
        left_out = {*domain.uninformative, *uninformative_relations()}
        wanted = [
            DraftRelation(r.pid, r.label, domain.label_form(r.label), r.sort)
            for r in self.relations
            if r.label not in left_out and not (is_own and r.has_words)
        ]
        words = draft_phrasing(self.label, wanted)
        if is_own:
            content = domain.model_dump(mode="json", exclude_defaults=True)
            new = words.model_dump(mode="json", exclude_defaults=True)
            # Opener and pronouns are drafted with the first words alone: later ones follow these.
            questions = content.setdefault("questions", new)
            for part in ("themes", "theme_wordings", "relations", "links"):
                questions[part] = new.get(part, {}) | questions.get(part, {})
        else:
            content = {
                "name": _domain_name(self.label), "entity_class": self.entity_class,
                "entity_iri": domain.entity_iri, "direct_iri": domain.direct_iri,
                "instance_of": domain.instance_of,
                **_titles(self.label),
                "uninformative": [r.label for r in self.relations if r.label in left_out],
                "questions": words.model_dump(mode="json", exclude_defaults=True),
                **({"others": [domain.name]} if self._has_class_of(domain) else {}),
            }  # fmt: skip
        return _as_yaml(f"{content['name']}: draft words for {len(wanted)} relations", content)

    def _has_class_of(self, domain: Domain) -> bool:
        """Whether a domain is built-in, and the graph has entities of its class."""
        is_there = any(name == domain.entity_class for name, _, _ in self.classes)
        return is_there and domain.name in list_built_in()


def _titles(class_label: str) -> dict[str, bool]:
    """Make the field ``titles`` of a drafted domain: true for classes of works, else absent."""
    return {"titles": True} if class_sort(class_label) == "work" else {}


def _domain_name(label: str) -> str:
    """Derive a domain's name from the label of its class: ``association-football-club``."""
    return "-".join(re.findall(r"\w+", label.lower())) or "draft"


def _as_yaml(title: str, content: Mapping[str, Any]) -> str:
    """Write a drafted domain as YAML, below a comment with its title."""
    head = f"# {title}; read and improve them: docs/kalma.md, Another domain.\n"
    return head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


def profile_class(kg: KnowledgeGraph, entity_class: str | None = None) -> ClassProfile:
    """Profile a class of a knowledge graph: counts of its relations and their values.

    Args:
        kg: the graph.
        entity_class: id or label of the class; None for the domain's, or the graph's largest class
            where it has none of the domain's.

    Raises:
        InputError: an endpoint cannot answer, or the graph has no such class.
    """
    domain = kg.domain
    link = domain.direct_iri + domain.instance_of
    rows = kg.ask("classes", ("class", "entities"), instance_of=link)
    rows = [row for row in rows if kg.reader.is_entity(row["class"])]
    classes = [
        (name, kg.reader.label(same, "label") or name, _read_count(kg, same[0], "entities"))
        for name, same in _group_by_id(kg, rows, "class").items()
    ]
    classes.sort(key=lambda c: (-c[2], c[0]))
    sizes = {name: n for name, _, n in classes}
    own = domain.entity_class if domain.entity_class in sizes else next(iter(sizes), "")
    if entity_class is not None:
        own = _find_class(entity_class, [(name, label) for name, label, _ in classes])
    rows = [] if not own else kg.ask(
        "profile", ("prop", "entities", "values"), instance_of=link,
        **{"class": domain.entity_iri + own},
    )  # fmt: skip
    groups = _group_by_id(kg, rows, "prop")
    kinds = _find_value_kinds(kg, link, own) if groups else {}
    relations = [_profile_relation(kg, pid, same, kinds) for pid, same in groups.items()]
    relations.sort(key=lambda r: (-r.entities, r.label))
    return ClassProfile(own or domain.entity_class, sizes.get(own, 0), classes, relations)


def _find_class(wanted: str, classes: Sequence[tuple[str, str]]) -> str:
    """Find the id of the class with an id, IRI or label, whatever its upper and lower case.

    Args:
        wanted: what the user named.
        classes: (id or IRI, label) of each class, the largest first.

    Raises:
        InputError: there is no such class.
    """
    key = wanted.casefold()
    fitting = (name for name, label in classes if key in (name.casefold(), label.casefold()))
    if (own := next(fitting, None)) is None:
        listed = ", ".join(f"{name} ({label})" for name, label in classes[:8]) or "none"
        raise InputError(
            f"has no class {wanted!r}", path="the graph", field="--class",
            allowed=f"its id or label; the largest: {listed}", code="unknown-id",
        )  # fmt: skip
    return own


@dataclass(frozen=True)
class PredicateProfile:
    """Counts of one predicate of RDF that no domain maps yet.

    Attributes:
        iri: IRI of the predicate.
        triples: number of statements with it.
        entities: number of distinct subjects.
        values: number of distinct values.
        node: type of the values: ``entity``, ``text``, or ``any`` for both.
        example: the first value, in alphabetical order.
        sort: what most of its values are.
    """

    iri: str
    triples: int
    entities: int
    values: int
    node: str
    example: str
    sort: ValueSort

    def value_type(self) -> str:
        """Choose the type of the predicate's values for a drafted mapping, such as ``date``."""
        is_literal = self.node == "text" and self.sort in ("date", "number")
        return self.sort if is_literal else self.node


@dataclass(frozen=True)
class PlainProfile:
    """Predicates and classes of unmapped RDF, the most frequent first.

    Attributes:
        entity_class: IRI of the class that questions are about; empty if there is none.
        own: predicates of its entities.
        classes: (IRI, entities) by rdf:type.
        predicates: all predicates.
    """

    entity_class: str
    own: frozenset[str]
    classes: list[tuple[str, int]]
    predicates: list[PredicateProfile]

    def draft(self, name: str) -> str:
        """Draft a domain called ``name`` that maps all predicates of plain RDF, as YAML to edit.

        Its words are for the predicates of the class that questions are about.

        Args:
            name: name of the domain.
        """
        there = {p.iri for p in self.predicates}
        labels = [p for p in _LABELS if p in there]
        aliases = [p for p in _ALIASES if p in there]
        mapped = {RDF_TYPE, *_UNMAPPED, *labels, *aliases}
        others = [p.iri for p in self.predicates if p.iri not in mapped]
        named = {iri: label for iri in others if (label := draft_label(iri)) is not None}
        class_iri = self.entity_class or "http://example.org/Class"
        plain = {
            "classes": [class_iri],
            "labels": labels or [RDFS_LABEL],
            **({"aliases": aliases} if aliases else {}),
            "language": "en",
            "relations": {
                p.iri: {"label": named[p.iri], "values": p.value_type()}
                for p in self.predicates
                if p.iri in named
            },
        }
        left_out = {*uninformative_relations(), *load_domain("people").uninformative}
        dull = [label for label in named.values() if label in left_out]
        words = draft_phrasing(
            local_words(class_iri),
            [
                DraftRelation(p.iri, named[p.iri], guess_label_form(named[p.iri]), p.sort)
                for p in self.predicates
                if p.iri in named and p.iri in self.own
            ],
        )
        content = {
            "name": name, "model": "plain", "plain": plain, **_titles(local_words(class_iri)),
            **({"uninformative": dull} if dull else {}),
            "questions": words.model_dump(mode="json", exclude_defaults=True),
        }  # fmt: skip
        return _as_yaml(f"{name}: keep and name the relations to ask for", content)


def profile_plain(kg: KnowledgeGraph, entity_class: str | None = None) -> PlainProfile:
    """Profile plain RDF (not in Wikidata's model): counts of its predicates and classes.

    Args:
        kg: the graph.
        entity_class: IRI or name of the class that questions are about; None for the largest.

    Raises:
        InputError: the graph cannot be read, or has no such class.
    """
    rows = kg.ask("classes", ("class", "entities"), instance_of=RDF_TYPE)
    # A class without an IRI cannot be asked for: unions of OWL, say.
    classes = [
        (row["class"].value, _read_count(kg, row, "entities"))
        for row in rows
        if row["class"].type == "uri"
    ]
    classes.sort(key=lambda c: (-c[1], c[0]))
    largest = classes[0][0] if classes else ""
    if entity_class is not None:
        largest = _find_class(entity_class, [(iri, local_words(iri)) for iri, _ in classes])
    rows = kg.ask("class_predicates", ("predicate",), **{"class": largest}) if largest else []
    own = frozenset(row["predicate"].value for row in rows)
    kinds: dict[str, ValueKinds] = {}
    for row in kg.ask("predicate_values", ("predicate", "values")):
        class_iri = row["class"].value if "class" in row and row["class"].type == "uri" else ""
        kinds.setdefault(row["predicate"].value, ValueKinds()).add(
            row["datatype"].value if "datatype" in row else "", local_words(class_iri),
            _read_count(kg, row, "values"),
            is_profiled_class=bool(class_iri) and class_iri == largest,
        )  # fmt: skip
    predicates = []
    for row in kg.ask("predicates", ("predicate", "triples", "literals")):
        triples, literals = _read_count(kg, row, "triples"), _read_count(kg, row, "literals")
        node = "entity" if not literals else "text" if literals == triples else "any"
        example = plain_label(row["example"].value) if "example" in row else ""
        iri = row["predicate"].value
        predicates.append(
            PredicateProfile(
                iri, triples, _read_count(kg, row, "entities"), _read_count(kg, row, "values"),
                node, example, kinds[iri].main_sort,
            )
        )  # fmt: skip
    predicates.sort(key=lambda p: (-p.triples, p.iri))
    return PlainProfile(largest, own, classes, predicates)


def _group_by_id(kg: KnowledgeGraph, rows: list[Row], variable: str) -> dict[str, list[Row]]:
    """Group rows of a SPARQL reply by the entity or relation id in a variable.

    Args:
        kg: graph that the rows are from.
        rows: reply of a query.
        variable: variable of the query that has the id.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        name = plain_label(row[variable].value.removeprefix(kg.domain.entity_iri))
        groups.setdefault(name, []).append(row)
    return groups


def _read_count(kg: KnowledgeGraph, row: Row, variable: str) -> int:
    """Read the whole number in a variable of a SPARQL reply's row.

    Raises:
        InputError: it is something else; names the endpoint.
    """
    value = row[variable].value
    if not COUNT.fullmatch(value):
        raise InputError(
            f"the reply has {value[:20]!r} in place of a number", field=variable,
            path=kg.engine.identity().get("endpoint"), code="bad-reply",
            allowed="an endpoint of SPARQL 1.1, or a snapshot (--kg file:…)",
        )  # fmt: skip
    return int(value)


def _find_value_kinds(
    kg: KnowledgeGraph, class_relation: str, class_id: str
) -> dict[str, ValueKinds]:
    """Count the data types and classes of the values of a class's relations, by relation id.

    Args:
        kg: the graph.
        class_relation: IRI of the relation to an entity's class.
        class_id: id of the class.
    """
    rows = kg.ask(
        "value_kinds", ("prop", "values"), instance_of=class_relation,
        **{"class": kg.domain.entity_iri + class_id},
    )  # fmt: skip
    kinds: dict[str, ValueKinds] = {}
    same: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        pid = plain_label(row["prop"].value.removeprefix(kg.domain.entity_iri))
        key = (pid, row["datatype"].value if "datatype" in row else "",
               row["class"].value if "class" in row else "")  # fmt: skip
        same.setdefault(key, []).append(row)
    for (pid, datatype, class_iri), mine in same.items():
        kinds.setdefault(pid, ValueKinds()).add(
            datatype, kg.reader.label(mine, "label") or "", _read_count(kg, mine[0], "values"),
            is_profiled_class=class_iri == kg.domain.entity_iri + class_id,
        )  # fmt: skip
    return kinds


def _profile_relation(
    kg: KnowledgeGraph, pid: str, rows: list[Row], kinds: Mapping[str, ValueKinds]
) -> RelationProfile:
    """Make the profile of one relation from its rows of a SPARQL reply, one per language.

    Args:
        kg: graph that has the relation.
        pid: id of the relation, such as ``P19``.
        rows: rows with its label and counts.
        kinds: id of a relation to the data types and classes of its values.
    """
    label = kg.reader.label(rows, "propLabel") or pid
    words = kg.domain.questions
    example = plain_label(rows[0]["example"].value) if "example" in rows[0] else ""
    return RelationProfile(
        pid, label, _read_count(kg, rows[0], "entities"), _read_count(kg, rows[0], "values"),
        example, words is not None and words.phrase(label) is not None, kinds[pid].main_sort,
    )  # fmt: skip
