"""Domains of several classes: the words for each entity, and those for a relation of any."""

from itertools import product
from typing import Any

from citeforge.kg.domain import Domain, Phrasing
from citeforge.kg.values import iri
from citeforge.schemas.kg import Graph


def select_domain(domain: Domain, graph: Graph) -> Domain:
    """Get the domain (settings of a class) for an entity: the given one, or one nested in it.

    It is the given one if none has the class.
    Relations of one class may be inverse to those of another: each has the inverses of both.
    """
    facts = (*graph.triples, *graph.unnamed)  # a class may have no label in a language
    classes = {t.value_id for t in facts if t.pid == domain.instance_of}
    if domain.entity_class in classes:
        return domain
    for other in domain.others:
        if other.entity_class in classes:
            return other.model_copy(update={"inverse": domain.inverse | other.inverse})
    return domain


def merge_classes(domain: Domain) -> Domain:
    """Merge the domains nested in a domain (other classes) into it; its own wordings win.

    Where several have words for one relation, those of the first stay.
    """
    merged = domain
    for other in domain.others:
        parts = ("single_valued", "inverse", "relation_words", "forms", "templates")
        update: dict[str, Any] = {p: getattr(other, p) | getattr(merged, p) for p in parts}
        for part in ("same_value", "uninformative"):
            both = (*getattr(merged, part), *getattr(other, part))
            update[part] = tuple(dict.fromkeys(both))
        update["questions"] = _merge_words(merged.phrasing, other.phrasing)
        update["min_name_parts"] = min(merged.min_name_parts, other.min_name_parts)
        merged = merged.model_copy(update=update)
    return merged


def phrasings(domain: Domain) -> tuple[Phrasing, ...]:
    """List the question words of a domain, then those of the domains nested in it."""
    return (domain.phrasing, *(other.phrasing for other in domain.others))


def _merge_words(first: Phrasing, second: Phrasing) -> Phrasing:
    """Merge the question words of two classes; where both have some, the first ones win."""
    fields = {name: (getattr(first, name), getattr(second, name)) for name in Phrasing.model_fields}
    return Phrasing(**{
        name: others | mine if isinstance(mine, dict) else mine or others
        for name, (mine, others) in fields.items()
    })  # fmt: skip


def write_class_condition(domain: Domain, variable: str) -> str:
    """Write the SPARQL pattern that a variable is of a class of a domain or of nested ones."""
    link, classes = iri(domain.direct_iri + domain.instance_of), _class_iris(domain)
    if len(classes) == 1:
        return f"?{variable} {link} {classes[0]} ."
    return f"VALUES ?of {{ {' '.join(classes)} }} ?{variable} {link} ?of ."


def write_pair_condition(domain: Domain) -> str:
    """Write the SPARQL pattern of two entities: of the domain's class, or one of a nested one."""
    link, classes = iri(domain.direct_iri + domain.instance_of), _class_iris(domain)
    if len(classes) == 1:
        return f"?first {link} {classes[0]} .\n  ?second {link} {classes[0]} ."
    allowed = ((a, b) for a, b in product(classes, repeat=2) if classes[0] in (a, b))
    both = " ".join(f"({a} {b})" for a, b in allowed)
    return f"VALUES (?one ?other) {{ {both} }}\n  ?first {link} ?one .\n  ?second {link} ?other ."


def _class_iris(domain: Domain) -> list[str]:
    """List the IRIs of the classes of a domain and of nested ones, in angle brackets."""
    return [iri(domain.entity_iri + d.entity_class) for d in (domain, *domain.others)]
