"""Which passages questions are written about, in which order."""

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from citeforge.engines.draws import generator
from citeforge.engines.io.tables import iter_batches, rows_of
from citeforge.package.package import texts_of
from citeforge.plugins.documents.questions import Evidence

SHORTEST = 120
"""Characters of a passage that questions are written about."""


class PassagePool:
    """The passages of a corpus: an order to draw them in, and their texts.

    Attributes:
        order: ids, files in turn, in a file its headings in turn: none crowds out another.
        n_short: passages too short to be asked about.
    """

    def __init__(self, corpus: list[Path], seed: int) -> None:
        """Read a corpus (schema CORPUS) once.

        Args:
            corpus: its Parquet files.
            seed: of the order.
        """
        self.corpus = corpus
        self.n_short = 0
        files: dict[str, dict[str, list[str]]] = {}
        self._place: dict[str, tuple[str, str]] = {}
        for batch in iter_batches(corpus, ["_id", "title", "text", "metadata"]):
            for name, title, text, about in rows_of(batch):
                file, _ = self._place[name] = _file_of(name, about), title
                if len(text) < SHORTEST:
                    self.n_short += 1
                else:
                    files.setdefault(file, {}).setdefault(title, []).append(name)
        self.order = list(
            _in_turn(
                [
                    list(_in_turn(_shuffled(sections, seed, file), generator(seed, "draw", file)))
                    for file, sections in files.items()
                ],
                generator(seed, "draw files"),
            )
        )

    def texts(self, ids: Sequence[str]) -> dict[str, Evidence]:
        """Passages by their ids, in one pass over the corpus."""
        texts = texts_of(self.corpus, ids) if ids else {}
        return {name: Evidence(name, title, text) for name, (title, text) in texts.items()}

    def are_together(self, one: str, other: str) -> bool:
        """Whether two passages stand below the same heading of one file."""
        return self._place[one] == self._place[other]


def _shuffled(sections: dict[str, list[str]], seed: int, file: str) -> Iterator[list[str]]:
    for title, names in sections.items():
        generator(seed, "draw", file, title).shuffle(names)
        yield names


def _file_of(name: str, about: str | None) -> str:
    """The file of a passage; of one that names none, what stands before ``#`` in its id."""
    if about is not None:
        metadata = json.loads(about)
        if isinstance(metadata, dict) and isinstance(metadata.get("file"), str):
            return str(metadata["file"])
    return name.partition("#")[0]


def _in_turn(groups: Iterable[Sequence[str]], rng: random.Random) -> Iterator[str]:
    """One of each group, then the next of each, the groups in an order that is drawn."""
    turns = [iter(group) for group in groups]
    rng.shuffle(turns)
    while turns:
        left = []
        for turn in turns:
            if (name := next(turn, None)) is not None:
                yield name
                left.append(turn)
        turns = left
