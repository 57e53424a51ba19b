"""What rules are, and how their blocks are filled in."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """Of one language.

    Attributes:
        strong: said of what was shown, or by who answers.
        weak: may be said of the world as well ("there is no information"); they count in answers
            that cite nothing.
    """

    strong: tuple[str, ...]
    weak: tuple[str, ...]


def make(blocks: dict[str, str], strong: tuple[str, ...], weak: tuple[str, ...]) -> Rules:
    """Rules with the names of blocks filled in; a block may hold those before it."""
    known: dict[str, str] = {}
    names = re.compile("|".join(sorted(blocks, key=len, reverse=True)))

    def filled(rule: str) -> str:
        return names.sub(lambda name: known[name[0]], rule)

    for name, block in blocks.items():
        known[name] = f"(?:{filled(block)})"
    return Rules(tuple(filled(r) for r in strong), tuple(filled(r) for r in weak))
