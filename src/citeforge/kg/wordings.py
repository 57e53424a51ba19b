"""Ways in which people ask for relations, links and themes."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "data" / "wordings.toml"
_ALTERNATIVES = re.compile(r"\(([^()]*)\)")


@dataclass(frozen=True)
class Wordings:
    """Ways in which people ask, as ``data/wordings.toml`` has them.

    Attributes:
        relations: label of a relation to questions that ask for it; X is the entity.
        nouns: label of a relation to nouns for what it leads to.
        several: labels of relations to questions that ask for all of these.
        link: questions that ask what connects two entities.
        link_asks: clauses for them, with slots.
        bonds: nouns for what two entities have together to the relations that it is.
        themes: theme to the words by which general questions name it.
    """

    relations: Mapping[str, tuple[str, ...]]
    nouns: Mapping[str, tuple[str, ...]]
    several: Mapping[tuple[str, ...], tuple[str, ...]]
    link: tuple[str, ...]
    link_asks: tuple[str, ...]
    bonds: Mapping[str, tuple[str, ...]]
    themes: Mapping[str, tuple[str, ...]]


def expand(wording: str) -> Iterator[str]:
    """Expand the alternatives in a wording: ``(a|b) c`` gives ``a c`` and ``b c``."""
    match = _ALTERNATIVES.search(wording)
    if match is None:
        yield " ".join(wording.split())
        return
    for one in match[1].split("|"):
        yield from expand(f"{wording[: match.start()]}{one}{wording[match.end() :]}")


@cache
def read_wordings() -> Wordings:
    """Read ``data/wordings.toml``, the ways in which people ask for relations and links."""
    data = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return Wordings(
        {label: tuple(texts) for label, texts in data["relations"].items()},
        {label: tuple(text.split(", ")) for label, text in data["nouns"].items()},
        {tuple(labels.split(", ")): tuple(texts) for labels, texts in data["several"].items()},
        tuple(data["link"]["ask"]),
        tuple(data["link"]["clauses"]),
        {
            noun: tuple(filter(None, labels.split(", ")))
            for labels, nouns in data["bonds"].items()
            for noun in nouns.split()
        },
        {theme: tuple(words.split()) for theme, words in data["themes"].items()},
    )
