"""How a domain asks: words for its relations, and frames by what facts are about."""

import re
from functools import cached_property

from pydantic import Field, field_validator

from citeforge.schemas.benchmarks.kg import relation_key
from citeforge.schemas.record import FrozenRecord

CLAUSE = ("who", "whose", "whom", "was", "were", "past", "did")
FRAME = ("who", "whose", "whom", "was", "did", "are", "nouns", "own")
REST = (
    "what is known of {things}",
    "what can be said about {things}",
    "what do we know about {things}",
    "what is there to tell of {things}",
    "what is on record about {things}",
)
"""General questions for facts that no frame asks for."""
_SLOT = re.compile(r"\{(\w*)\}|[{}]")
_TAIL = re.compile(r" (?:of|in|for|at|to|by|from|on|with|outside|as)\b|,| \(")
_IRREGULAR = {"child": "children", "person": "people", "man": "men", "woman": "women"}


def _checked(text: str, slots: tuple[str, ...]) -> str:
    for slot in _SLOT.finditer(text):
        if slot[1] not in slots:
            raise ValueError(f"{slot[0]} is no slot; there are {', '.join(slots)}")
    return text


class Phrase(FrozenRecord):
    """A clause that asks for a relation: ``where {past} {who} born``.

    Slots: ``who``, ``whose``, ``whom`` (a name, or a pronoun once it was named), ``was`` (is, was,
    are, were, as the entity), ``were`` (are, were), ``past`` (was, were), ``did`` (does, did, do).

    Attributes:
        about: topic, which chooses the frame.
        ask: the clause of specific questions.
        many: the clause where several values are asked for; None for the same.
        noun: what general questions call it (``employer``); None where they use the clause, too.
        nouns: the same of several values; None for the regular plural.
    """

    about: str = "life"
    ask: str
    many: str | None = None
    noun: str | None = None
    nouns: str | None = None

    @field_validator("ask", "many")
    @classmethod
    def _has_slots(cls, text: str | None) -> str | None:
        return None if text is None else _checked(text, CLAUSE)

    def noun_for(self, is_plural: bool) -> str:
        """What general questions call the relation's value, or values."""
        noun = self.noun or ""
        return (self.nouns or plural(noun)) if is_plural else noun


class Frame(FrozenRecord):
    """The clause of general questions for facts about one topic.

    Slots: ``who``, ``whose``, ``whom``, ``was``, ``did`` as in phrases; ``nouns`` (employer and
    languages), ``own`` (her employer and languages), ``are`` (is, are, was, were, as the nouns).

    Attributes:
        ask: the clause.
        link_first: whether questions begin with what connects the two.
        lead: what specific questions begin with where most of the clauses are about the topic;
            empty for nothing.
    """

    ask: str
    link_first: bool = False
    lead: str = ""

    @field_validator("ask")
    @classmethod
    def _has_slots(cls, text: str) -> str:
        if not {"{nouns}", "{own}"} & set(re.findall(r"\{\w+\}", text)):
            raise ValueError("asks for no fact: {nouns} or {own} is missing")
        return _checked(text, FRAME)


class Living(FrozenRecord):
    """When entities are spoken of in the present.

    Attributes:
        relation: whose value is a date.
        after: only entities with a later year.
        ended_by: relations that an entity of the past has.
    """

    relation: str
    after: int
    ended_by: tuple[str, ...]


class Phrasing(FrozenRecord):
    """Everything that the template writer needs to ask.

    Attributes:
        relations: label of a relation to its clause.
        frames: topic to its frame.
        rest: clauses of general questions for facts without a frame; slot ``things`` (Marie
            Curie's employer and languages).
        related: relations that make two entities *related*; by others they are *connected*.
        sex: relation whose values choose pronouns.
        pronouns: value of it to (subject, possessive, object).
        living: when the present is right; None for always.
    """

    relations: dict[str, Phrase] = {}
    frames: dict[str, Frame] = {}
    rest: tuple[str, ...] = Field(REST, min_length=1)
    related: tuple[str, ...] = ()
    sex: str = ""
    pronouns: dict[str, tuple[str, str, str]] = {}
    living: Living | None = None

    @field_validator("rest")
    @classmethod
    def _asks_for_things(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            if "{things}" not in _checked(text, ("things",)):
                raise ValueError("asks for no fact: {things} is missing")
        return texts

    def phrase(self, relation: str) -> Phrase | None:
        """The clause of a relation, in any case and by BioKaLMA's names; None for none."""
        return self.by_key.get(relation_key(relation))

    @cached_property
    def by_key(self) -> dict[str, Phrase]:
        """Clauses by :func:`citeforge.schemas.benchmarks.kg.relation_key` of their relation."""
        return {relation_key(label): phrase for label, phrase in self.relations.items()}


def plain_phrase(relation: str, form: str, is_entity: bool) -> Phrase:
    """Words for a relation that a domain has none for.

    Args:
        relation: its label.
        form: of the label; see :func:`citeforge.kg.verbalise.form_of`.
        is_entity: whether its values are entities, which may be people.
    """
    label = relation.replace("{", "(").replace("}", ")")
    what = "who or what" if is_entity else "what"
    if form == "participle":
        return Phrase(ask=f"{what} {{past}} {{who}} {label}")
    if form == "role":
        return Phrase(ask=f"{what} {{was}} {{who}} a {label}")
    return Phrase(
        ask=f"{what} {{was}} {{whose}} {label}",
        many=f"{what} {{were}} {{whose}} {plural(label)}",
        noun=label,
    )


def plural(noun: str) -> str:
    """The regular plural of a noun with what follows it: ``places of birth``."""
    tail = _TAIL.search(noun)
    head, rest = (noun, "") if tail is None else (noun[: tail.start()], noun[tail.start() :])
    before, _, word = head.rpartition(" ")
    if word in _IRREGULAR:
        word = _IRREGULAR[word]
    elif re.search(r"[^aeiou]y$", word):
        word = f"{word[:-1]}ies"
    elif re.search(r"(?:x|z|ch|sh|ss)$", word):
        word = f"{word}es"
    elif not word.endswith("s"):
        word = f"{word}s"
    return f"{before} {word}{rest}".lstrip()
