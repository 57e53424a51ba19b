"""How a domain asks: words for its relations, and frames by what facts are about."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from citeforge.schemas.benchmarks.kg import relation_key

CLAUSE = ("who", "whose", "whom", "was", "past", "did")
GENERAL = ("first", "second", "one", "he", "his", "whose", "other", "was", "were", "did", "do")
_SLOT = re.compile(r"\{(\w*)\}|[{}]")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _checked(text: str, known: tuple[str, ...]) -> str:
    for slot in _SLOT.finditer(text):
        if slot[1] not in known:
            raise ValueError(f"{slot[0]} is no slot; there are {', '.join(known)}")
    return text


class Phrase(_Part):
    """A clause that asks for a relation: ``where {past} {who} born``.

    Slots: ``who``, ``whose``, ``whom`` (a name, or a pronoun once it was named), ``was`` (is, was,
    are, were), ``past`` (was, were), ``did`` (does, did, do).

    Attributes:
        about: topic, which chooses the frame.
        ask: the clause.
        many: the clause where several values are asked for; None for the same.
    """

    about: str
    ask: str
    many: str | None = None

    @field_validator("ask", "many")
    @classmethod
    def _has_slots(cls, text: str | None) -> str | None:
        return None if text is None else _checked(text, CLAUSE)


class Frame(_Part):
    """Questions whose facts are about one topic.

    Attributes:
        one: general question, where the facts are one entity's. Slots: ``one`` and ``whose`` (its
            name), ``he`` and ``his`` (its pronouns, where known), ``other``, ``was``, ``did``.
        both: where they are both entities'. Slots: ``first``, ``second``, ``were``, ``do``.
        link_first: whether specific questions begin with what connects the two.
        lead: what specific questions begin with where most of the clauses are about the topic;
            empty for nothing.
    """

    one: str
    both: str
    link_first: bool = False
    lead: str = ""

    @field_validator("one", "both")
    @classmethod
    def _has_slots(cls, text: str) -> str:
        return _checked(text, GENERAL)


class Living(_Part):
    """When entities are spoken of in the present.

    Attributes:
        relation: whose value is a date.
        after: only entities with a later year.
        ended_by: relations that an entity of the past has.
    """

    relation: str
    after: int
    ended_by: tuple[str, ...]


class Phrasing(_Part):
    """Everything that the template writer needs to ask.

    Attributes:
        relations: label of a relation to its clause.
        frames: topic to its frame; one of them is ``life``, which stands in for missing ones.
        related: relations that make two entities *related*; by others they are *connected*.
        sex: relation whose values choose pronouns.
        pronouns: value of it to (subject, possessive, object).
        living: when the present is right; None for always.
    """

    relations: dict[str, Phrase] = Field(min_length=1)
    frames: dict[str, Frame]
    related: tuple[str, ...] = ()
    sex: str = ""
    pronouns: dict[str, tuple[str, str, str]] = {}
    living: Living | None = None

    @model_validator(mode="after")
    def _has_a_frame_for_all(self) -> Self:
        if "life" not in self.frames:
            raise ValueError("frames: 'life' is missing, which stands in for topics without one")
        return self

    def phrase(self, relation: str) -> Phrase | None:
        """The clause of a relation, in any case and by BioKaLMA's names; None for none."""
        return self.by_key.get(relation_key(relation))

    def frame(self, topic: str) -> Frame:
        """The frame of a topic."""
        return self.frames.get(topic, self.frames["life"])

    @cached_property
    def by_key(self) -> dict[str, Phrase]:
        """Clauses by :func:`citeforge.schemas.benchmarks.kg.relation_key` of their relation."""
        return {relation_key(label): phrase for label, phrase in self.relations.items()}
