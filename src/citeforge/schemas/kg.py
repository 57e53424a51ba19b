"""Knowledge graphs: triples with labels, one-hop sub-graphs, and the tables that hold them.

Terms of Li et al. 2024 (KaLMA, section 2): a citation is a triple of a centre entity's QID, a
relation and a value.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa

from citeforge.schemas.invisible import JOINERS, without_invisible

SAME_RELATIONS = {
    "date_of_birth": "date of birth",
    "date_of_death": "date of death",
    "surname": "family name",
    "alma mater": "educated at",
    "notable works": "notable work",
    "languages spoken": "languages spoken, written or signed",
}
"""Relation names of BioKaLMA that differ from Wikidata's labels, to those."""

NAME = "name"
"""What a citation calls the name of its centre: ``[Q1, name: Ada Lovelace]``."""

EMPTY = "empty"
"""Field of a query's metadata: QID to the relations that published graphs show without a value."""

ANSWERS = "answers"
"""Field of a general query's metadata: (QID, relation, value) of shown facts that answer it and are
no gold; to cite them is right."""

_NO_LABEL = re.compile(r"[QPL]\d+")


def relation_key(relation: str) -> str:
    """Normalise a relation: case, white space, invisible marks and BioKaLMA's names are ignored."""
    plain = " ".join(without_invisible(relation, JOINERS).split()).casefold()
    return SAME_RELATIONS.get(plain, plain)


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Triple in words, without markup, as a citation names it.

    Attributes:
        qid: id of the centre entity.
        relation: label of the relation.
        value: label of the value.
    """

    qid: str
    relation: str
    value: str

    @property
    def complete(self) -> bool:
        """Whether entity, relation and value are all non-empty."""
        return "" not in (self.qid, self.relation, self.value)

    @property
    def compared(self) -> "Key":
        """Key of the triple (entity, relation, value), normalised for comparison."""
        value = " ".join(without_invisible(self.value, JOINERS).split())
        return Key(self.qid.upper(), relation_key(self.relation), value)


def read_answers(metadata: Mapping[str, Any]) -> list[Key]:
    """Read the facts that answer a general question besides its gold, from query metadata."""
    return [Key(*answer) for answer in metadata.get(ANSWERS) or ()]


@dataclass(frozen=True)
class Triple:
    """One fact of a sub-graph.

    Attributes:
        qid: id of the centre entity.
        name: its label.
        pid: id of the relation (``P19``); empty where only its label is known.
        relation: label of the relation.
        value: label of the value; dates as far as they are known (``1871-11``, ``44-03-15 BCE``).
        value_id: id of a value that is an entity; empty for literals.
        precision: of dates: ``day``, ``month``, ``year``, ``decade``, ``century``, ``millennium``
            or ``unknown``; empty for all else.
    """

    qid: str
    name: str
    pid: str
    relation: str
    value: str
    value_id: str = ""
    precision: str = ""

    @property
    def key(self) -> Key:
        """Entity, relation and value: the triple as a citation names it."""
        return Key(self.qid, self.relation, self.value)

    @property
    def has_label(self) -> bool:
        """Whether the value is words: neither empty nor the id of an entity without a label."""
        return bool(self.value) and _NO_LABEL.fullmatch(self.value) is None

    def connects(self, names: Mapping[str, str]) -> bool:
        """Whether the triple's entity and its value are two of the given entities.

        Args:
            names: QID of each entity to its name; published graphs have no ids of values.
        """
        others = {qid: name for qid, name in names.items() if qid != self.qid}
        is_other = self.value_id in others if self.value_id else self.value in others.values()
        return self.qid in names and is_other


@dataclass(frozen=True)
class Graph:
    """The one-hop sub-graph of an entity.

    Attributes:
        qid: the centre.
        name: its label.
        triples: in a fixed order: by property, value, value id.
        unnamed: statements whose value has no words in the languages asked for; their value is
            empty. A question for such a relation would have right answers that no triple states.
    """

    qid: str
    name: str
    triples: tuple[Triple, ...]
    unnamed: tuple[Triple, ...] = ()


TEXT = pa.string()


def required_fields(data_type: pa.DataType, *names: str) -> list[pa.Field]:
    """Make non-nullable Arrow schema fields of one type, one per name."""
    return [pa.field(name, data_type, nullable=False) for name in names]


TRIPLE = pa.struct([(field.name, TEXT) for field in fields(Triple)])
_TRIPLES = pa.list_(TRIPLE)
_SCORES = ("score", "specificity", "coherence", "perplexity")
_CANDIDATE = pa.struct([("triple", TRIPLE), *((name, pa.float64()) for name in _SCORES)])

KG_CONTEXTS = pa.schema([*required_fields(TEXT, "query_id"), *required_fields(_TRIPLES, "triples")])
KG_GOLD = pa.schema(
    [
        *required_fields(TEXT, "query_id"),
        *TRIPLE,
        *required_fields(pa.int32(), "round"),
        *required_fields(_TRIPLES, "equivalents"),  # other shown triples that state the same fact
    ]
)
KG_ABSENT = pa.schema([*required_fields(TEXT, "query_id"), *TRIPLE, *required_fields(TEXT, "why")])
"""``why`` is ``gold`` or ``inverse``."""
KG_EVOLUTION = pa.schema(
    [
        *required_fields(TEXT, "query_id"),
        *required_fields(pa.int32(), "round"),
        *required_fields(TEXT, "paragraph"),  # with markers
        *required_fields(_TRIPLES, "triples"),  # what the round added
        *required_fields(pa.list_(_CANDIDATE), "candidates"),  # best first
        *required_fields(pa.list_(TEXT), "refused"),  # sentences that failed a check
    ]
)


def as_row(triple: Triple) -> dict[str, str]:
    """Convert a triple to a dictionary of column values."""
    return {f.name: getattr(triple, f.name) for f in TRIPLE}


def from_row(row: dict[str, str]) -> Triple:
    """Make a triple from a dictionary of column values; other columns are ignored."""
    return Triple(**{f.name: row[f.name] or "" for f in TRIPLE})


def group_into_graphs(triples: list[Triple]) -> Iterator[Graph]:
    """Group the triples of a context into one sub-graph per centre entity, as they first appear."""
    by_entity: dict[str, list[Triple]] = {}
    for triple in triples:
        by_entity.setdefault(triple.qid, []).append(triple)
    for qid, mine in by_entity.items():
        yield Graph(qid, mine[0].name, tuple(mine))


GENERAL = "full_general"
"""Context set of the general questions; all others go with the specific ones."""
