"""Conversion of result rows to triples: labels, dates, quantities; omissions are counted."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from citeforge.kg.domain import Domain
from citeforge.kg.english import with_unit
from citeforge.kg.values import (
    DATE_TIME,
    NUMBERS,
    WIKIBASE,
    Row,
    Term,
    is_geometry,
    may_be_year,
    plain_label,
    render_date,
)
from citeforge.schemas.kg import Triple

_PLACEHOLDERS = Path(__file__).parent / "data" / "placeholders.toml"
_LEFT_OUT = frozenset(
    WIKIBASE + name
    for name in "ExternalId Url CommonsMedia GeoShape TabularData Math MusicalNotation".split()
)
_NO_UNIT = "Q199"
"""Wikidata's unit of quantities without one: the number 1."""
_NUMBER = re.compile(r"[0-9]{1,18}")
COUNT = re.compile(r"[0-9]{1,9}")
"""A number as counts are written; ASCII digits alone, and no more than an endpoint can mean."""


@dataclass
class FactReader:
    """Reads labels and values from result rows of a graph.

    Attributes:
        domain: has the IRI before ids.
        languages: of labels and texts, the best first.
        counts: values that were left out, by reason.
    """

    domain: Domain
    languages: tuple[str, ...]
    counts: Counter[str]
    _cleaned: set[str] = field(default_factory=set)

    @cached_property
    def _placeholder(self) -> re.Pattern[str]:
        """Pattern of labels that name nothing, such as placeholders, in the domain's graph."""
        return _placeholders(any(d.titles for d in (self.domain, *self.domain.others)))

    def id_of(self, term: Term) -> str:
        """Get the id at the end of an entity's or relation's IRI: ``Q5``."""
        return term.value.removeprefix(self.domain.entity_iri)

    def is_entity(self, term: Term) -> bool:
        """Whether an RDF term is the IRI of an entity of the graph."""
        return term.type == "uri" and term.value.startswith(self.domain.entity_iri)

    def clean(self, text: str) -> str:
        """Remove extra spaces and hidden characters from a label; count labels with the latter."""
        label = plain_label(text)
        if label != " ".join(text.split()) and text not in self._cleaned:
            self._cleaned.add(text)
            self.counts["labels_with_hidden_characters"] += 1
        return label

    def label(self, rows: Iterable[Row], variable: str, *languages: str) -> str | None:
        """Get the label in the best language from rows about one entity; None if there is none.

        Args:
            rows: rows about one entity or relation, one per language.
            variable: variable of the query that has the label.
            languages: the best first; none for the reader's.
        """
        labels = {
            r[variable].language: label
            for r in rows
            if variable in r and (label := self.clean(r[variable].value))
            if not self._placeholder.fullmatch(label)
        }
        best = languages or self.languages
        return next((labels[lang] for lang in best if lang in labels), None)

    def read_merged(self, rows: Iterable[Row]) -> tuple[str, str | None] | None:
        """Get (id, label or None) of the entity that a value was merged into; None if it was not.

        Args:
            rows: rows with the value, ``into`` and ``intoLabel`` where it has no label of its own.
        """
        into: dict[Term, list[Row]] = {}
        for row in rows:
            if "into" in row and self.is_entity(row["into"]):
                into.setdefault(row["into"], []).append(row)
        labels = {self.id_of(t): self.label(same, "intoLabel") for t, same in into.items()}
        return next(((q, labels[q]) for q in sorted(labels, key=id_sort_key)), None)

    def triples(
        self, entity: str, entity_label: str, value: Term, rows: list[Row]
    ) -> Iterator[Triple]:
        """Yield a value's triples, one per unit of measure in SPARQL ``rows``; none for some types.

        The triple's value is empty if it has no label in the languages asked for.

        Args:
            entity: id of the subject.
            entity_label: its label.
            value: the value.
            rows: result rows with the value.
        """
        prop = self.id_of(rows[0]["prop"])
        relation = self.label(rows, "propLabel") or prop
        kinds = {r["type"].value for r in rows if "type" in r}
        is_entity = self.is_entity(value)
        if kinds & _LEFT_OUT or value.type == "bnode" or (value.type == "uri" and not is_entity):
            self.counts["values_of_external_kinds"] += 1
        elif is_entity:
            qid, label = self.read_merged(rows) or (self.id_of(value), self.label(rows, "label"))
            if label is None:
                self.counts["values_without_a_label"] += 1
            yield Triple(entity, entity_label, prop, relation, label or "", qid)
        elif is_geometry(value.datatype):
            self.counts["values_as_coordinates"] += 1
        elif value.datatype == DATE_TIME:
            written = [r["precision"].value for r in rows if "precision" in r]
            finest = max((int(n) for n in written if COUNT.fullmatch(n)), default=None)
            rendered = render_date(value.value, finest)
            if rendered is None:
                # Unknown values are exported as dates whose text is a digest.
                self.counts["values_as_impossible_dates"] += 1
            else:
                if may_be_year(value.value, finest):
                    self.counts["dates_read_as_years"] += 1
                yield Triple(entity, entity_label, prop, relation, rendered[0], "", rendered[1])
        elif value.language and value.language not in self.languages:
            self.counts["values_in_another_language"] += 1
            yield Triple(entity, entity_label, prop, relation, "")
        else:
            for text in self._render_literal(value, rows):
                yield Triple(entity, entity_label, prop, relation, text)

    def _render_literal(self, value: Term, rows: list[Row]) -> Iterator[str]:
        """Yield a literal as text; a quantity once per unit of measure named in SPARQL result rows.

        Args:
            value: the literal.
            rows: rows with this value; ``unitLabel`` and the like say its units.
        """
        text = self.clean(value.value)
        if value.datatype in NUMBERS:
            text = text.removeprefix("+")
        by_unit: dict[Term, list[Row]] = {}
        for row in rows:
            if "unit" in row:
                by_unit.setdefault(row["unit"], []).append(row)
        if not by_unit and text:
            yield text
        for unit, same in by_unit.items():
            label = "" if self.id_of(unit) == _NO_UNIT else self.label(same, "unitLabel")
            if label is None:
                self.counts["values_without_a_unit_label"] += 1
                yield ""
            elif self.label(same, "unitLabel", "en") == label:
                yield with_unit(text, label)
            else:
                yield f"{text} {label}".rstrip()


@cache
def _placeholders(are_titles: bool) -> re.Pattern[str]:
    """Compile the pattern of labels that are mere placeholders; narrower if labels are titles.

    Args:
        are_titles: whether names in the graph are titles of works.
    """
    content = tomllib.loads(_PLACEHOLDERS.read_text(encoding="utf-8"))
    patterns = [*content["patterns"], *([] if are_titles else content["unless_titles"])]
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def id_sort_key(item_id: str) -> tuple[int, str]:
    """Make the sort key of an entity's or relation's id: ``Q9`` is before ``Q10``."""
    match = _NUMBER.search(item_id)
    return (int(match[0]) if match else 0, item_id)
