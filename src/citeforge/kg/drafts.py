"""Drafts of domains: words for the relations of any class, from their labels and values."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from citeforge.engines.textfiles import read_yaml, validated
from citeforge.kg.clauses import ThemeWording
from citeforge.kg.domain import Phrase, Phrasing, load_domain, plain_phrase
from citeforge.kg.english import noun_form
from citeforge.kg.plain import local_words
from citeforge.kg.values import DATES, NUMBERS
from citeforge.schemas.kg import relation_key
from citeforge.schemas.record import FrozenRecord

_WORDS = Path(__file__).parent / "data" / "drafts" / "words.yaml"
_WORD = re.compile(r"\w+")
SCHEMA = ("https://schema.org/", "http://schema.org/")

ValueSort = Literal["person", "place", "date", "number", "thing", "own"]
"""What the values of a relation are; ``own``: entities of the class itself."""


class _ValueWords(FrozenRecord):
    """How relations with one sort of values are asked for; slots ``{label}`` and ``{labels}``.

    Attributes:
        theme: theme of general questions.
        ask: clause of specific questions.
        many: the clause where several values are asked for.
        variants: other clauses for ``ask``.
        variants_many: other clauses for ``many``.
    """

    theme: str
    ask: str
    many: str
    variants: tuple[str, ...] = ()
    variants_many: tuple[str, ...] = ()


class _RelationWords(FrozenRecord):
    """Words for one property of Wikidata.

    Attributes:
        label: its English label, by which relations of other graphs are known, too.
        noun: what its value is called beside the entity (``successor``); None for the label.
        theme: theme of general questions.
        ask: clause of specific questions.
        many: the clause where several values are asked for.
        variants: other clauses for ``ask``.
        variants_many: other clauses for ``many``.
    """

    label: str
    noun: str | None = None
    theme: str
    ask: str
    many: str | None = None
    variants: tuple[str, ...] = ()
    variants_many: tuple[str, ...] = ()


class _DraftWords(FrozenRecord):
    """Content of ``data/drafts/words.yaml``, which says what each part is for."""

    uninformative: tuple[str, ...]
    schema_labels: dict[str, str] = Field(alias="schema")
    schema_left_out: frozenset[str]
    classes: dict[Literal["person", "place", "work"], tuple[str, ...]]
    values: dict[ValueSort, _ValueWords]
    themes: dict[str, str]
    theme_wordings: dict[str, tuple[ThemeWording, ...]]
    relations: dict[str, _RelationWords]


@cache
def _read_words() -> _DraftWords:
    """Read ``data/drafts/words.yaml``, the words from which domains are drafted."""
    return validated(_DraftWords, read_yaml(_WORDS), _WORDS)


def uninformative_relations() -> tuple[str, ...]:
    """List the labels of relations that are too uninformative for questions on any class."""
    return _read_words().uninformative


def listed_properties() -> tuple[str, ...]:
    """List the ids of frequent Wikidata properties that have hand-written question words."""
    return tuple(_read_words().relations)


def schema_name(predicate: str) -> str | None:
    """Get the name of a schema.org property from its IRI; None for other predicates."""
    start = next((s for s in SCHEMA if predicate.startswith(s)), None)
    return None if start is None else predicate.removeprefix(start)


def draft_label(predicate: str) -> str | None:
    """Choose a label for a predicate of plain RDF; None for those of a list (url, image …).

    It is Wikidata's label for the properties of schema.org that the list has, else its own words.
    """
    name = schema_name(predicate)
    if name in _read_words().schema_left_out:
        return None
    listed = _read_words().schema_labels.get(name or "")
    return listed or local_words(predicate) or predicate


@dataclass
class ValueKinds:
    """Counts of the data types and classes of one relation's values.

    Attributes:
        datatypes: IRI of a data type to the number of values; the empty text for entities.
        classes: label of a class to the number of values; the empty text for none.
        n_own: values of the profiled class itself.
    """

    datatypes: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    n_own: int = 0

    def add(self, datatype: str, class_label: str, n: int, is_profiled_class: bool) -> None:
        """Add ``n`` values to the counts by data type and by class label, each "" if unknown."""
        self.datatypes[datatype] += n
        self.classes[class_label] += n
        self.n_own += n * is_profiled_class

    @property
    def main_sort(self) -> ValueSort:
        """Type of most values of a relation, such as ``date``; ``own``: as its subjects."""
        commonest = next((name for name, _ in self.datatypes.most_common(1)), "")
        if commonest in DATES:
            return "date"
        if commonest in NUMBERS:
            return "number"
        total = self.classes.total()
        if total and self.n_own * 2 >= total:
            return "own"
        sorts = Counter[ValueSort]()
        for label, n in self.classes.items():
            sort = class_sort(label)
            sorts["thing" if sort == "work" else sort] += n
        return max(sorts, key=lambda s: (sorts[s], s), default="thing")


def class_sort(label: str) -> Literal["person", "place", "work", "thing"]:
    """Guess from a class's label if its entities are persons, places, works or things."""
    words = set(_WORD.findall(label.lower()))
    for sort, known in _read_words().classes.items():
        if words & set(known):
            return sort
    return "thing"


@dataclass(frozen=True)
class DraftRelation:
    """A relation that a draft shall have words for.

    Attributes:
        pid: its id, or the IRI of a predicate.
        label: its label in the graph.
        form: grammatical form of the label, see :meth:`Domain.label_form`.
        sort: what its values are.
    """

    pid: str
    label: str
    form: str
    sort: ValueSort

    @property
    def listed_words(self) -> _RelationWords | None:
        """Hand-written words for the relation, found by id or label; None if there are none."""
        relations = _read_words().relations
        if self.pid in relations:
            return relations[self.pid]
        key = relation_key(self.label)
        return next((r for r in relations.values() if relation_key(r.label) == key), None)

    @property
    def phrase(self) -> Phrase:
        """Drafted question clauses that ask for a relation, with their topic (theme)."""
        if self.listed_words is not None:
            return Phrase(**self.listed_words.model_dump(exclude={"label", "noun"}))
        values = _read_words().values[self.sort]
        if self.form == "noun":
            label = self.label.removeprefix("has ").replace("{", "(").replace("}", ")")
            one = [c.replace("{label}", label) for c in (values.ask, *values.variants)]
            many = [
                c.replace("{labels}", plural(label)) for c in (values.many, *values.variants_many)
            ]
            return Phrase(
                theme=values.theme, ask=one[0], many=many[0], variants=tuple(one[1:]),
                variants_many=tuple(many[1:]),
            )  # fmt: skip
        return plain_phrase(self.label, self.form).model_copy(update={"theme": values.theme})

    @property
    def noun(self) -> str | None:
        """Noun for the relation's value, as in "its director"; None if there is none."""
        if self.listed_words is not None and self.listed_words.noun is not None:
            return self.listed_words.noun
        label = self.listed_words.label if self.listed_words is not None else self.label
        return noun_form(label.removeprefix("has "), self.form)


def plural(label: str) -> str:
    """Make the plural of a noun phrase: ``heads of state``, ``companies``."""
    head, joint, rest = label.partition(" of ")
    for ending, new in (("y", "ies"), ("s", "ses"), ("x", "xes"), ("ch", "ches"), ("sh", "shes")):
        is_after_vowel = ending == "y" and head[-2:-1] in "aeiou"
        if head.endswith(ending) and not is_after_vowel:
            return head.removesuffix(ending) + new + joint + rest
    return f"{head}s{joint}{rest}"


def draft_phrasing(class_label: str, relations: Iterable[DraftRelation]) -> Phrasing:
    """Draft question wordings for a class of entities, from the labels of its relations.

    Args:
        class_label: label of the class; its words say whether questions ask "who" or "what".
        relations: relations of the class.
    """
    mine = list(relations)
    phrases = {r.label: r.phrase for r in mine}
    nouns = {r.label: {"any": r.noun} for r in mine if r.sort in ("own", "person") and r.noun}
    themes, wordings = _read_words().themes, _read_words().theme_wordings
    people = load_domain("people").phrasing
    if is_person := class_sort(class_label) == "person":
        phrases |= {r.label: p for r in mine if (p := people.phrase(r.label)) is not None}
        nouns |= {label: people.links[label] for label in phrases if label in people.links}
        themes, wordings = themes | people.themes, wordings | people.theme_wordings
    used = {phrase.theme for phrase in phrases.values()}
    words = Phrasing(
        relations=phrases, links=nouns,
        themes={name: ask for name, ask in themes.items() if name in used},
        theme_wordings={name: asks for name, asks in wordings.items() if name in used},
    )  # fmt: skip
    if is_person:
        return words.model_copy(
            update={p: getattr(people, p) for p in ("sex", "pronouns", "living")}
        )
    return words.model_copy(update={"opener": "what", "pronouns": {"any": ("it", "its", "it")}})
