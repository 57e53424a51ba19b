"""Translation of plain RDF into Wikidata's model, by the mapping ``plain`` of a domain."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from pyoxigraph import Literal as RdfLiteral
from pyoxigraph import NamedNode, Store

from citeforge.kg.english import with_unit
from citeforge.kg.plain import (
    ALT_LABEL,
    CLASS,
    DIRECT_IRI,
    ENTITY_IRI,
    INSTANCE_OF,
    INSTANCE_OF_LABEL,
    INVERSE_OF,
    RDF,
    RDF_TYPE,
    RDFS_LABEL,
    PlainModel,
    last_part,
    local_words,
)
from citeforge.kg.values import (
    DATE_TIME,
    DATES,
    WIKIBASE,
    XSD,
    date_precision_triples,
    iri,
    is_geometry,
    literal,
)
from citeforge.schemas.counts import count_key

_DATE = re.compile(
    r"(-?[0-9]{4,9})(?:-([0-9]{2})(?:-([0-9]{2}))?)?(?:T.*|Z|[+-][0-9]{2}:[0-9]{2})?"
)
_PRECISION = {1: 9, 2: 10, 3: 11}
"""Parts of a date that are known to wikibase:timePrecision: year, month, day."""


@dataclass(frozen=True)
class Translated:
    """A plain graph in Wikidata's model.

    Attributes:
        lines: the triples, as N-Triples.
        ids: IRI to id.
        left_out: facts that are not translated, by reason.
        classes: classes of the plain graph, the most frequent first.
        named: number of instances of the mapped classes that have a name.
    """

    lines: list[str]
    ids: dict[str, str]
    left_out: Counter[str] = field(default_factory=Counter)
    classes: list[str] = field(default_factory=list)
    named: int = 0


class Translation:
    """Translates the facts of a store that a mapping names, in linear time."""

    def __init__(self, store: Store, model: PlainModel) -> None:
        """Collect the entities and facts of a plain RDF store by a mapping; assign ids to them."""
        self.store, self.model = store, model
        self.counts: Counter[str] = Counter()
        self.names = {p: self._literals(p) for p in dict.fromkeys((*model.labels, *model.aliases))}
        self.named = {subject for label in model.labels for subject in self.names[label]}
        self.instances = self._instances()
        labels = dict.fromkeys(r.label for r in model.relations.values())
        self.pids = {label: f"P{i}" for i, label in enumerate(labels, 1)}
        self.facts = list(self._facts())
        entities = {*self.instances, *(s for s, _, _ in self.facts)}
        entities |= {o.value for _, _, o in self.facts if not isinstance(o, RdfLiteral)}
        self.ids = {name: f"Q{i}" for i, name in enumerate(sorted(entities), 1)}

    def translate(self) -> Translated:
        """Translate the plain RDF store into Wikidata's model."""
        lines = [
            *self._property_triples(),
            *self._label_triples(),
            *self._class_triples(),
            *self._value_triples(),
        ]
        self._count_unmapped()
        classes = (q.object for q in self._quads(RDF_TYPE))
        types = Counter(c.value for c in classes if not isinstance(c, RdfLiteral))
        return Translated(
            sorted(set(lines)), self.ids, self.counts,
            [name for name, _ in sorted(types.items(), key=lambda t: (-t[1], t[0]))],
            len(self.instances & self.named),
        )  # fmt: skip

    def _quads(self, predicate: str, value: str | None = None) -> Iterator[Any]:
        """Find the statements with a predicate, and with a given IRI as value if not None."""
        of = None if value is None else NamedNode(value)
        return iter(self.store.quads_for_pattern(None, NamedNode(predicate), of))

    def _literals(self, predicate: str) -> dict[str, list[Any]]:
        """Map each subject's IRI to its literals of a predicate, sorted."""
        literals: dict[str, list[Any]] = {}
        for quad in self._quads(predicate):
            if isinstance(quad.subject, NamedNode) and isinstance(quad.object, RdfLiteral):
                literals.setdefault(quad.subject.value, []).append(quad.object)
        for values in literals.values():
            values.sort(key=lambda v: (v.value, v.language or ""))
        return literals

    def _instances(self) -> set[str]:
        """Find the IRIs of the mapped classes' instances; count those without IRI or label."""
        instances: set[str] = set()
        nameless = set()
        for name in self.model.classes:
            for quad in self._quads(RDF_TYPE, name):
                if isinstance(quad.subject, NamedNode):
                    instances.add(quad.subject.value)
                else:
                    nameless.add(str(quad.subject))
        self._count("entities_without_an_iri", len(nameless))
        self._count("entities_without_a_label", len(instances - self.named))
        return instances

    def _facts(self) -> Iterator[tuple[str, str, Any]]:
        """Yield (subject IRI, predicate, value) of mapped facts; count facts left out."""
        subjects = self.instances | self.named
        for predicate, relation in self.model.relations.items():
            some = False
            for quad in self._quads(predicate):
                some = True
                if not isinstance(quad.subject, NamedNode):
                    self._count("facts_of_entities_without_an_iri")
                elif quad.subject.value not in subjects:
                    self._count("facts_of_entities_without_a_label")
                elif (key := self._find_misfit(quad.object, relation.values)) is not None:
                    self._count(key)
                else:
                    yield quad.subject.value, predicate, quad.object
            if not some:
                self._count(count_key("relations_without_a_triple", predicate))

    def _find_misfit(self, value: Any, value_type: str) -> str | None:
        """Get the key by which a value of the wrong type is counted; None if the value fits.

        Args:
            value: IRI, literal or blank node of pyoxigraph.
            value_type: type of values that the mapping gives the relation.

        Returns:
            The key; None if the value fits.
        """
        if isinstance(value, RdfLiteral):
            if is_geometry(value.datatype.value):
                return "values_as_coordinates"
            if value_type == "entity":
                return "values_as_text"
            if value_type == "number" and not _is_number(value.value):
                return "values_that_are_no_numbers"
            is_date = _is_date(value, value_type)
            is_none = is_date and _read_date(value.value) is None
            return "values_as_impossible_dates" if is_none else None
        if value_type not in ("any", "entity"):
            return count_key("values_as_entities", value_type)
        return None if isinstance(value, NamedNode) else "values_without_an_iri"

    def _property_triples(self) -> Iterator[str]:
        """Yield N-Triples that describe the relations, and the label of the class."""
        for label, pid in ((INSTANCE_OF_LABEL, INSTANCE_OF), *self.pids.items()):
            prop = _entity_iri(pid)
            yield _triple(prop, RDFS_LABEL, literal(label, self.model.language))
            yield _triple(prop, WIKIBASE + "directClaim", iri(DIRECT_IRI + pid))
        for quad in self._quads(INVERSE_OF):
            ends = [getattr(end, "value", "") for end in (quad.subject, quad.object)]
            if all(end in self.model.relations for end in ends):
                one, other = (self.pids[self.model.relations[end].label] for end in ends)
                yield _triple(_entity_iri(one), INVERSE_OF, _entity_iri(other))
        word = last_part(self.model.classes[0])
        yield _triple(_entity_iri(CLASS), RDFS_LABEL, literal(word, self.model.language))

    def _label_triples(self) -> Iterator[str]:
        """Yield N-Triples of entities' names: the best per language as label, others as aliases."""
        for name, qid in self.ids.items():
            languages: set[str] = set()
            for predicate, literals in self.names.items():
                for value in literals.get(name, ()):
                    language = value.language or self.model.language
                    best = predicate in self.model.labels and language not in languages
                    languages |= {language} if best else set()
                    kind = RDFS_LABEL if best else ALT_LABEL
                    yield _triple(_entity_iri(qid), kind, literal(value.value, language))

    def _class_triples(self) -> Iterator[str]:
        """Yield the N-Triples that state the class of each instance."""
        for name in self.instances:
            yield _triple(_entity_iri(self.ids[name]), DIRECT_IRI + INSTANCE_OF, _entity_iri(CLASS))

    def _value_triples(self) -> Iterator[str]:
        """Yield the N-Triples of all mapped facts; dates come with their precision."""
        for subject, predicate, value in self.facts:
            relation = self.model.relations[predicate]
            qid, pid = self.ids[subject], self.pids[relation.label]
            if not isinstance(value, RdfLiteral):
                yield _triple(
                    _entity_iri(qid), DIRECT_IRI + pid, _entity_iri(self.ids[value.value])
                )
                continue
            date = _read_date(value.value) if _is_date(value, relation.values) else None
            if date is None:
                text = literal(_with_unit(value), value.language or None)
                yield _triple(_entity_iri(qid), DIRECT_IRI + pid, text)
                continue
            text = f"{literal(date[0])}^^{iri(DATE_TIME)}"
            yield _triple(_entity_iri(qid), DIRECT_IRI + pid, text)
            yield from date_precision_triples(ENTITY_IRI, qid, pid, text, date[1])

    def _count_unmapped(self) -> None:
        """Count the facts whose predicates the mapping leaves out."""
        predicates = {RDF_TYPE, *self.names, *self.model.relations}
        other: Counter[str] = Counter()
        for name in self.instances:
            for quad in self.store.quads_for_pattern(NamedNode(name), None, None):
                other[quad.predicate.value] += quad.predicate.value not in predicates
        for predicate, n in sorted(other.items()):
            self._count(count_key("facts_that_the_mapping_does_not_name", predicate), n)

    def _count(self, key: str, n: int = 1) -> None:
        """Add ``n`` to the count of omissions with a key; 0 changes nothing."""
        if n:
            self.counts[key] += n


def _entity_iri(name: str) -> str:
    """Write the IRI of an id in N-Triples syntax."""
    return iri(ENTITY_IRI + name)


def _triple(subject: str, predicate: str, value: str) -> str:
    """Write an RDF triple as a line of N-Triples.

    Args:
        subject: IRI of the subject, in angle brackets.
        predicate: IRI of the predicate, without brackets.
        value: value as in N-Triples: an IRI in brackets, or a literal.
    """
    return f"{subject} {iri(predicate)} {value} .\n"


def _is_date(value: Any, value_type: str) -> bool:
    """Whether an RDF literal is to be read as a date.

    Args:
        value: the literal.
        value_type: type that the mapping gives its relation; ``any`` to go by the datatype.
    """
    return value_type == "date" or (value_type == "any" and value.datatype.value in DATES)


def _with_unit(value: Any) -> str:
    """Get the text of an RDF literal; a unit in its datatype follows the number."""
    datatype = value.datatype.value
    if datatype.startswith((XSD, RDF)) or not _is_number(value.value):
        return str(value.value)
    return with_unit(value.value.strip(), local_words(datatype))


def _is_number(text: str) -> bool:
    """Whether a text is a finite decimal number."""
    try:
        return Decimal(text.strip()).is_finite()
    except InvalidOperation:
        return False


def _read_date(text: str) -> tuple[str, int] | None:
    """Read an XSD date as (xsd:dateTime, wikibase:timePrecision); None if it is no date."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day = match.groups()
    if int(month or 0) > 12 or int(day or 0) > 31:
        return None
    # A month or day 00 is unknown, as one that is not there.
    month = None if month == "00" else month
    day = None if day == "00" or month is None else day
    n_parts = sum(part is not None for part in (year, month, day))
    return f"{year}-{month or '01'}-{day or '01'}T00:00:00Z", _PRECISION[n_parts]
