"""Words of a domain for a graph whose labels are in another language than English."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from citeforge.kg.domain import Domain
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.values import Row, iri, literal
from citeforge.schemas.kg import relation_key

_ID = re.compile(r"P[1-9]\d*")
_BY_THEME = frozenset(("also", "theme_wordings"))
"""Parts of a domain's words that list relations by theme."""
ENGLISH = "en"
"""Language of the labels by which domains name relations."""


def relabel_domain(kg: KnowledgeGraph) -> None:
    """Rename the relations in a graph's domain to their labels in the graph's language.

    A domain names relations by their ids or English labels, and the sex of people by English
    labels. Where the labels asked for are English, ids alone are looked up.

    Raises:
        InputError: an endpoint does not answer.
    """
    if kg.domain.plain is not None:
        return
    domains = (kg.domain, *kg.domain.others)
    names = dict.fromkeys(name for d in domains for name in _relation_names(d))
    ids = [name for name in names if _ID.fullmatch(name)]
    labels: dict[str, str] = {}
    values: dict[str, str] = {}
    if ids:
        start = kg.domain.entity_iri
        written = " ".join(iri(start + name) for name in ids)
        found = _find_labels(kg, f"VALUES ?entity {{ {written} }} BIND(STR(?entity) AS ?name)")
        labels = {name.removeprefix(start): label for name, label in found.items()}
    if kg.languages[0] != ENGLISH:
        english = _with_labels(name for name in names if name not in ids)
        labels |= _find_labels(kg, f"{english} ?entity wikibase:directClaim ?direct .")
        words = dict.fromkeys(value for d in domains for value in _value_names(d))
        for sex in dict.fromkeys(d.phrasing.sex for d in domains if d.phrasing.sex):
            relation = literal(sex, ENGLISH)
            values |= _find_labels(
                kg,
                f"{_with_labels(words)} ?prop rdfs:label {relation} ; "
                "wikibase:directClaim ?direct . FILTER EXISTS { ?any ?direct ?entity }",
            )
    if labels or values:
        kg.domain = _rename(kg.domain, labels, values)


def _with_labels(names: Iterable[str]) -> str:
    """Write the SPARQL pattern of entities that have one of some English labels."""
    labels = " ".join(literal(name, ENGLISH) for name in names)
    return f"VALUES ?name {{ {labels} }} ?entity rdfs:label ?name ."


def _find_labels(kg: KnowledgeGraph, condition: str) -> dict[str, str]:
    """Map names to labels, in the best language, of entities that a SPARQL condition selects.

    Args:
        kg: the graph.
        condition: SPARQL pattern that binds ?name, and the ?entity that it names.
    """
    rows: dict[str, list[Row]] = {}
    for row in kg.ask("labels_of_names", ("name", "entity", "label"), condition=condition):
        rows.setdefault(row["name"].value, []).append(row)
    labels = {name: kg.reader.label(same, "label") for name, same in rows.items()}
    return {name: label for name, label in labels.items() if label}


def _relation_names(domain: Domain) -> Iterator[str]:
    """Yield the label or id of each relation that a domain mentions."""
    names: list[str] = []

    def record(name: str) -> str:
        """Record the name of a relation, and return it unchanged."""
        names.append(name)
        return name

    _map_names(domain.model_dump(), record, lambda value: value)
    yield from names


def _value_names(domain: Domain) -> Iterator[str]:
    """Yield each value, such as ``female``, that decides a domain's pronouns and nouns."""
    words = domain.phrasing
    yield from (value for value in words.pronouns if value != "any")
    yield from (value for nouns in words.links.values() for value in nouns if value != "any")


def _rename(domain: Domain, labels: Mapping[str, str], values: Mapping[str, str]) -> Domain:
    """Rename relations and values in a domain and its ``others``."""
    known = {relation_key(name): label for name, label in labels.items()}

    def rename(name: str) -> str:
        """Get the new label of a relation; its old name if the graph has no label."""
        return known.get(relation_key(name), name)

    content = _map_names(domain.model_dump(), rename, lambda value: values.get(value, value))
    others = tuple(_rename(other, labels, values) for other in domain.others)
    return Domain(**content | {"others": others})


def _map_names(
    content: dict[str, Any],
    rename_relation: Callable[[str], str],
    rename_value: Callable[[str], str],
) -> dict[str, Any]:
    """Rename each relation and each value in the fields of a domain, by two functions.

    Args:
        content: fields of a domain, or of its words for questions.
        rename_relation: makes the new name of a relation.
        rename_value: makes the new name of a value.
    """
    mapped = dict(content)
    mapped["uninformative"] = _map_list(content["uninformative"], rename_relation)
    mapped["same_value"] = [_map_list(group, rename_relation) for group in content["same_value"]]
    mapped["single_valued"] = _map_keys(content["single_valued"], rename_relation)
    mapped["forms"] = _map_keys(content["forms"], rename_relation)
    mapped["relation_words"] = {w: rename_relation(r) for w, r in content["relation_words"].items()}
    inverse = {r: _map_list(others, rename_relation) for r, others in content["inverse"].items()}
    mapped["inverse"] = _map_keys(inverse, rename_relation)
    if (words := content["questions"]) is None:
        return mapped
    own = dict(words)
    for part in _BY_THEME.intersection(words):
        own[part] = _map_lists(words[part], rename_relation)
    own["relations"] = _map_keys(words["relations"], rename_relation)
    links = {r: _map_keys(nouns, rename_value) for r, nouns in words["links"].items()}
    own["links"] = _map_keys(links, rename_relation)
    own["pronouns"] = _map_keys(words["pronouns"], rename_value)
    own["sex"] = rename_relation(words["sex"]) if words["sex"] else ""
    if (living := words["living"]) is not None:
        ended_by = _map_list(living["ended_by"], rename_relation)
        own["living"] = living | {
            "relation": rename_relation(living["relation"]),
            "ended_by": ended_by,
        }
    return mapped | {"questions": own}


def _map_keys(content: Mapping[str, Any], rename: Callable[[str], str]) -> dict[str, Any]:
    """Apply a function to the keys of a mapping; return the new mapping."""
    return {rename(key): value for key, value in content.items()}


def _map_list(names: Iterable[str], rename: Callable[[str], str]) -> list[str]:
    """Apply a function to each name in a list; return the new list."""
    return [rename(name) for name in names]


def _map_lists(content: Any, rename: Callable[[str], str]) -> Any:
    """Apply a function to texts in lists at any depth of a mapping; copy all else."""
    if isinstance(content, dict):
        return {key: _map_lists(value, rename) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [rename(v) if isinstance(v, str) else _map_lists(v, rename) for v in content]
    return content
