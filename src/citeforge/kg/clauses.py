"""Clauses of questions, with slots for entities and verbs."""

import re
from collections.abc import Collection
from typing import Annotated, Any

from pydantic import AfterValidator, model_validator

from citeforge.schemas.kg import relation_key
from citeforge.schemas.record import FrozenRecord

SLOTS = ("who", "whose", "whom", "was", "were", "past", "did")
LINK_SLOTS = ("opener", "other", "owner", "was", "were", "did")
_SLOT = re.compile(r"\{(\w*)\}|[{}]")


def _check_slots(text: str, slots: tuple[str, ...] = SLOTS) -> str:
    """Return a question clause; raise an error for an unknown placeholder, such as ``{hwo}``."""
    for slot in _SLOT.finditer(text):
        if slot[1] not in slots:
            raise ValueError(f"{slot[0]} is no slot; there are {', '.join(slots)}")
    return text


def _check_link_slots(text: str) -> str:
    """Return a clause linking two entities; raise an error without ``{other}`` or ``{owner}``."""
    if missing := [slot for slot in ("other", "owner") if f"{{{slot}}}" not in text]:
        raise ValueError(f"names no {{{missing[0]}}}")
    return _check_slots(text, LINK_SLOTS)


Ask = Annotated[str, AfterValidator(_check_slots)]
"""A clause of a question: ``where {past} {who} born``.

Slots: ``who``, ``whose``, ``whom`` (a name, or a pronoun once it was named), ``was`` (is, was, are,
were, as the entity), ``were`` (are, were), ``past`` (was, were), ``did`` (does, did, do).
"""
LinkAsk = Annotated[str, AfterValidator(_check_link_slots)]
"""A clause that asks what connects two entities: ``how {was} {other} related to {owner}``.

The link leads from ``owner`` to ``other``; ``opener`` is the domain's; the verb is that of the
entity that comes first.
"""


class ThemeWording(FrozenRecord):
    """Another clause of general questions for a theme; in YAML also its text alone.

    Attributes:
        ask: the clause.
        needs: relations of which at least one is asked for; empty for any.
        only: relations besides which none is asked for; empty for any.
    """

    ask: Ask
    needs: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _read_text(cls, value: Any) -> Any:
        """Convert a question wording given as text to ``{"ask": TEXT}``; return others as is."""
        return {"ask": value} if isinstance(value, str) else value

    def fits(self, relations: Collection[str]) -> bool:
        """Whether a question wording suits a question that asks for all of these relations."""
        asked = {relation_key(r) for r in relations}
        needs, only = ({relation_key(r) for r in some} for some in (self.needs, self.only))
        return (not needs or bool(needs & asked)) and (not only or asked <= only)
