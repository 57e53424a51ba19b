"""TREC's report tracks: the layout and rules of each, from the tracks' guidelines."""

import tomllib
from pathlib import Path
from typing import Literal

from citeforge.schemas.record import FrozenRecord

ANY = "any"
"""Option of ``--format``: runs that break a rule of the track are read, too."""
Style = Literal["index", "ids", "scores"]
"""How a sentence cites: places in ``references`` from 0, ids, or ids with confidences."""
References = Literal["shown", "cited", "free"]
"""Ids in ``references``: passages retrieved, exactly those cited, or no rule."""


class Track(FrozenRecord):
    """One track of one year.

    Attributes:
        name: short name; ``trec-NAME`` is the format.
        title: its full name.
        topic: field with the topic's id.
        sentences: field with the sentences.
        styles: citation styles that are allowed; exports write the first.
        required: fields about the run that must be there and not empty.
        advised: fields that ought to be there.
        is_flat: whether those fields are beside the sentences, not in ``metadata``.
        references: rule for the ids in ``references``.
        most_references: entries that ``references`` may have.
        most_citations: citations that a sentence may have.
        most_run_id: characters that a run's id may have.
        docid: regular expression of the ids in its collection.
        most_words: words that a report may have.
        copies_topic: whether ``narrative`` must be the topic's text.
        warns: rules whose breach is a warning, not an error.
    """

    name: str
    title: str
    topic: str
    sentences: str
    styles: tuple[Style, ...]
    required: tuple[str, ...]
    advised: tuple[str, ...] = ()
    is_flat: bool = False
    references: References = "free"
    most_references: int | None = None
    most_citations: int | None = None
    most_run_id: int | None = None
    docid: str | None = None
    most_words: int | None = None
    copies_topic: bool = False
    warns: frozenset[str]

    @property
    def format(self) -> str:
        """Name of the TREC track's submission format on the command line, such as trec-rag24."""
        return f"trec-{self.name}"


_ROWS = tomllib.loads((Path(__file__).parent / "data" / "tracks.toml").read_text(encoding="utf-8"))
TRACKS = tuple(Track(name=name, **row) for name, row in _ROWS.items())
