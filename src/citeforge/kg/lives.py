"""Lives that cannot be: births, deaths and ages that a graph states by mistake."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from citeforge.kg.classes import select_domain
from citeforge.kg.domain import Domain
from citeforge.kg.plain import last_part
from citeforge.kg.values import Day, find_days
from citeforge.schemas.kg import Graph, Triple, relation_key

_FILE = Path(__file__).parent / "data" / "lives.toml"
_WIKIDATA = "http://www.wikidata.org/"


@dataclass(frozen=True)
class _Relation:
    """Ways in which graphs name a relation of lives, as ``data/lives.toml`` lists them."""

    ids: frozenset[str]
    names: frozenset[str]
    labels: frozenset[str]


@dataclass(frozen=True)
class _Rules:
    """Content of ``data/lives.toml``: bounds in years, classes of people, relations by role."""

    parent_age: int
    lifetime: int
    people: frozenset[str]
    class_names: frozenset[str]
    relations: Mapping[str, _Relation]


@cache
def _read_rules() -> _Rules:
    """Read ``data/lives.toml``, the rules for possible births, deaths and ages of parents."""
    content = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    relations = {
        role: _Relation(
            frozenset(row["ids"]),
            frozenset(row["names"]),
            frozenset(map(relation_key, row["labels"])),
        )
        for role, row in content["relations"].items()
    }
    people = content["people"]
    return _Rules(
        **content["bounds"],
        people=frozenset(people["ids"]),
        class_names=frozenset(people["names"]),
        relations=relations,
    )


class ImpossibleLife(NamedTuple):
    """A mistake in a sub-graph about an entity's life.

    Attributes:
        reason: what the entity would have done, as an argument of a count:
            ``died_before_birth``.
        text: the same with names and dates.
    """

    reason: str
    text: str


class _Dates(NamedTuple):
    """First and last possible day of a birth or death, and the text of its dates."""

    first: Day
    last: Day
    text: str


class Lives:
    """Births and deaths of sub-graphs' entities, and the check that they are possible.

    Dates that are known roughly, or several dates of one event, are read in the entity's favour:
    only what no reading makes possible is a mistake.
    """

    def __init__(self, domain: Domain, graphs: Iterable[Graph]) -> None:
        """Read the births, deaths and parents of the people in sub-graphs.

        Args:
            domain: tells the model of the graph, and which of its classes are people.
            graphs: sub-graphs in which parents and children are looked up.
        """
        rules = _read_rules()
        self._roles = _RoleReader(domain, rules)
        self._rules = rules
        by_qid = {g.qid: g for g in graphs}
        self._people = {
            qid for qid, g in by_qid.items() if _describes_people(select_domain(domain, g), rules)
        }
        self._names = {qid: g.name for qid, g in by_qid.items()}
        self._born = {qid: self._read_dates(g, "born") for qid, g in by_qid.items()}
        self._died = {qid: self._read_dates(g, "died") for qid, g in by_qid.items()}
        self._by_name: dict[str, list[str]] = {}
        for qid, name in self._names.items():
            self._by_name.setdefault(name, []).append(qid)

    def find_impossible(self, graph: Graph) -> list[ImpossibleLife]:
        """List impossible dates of life in a sub-graph, each once, such as a death before birth."""
        found = list(self._check_lifetime(graph.qid))
        for triple in graph.triples:
            role = self._roles.read(triple)
            if role in ("parent", "child") and (other := self._find_entity(triple)) is not None:
                ends = (other, graph.qid) if role == "parent" else (graph.qid, other)
                found += self._check_descent(*ends)
        return list(dict.fromkeys(found))

    def _read_dates(self, graph: Graph, role: str) -> _Dates | None:
        """Read the dates of an entity's birth or death; None if its sub-graph has none."""
        mine = [t for t in graph.triples if self._roles.read(t) == role]
        # Published files have no precisions: 1 January may be any day of the year.
        texts = [t.value if t.precision else t.value.removesuffix("-01-01") for t in mine]
        days = [found for text in texts if (found := find_days(text)) is not None]
        if not days:
            return None
        first, last = min(one for one, _ in days), max(other for _, other in days)
        return _Dates(first, last, " or ".join(dict.fromkeys(texts)))

    def _find_entity(self, triple: Triple) -> str | None:
        """Find the id of the entity that is a triple's value; None if unknown or ambiguous."""
        if triple.value_id:
            return triple.value_id if triple.value_id in self._names else None
        named = self._by_name.get(triple.value, [])
        return named[0] if len(named) == 1 else None

    def _check_lifetime(self, qid: str) -> Iterator[ImpossibleLife]:
        """Yield an entity's death before its birth, or a life that is too long."""
        born, died = self._born.get(qid), self._died.get(qid)
        if born is None or died is None:
            return
        text = f"{self._names[qid]}: born {born.text}, died {died.text}"
        if died.last < born.first:
            yield ImpossibleLife("died_before_birth", text)
        elif qid in self._people and _count_years(born.last, died.first) > self._rules.lifetime:
            yield ImpossibleLife(f"lived_over_{self._rules.lifetime}_years", text)

    def _check_descent(self, parent: str, child: str) -> Iterator[ImpossibleLife]:
        """Yield a birth of a child at which its parent was too young, too old or dead."""
        born, died = self._born.get(parent), self._died.get(parent)
        birth = self._born.get(child)
        if birth is None:
            return
        text = f"{self._names[child]}: born {birth.text}; parent {self._names[parent]}: "
        rules, is_person = self._rules, parent in self._people
        if born is not None:
            oldest = _count_years(born.first, birth.last)
            reason = None
            if birth.last < born.first:
                reason = "had_a_child_before_birth"
            elif is_person and oldest < rules.parent_age:
                reason = f"had_a_child_under_the_age_of_{rules.parent_age}"
            elif is_person and _count_years(born.last, birth.first) > rules.lifetime:
                reason = f"had_a_child_over_the_age_of_{rules.lifetime}"
            if reason is not None:
                yield ImpossibleLife(reason, f"{text}born {born.text}")
                return
        # A father may have died before the birth; a whole year is too long.
        if died is not None and is_person and _count_years(died.last, birth.first) >= 1:
            yield ImpossibleLife("had_a_child_a_year_after_death", f"{text}died {died.text}")


class _RoleReader:
    """Reads what a triple says of a life: born, died, parent or child."""

    def __init__(self, domain: Domain, rules: _Rules) -> None:
        """Collect the ids and labels by which a domain names relations of lives."""
        # Only Wikidata gives its ids their meaning; other graphs have relations of these ids, too.
        has_ids = domain.model == "wikidata" and domain.entity_iri.startswith(_WIKIDATA)
        mapped = {} if domain.plain is None else domain.plain.relations
        self._ids: dict[str, str] = {}
        self._labels: dict[str, str] = {}
        for role, relation in rules.relations.items():
            labels = {
                relation_key(one.label)
                for iri, one in mapped.items()
                if last_part(iri) in relation.names
            }
            self._labels |= dict.fromkeys(relation.labels | labels, role)
            if has_ids:
                self._ids |= dict.fromkeys(relation.ids, role)

    def read(self, triple: Triple) -> str | None:
        """Get a triple's role in a life: ``born``, ``died``, ``parent``, ``child``, or None."""
        if triple.pid and self._ids:
            return self._ids.get(triple.pid)
        return self._labels.get(relation_key(triple.relation))


def _describes_people(domain: Domain, rules: _Rules) -> bool:
    """Whether a domain is about people."""
    if domain.plain is not None:
        return any(last_part(name) in rules.class_names for name in domain.plain.classes)
    return domain.entity_class in rules.people


def _count_years(start: Day, end: Day) -> int:
    """Count the whole years between two days; negative if the second is earlier."""
    return end.year - start.year - (end[1:] < start[1:])
