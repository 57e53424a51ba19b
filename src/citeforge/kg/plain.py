"""Mapping of plain RDF to Wikidata's model: the field ``plain`` of a domain.

Wikidata's model gives every relation an entity of its own, with labels; other RDF has only
predicates. A mapping names them: the classes that questions are about, the predicates
that hold names, and the relations. The graph is translated once, when it is loaded; all other
code sees one model. Entities get ids in the order of their IRIs (``Q1``, …; the classes together
are ``Q0``), relations in the order of the mapping (``P1``, …; ``P0`` is the class).
"""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo

from citeforge.kg.values import is_iri
from citeforge.schemas.record import FrozenRecord

ENTITY_IRI = "urn:citeforge:plain:"
DIRECT_IRI = "urn:citeforge:plain-direct:"
CLASS, INSTANCE_OF = "Q0", "P0"
INSTANCE_OF_LABEL = "instance of"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDF_TYPE = RDF + "type"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
INVERSE_OF = "http://www.w3.org/2002/07/owl#inverseOf"
ALT_LABEL = "http://www.w3.org/2004/02/skos/core#altLabel"


def _expand(name: str, info: ValidationInfo) -> str:
    """Expand ``prefix:name`` to an IRI, keep an IRI, raise an error for others (validator)."""
    prefix, _, rest = name.partition(":")
    prefixes = info.data.get("prefixes", {})
    if prefix in prefixes:
        name = prefixes[prefix] + rest
    elif "://" not in name and not name.startswith("urn:"):
        names = ", ".join(sorted(prefixes)) or "none"
        raise ValueError(f"{name[:80]!r} is not an IRI and has no known prefix (known: {names})")
    if not is_iri(name):
        raise ValueError(f"{name[:80]!r} is not an IRI")
    return name


def _check_iri_start(text: str) -> str:
    """Return a text unchanged; raise an error if no IRI can begin with it."""
    if not is_iri(text):
        raise ValueError(f"{text[:80]!r} is not the beginning of an IRI")
    return text


Name = Annotated[str, AfterValidator(_expand)]
IriStart = Annotated[str, AfterValidator(_check_iri_start)]


class PlainRelation(FrozenRecord):
    """Relation of Wikidata's model that a predicate of plain RDF becomes.

    Attributes:
        label: name in citations and sentences; predicates of one label are one relation.
        values: ``entity`` (an IRI with a name), ``text``, ``date``, ``number``, or ``any`` of them;
            values of another kind are left out and counted.
    """

    label: str = Field(min_length=1)
    values: Literal["any", "entity", "text", "date", "number"] = "any"


class PlainModel(FrozenRecord):
    """Mapping of plain RDF: its classes, names and relations.

    Attributes:
        prefixes: prefix to the beginning of an IRI.
        classes: classes whose instances questions are about.
        labels: predicates that hold names, the best first.
        aliases: predicates that hold other names.
        language: language of relation labels, and of names without a language.
        relations: predicates that are relations.
    """

    prefixes: dict[str, IriStart] = {}
    classes: tuple[Name, ...] = Field(min_length=1)
    labels: tuple[Name, ...] = Field(min_length=1)
    aliases: tuple[Name, ...] = ()
    language: str = Field("en", pattern=r"^[a-zA-Z]{2,8}(-[a-zA-Z0-9]{1,8})*$")
    relations: dict[Name, PlainRelation] = Field(min_length=1)


def last_part(name: str) -> str:
    """Get the last part of an IRI: ``…/birthPlace`` gives ``birthPlace``."""
    return re.split(r"[#/:]", name.rstrip("#/:"))[-1]


def local_words(name: str) -> str:
    """Split the last part of an IRI into words: ``…/birthPlace`` gives ``birth place``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_+", " ", last_part(name)).lower()
