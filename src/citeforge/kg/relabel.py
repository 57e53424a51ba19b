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
    """Replace the relations that a graph's domain names by their labels in the graph.

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
    """Write the SPARQL pattern of what has one of some English labels: ?name and ?entity."""
    labels = " ".join(literal(name, ENGLISH) for name in names)
    return f"VALUES ?name {{ {labels} }} ?entity rdfs:label ?name ."


def _find_labels(kg: KnowledgeGraph, condition: str) -> dict[str, str]:
    """Map names to the labels of what they name, in the best of the languages asked for.

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
    """Yield each name of a relation in a domain."""
    names: list[str] = []

    def keep(name: str) -> str:
        """Collect a name, and return it."""
        names.append(name)
        return name

    _map_names(domain.model_dump(), keep, lambda value: value)
    yield from names


def _value_names(domain: Domain) -> Iterator[str]:
    """Yield each value by which a domain chooses pronouns and nouns."""
    words = domain.phrasing
    yield from (value for value in words.pronouns if value != "any")
    yield from (value for nouns in words.links.values() for value in nouns if value != "any")


def _rename(domain: Domain, labels: Mapping[str, str], values: Mapping[str, str]) -> Domain:
    """Replace names of relations and values in a domain, and in its others."""
    known = {relation_key(name): label for name, label in labels.items()}

    def rename(name: str) -> str:
        """Get the label of a relation; its name where the graph has none."""
        return known.get(relation_key(name), name)

    content = _map_names(domain.model_dump(), rename, lambda value: values.get(value, value))
    others = tuple(_rename(other, labels, values) for other in domain.others)
    return Domain(**content | {"others": others})


def _map_names(
    content: dict[str, Any], relation: Callable[[str], str], value: Callable[[str], str]
) -> dict[str, Any]:
    """Apply functions to each name of a relation, and of a value, in the content of a domain.

    Args:
        content: fields of a domain, or of its words for questions.
        relation: makes the new name of a relation.
        value: makes the new name of a value.
    """
    mapped = dict(content)
    mapped["uninformative"] = _map_list(content["uninformative"], relation)
    mapped["same_value"] = [_map_list(group, relation) for group in content["same_value"]]
    mapped["single_valued"] = _map_keys(content["single_valued"], relation)
    mapped["forms"] = _map_keys(content["forms"], relation)
    mapped["relation_words"] = {w: relation(r) for w, r in content["relation_words"].items()}
    inverse = {r: _map_list(others, relation) for r, others in content["inverse"].items()}
    mapped["inverse"] = _map_keys(inverse, relation)
    if (words := content["questions"]) is None:
        return mapped
    own = dict(words)
    for part in _BY_THEME.intersection(words):
        own[part] = _map_lists(words[part], relation)
    own["relations"] = _map_keys(words["relations"], relation)
    links = {r: _map_keys(nouns, value) for r, nouns in words["links"].items()}
    own["links"] = _map_keys(links, relation)
    own["pronouns"] = _map_keys(words["pronouns"], value)
    own["sex"] = relation(words["sex"]) if words["sex"] else ""
    if (living := words["living"]) is not None:
        ended_by = _map_list(living["ended_by"], relation)
        own["living"] = living | {"relation": relation(living["relation"]), "ended_by": ended_by}
    return mapped | {"questions": own}


def _map_keys(content: Mapping[str, Any], rename: Callable[[str], str]) -> dict[str, Any]:
    """Apply a function to the keys of a mapping."""
    return {rename(key): value for key, value in content.items()}


def _map_list(names: Iterable[str], rename: Callable[[str], str]) -> list[str]:
    """Apply a function to each of some names."""
    return [rename(name) for name in names]


def _map_lists(content: Any, rename: Callable[[str], str]) -> Any:
    """Apply a function to each text in the lists of a mapping, at any depth; keep all else."""
    if isinstance(content, dict):
        return {key: _map_lists(value, rename) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [rename(v) if isinstance(v, str) else _map_lists(v, rename) for v in content]
    return content
