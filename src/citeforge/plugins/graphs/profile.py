"""What a graph says of a class: the relations that a domain may have words for."""

from dataclasses import dataclass
from typing import Any

import yaml

from citeforge.kg.domain import Domain, plain_phrase
from citeforge.kg.graph import COUNT, KnowledgeGraph
from citeforge.kg.values import Row, plain_label
from citeforge.schemas.errors import InputError


@dataclass(frozen=True)
class RelationProfile:
    """One relation of a class.

    Attributes:
        pid: its id.
        label: its label; the id where it has none.
        entities: entities of the class that have it.
        values: its distinct values.
        example: the first of them, in alphabetical order.
        has_words: whether the domain has words for questions about it.
    """

    pid: str
    label: str
    entities: int
    values: int
    example: str
    has_words: bool


@dataclass(frozen=True)
class Profile:
    """A class of a graph.

    Attributes:
        entity_class: id of the class: the domain's, or the largest where the graph has none of it.
        entities: entities of the class.
        classes: (id, label, entities) of every class of the graph, the largest first.
        relations: relations of the class, the most frequent first.
    """

    entity_class: str
    entities: int
    classes: list[tuple[str, str, int]]
    relations: list[RelationProfile]


def profile_class(kg: KnowledgeGraph) -> Profile:
    """Look what a graph says of the domain's class, or of its largest where it has none of that.

    Raises:
        InputError: an endpoint cannot answer; give a snapshot.
    """
    domain = kg.domain
    link = domain.direct_iri + domain.instance_of
    rows = kg.ask("classes", ("class", "entities"), instance_of=link)
    classes = [
        (name, kg.best_label(same, "label") or name, _number(kg, same[0], "entities"))
        for name, same in _grouped(kg, rows, "class").items()
    ]
    classes.sort(key=lambda c: (-c[2], c[0]))
    sizes = {name: n for name, _, n in classes}
    own = domain.entity_class if domain.entity_class in sizes else next(iter(sizes), "")
    rows = [] if not own else kg.ask(
        "profile", ("prop", "entities", "values"), instance_of=link,
        **{"class": domain.entity_iri + own},
    )  # fmt: skip
    relations = [_relation(kg, pid, same) for pid, same in _grouped(kg, rows, "prop").items()]
    relations.sort(key=lambda r: (-r.entities, r.label))
    return Profile(own or domain.entity_class, sizes.get(own, 0), classes, relations)


def _grouped(kg: KnowledgeGraph, rows: list[Row], variable: str) -> dict[str, list[Row]]:
    """Rows by id; one a label."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        name = plain_label(row[variable].value.removeprefix(kg.domain.entity_iri))
        groups.setdefault(name, []).append(row)
    return groups


def _number(kg: KnowledgeGraph, row: Row, variable: str) -> int:
    value = row[variable].value
    if not COUNT.fullmatch(value):
        raise InputError(
            f"the reply has {value[:20]!r} in place of a number", field=variable,
            path=kg.engine.identity().get("endpoint"), code="bad-reply",
            allowed="an endpoint of SPARQL 1.1, or a snapshot (--kg file:…)",
        )  # fmt: skip
    return int(value)


def _relation(kg: KnowledgeGraph, pid: str, rows: list[Row]) -> RelationProfile:
    label = kg.best_label(rows, "propLabel") or pid
    words = kg.domain.questions
    example = plain_label(rows[0]["example"].value) if "example" in rows[0] else ""
    return RelationProfile(
        pid, label, _number(kg, rows[0], "entities"), _number(kg, rows[0], "values"), example,
        words is not None and words.phrase(label) is not None,
    )  # fmt: skip


def draft(domain: Domain, profile: Profile) -> str:
    """The domain as a YAML file, with plain words for every relation that has none: a start.

    Uninformative relations are left out.
    """
    content: dict[str, Any] = domain.model_dump(mode="json", exclude_defaults=True)
    content["entity_class"] = profile.entity_class
    questions = content.setdefault("questions", {})
    relations = questions.setdefault("relations", {})
    for relation in profile.relations:
        if not relation.has_words and relation.label not in domain.uninformative:
            words = plain_phrase(relation.label, domain.form_of(relation.label), is_entity=False)
            relations[relation.label] = words.model_dump(exclude_none=True)
    head = f"# {domain.name}: words marked `about: life` are a draft; see docs/kalma.md.\n"
    return head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
