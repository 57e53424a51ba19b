"""The protocol of sentence segmenters; implementations are in ``sentences`` and ``segmenters``."""

from itertools import accumulate, pairwise
from typing import Protocol

Span = tuple[int, int]


class Segmenter(Protocol):
    """Splits a text into sentences."""

    @property
    def signature(self) -> str:
        """Name and version of the segmenter, as score signatures (settings of a score) have it."""
        ...

    def split(self, text: str) -> list[Span]:
        """List (start, end) of each sentence, in order, without surrounding white space."""
        ...


def lines_of(text: str) -> list[Span]:
    """List (start, end) of each line of a text, its line break included."""
    return list(pairwise(accumulate(map(len, text.splitlines(keepends=True)), initial=0)))


def trim_span(text: str, start: int, end: int) -> Span | None:
    """Trim white space from the span [start, end) of a text; None if nothing is left."""
    piece = text[start:end]
    stripped = piece.strip()
    if not stripped:
        return None
    start += len(piece) - len(piece.lstrip())
    return start, start + len(stripped)
