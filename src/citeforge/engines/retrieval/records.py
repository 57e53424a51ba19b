"""Records and protocol of retrievers: ranked passages per query."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

DEPTH = 100
"""Passages a query (ALCE, section 4.1)."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Passage that was found for a query.

    Attributes:
        query_id: the query.
        docid: the passage.
        rank: position among the query's passages, from 1.
        score: the retriever's own; higher is better.
    """

    query_id: str
    docid: str
    rank: int
    score: float


Rankings = dict[str, list[Retrieved]]
"""Every query that was asked, in order, to its passages, best first; none where nothing is found.
"""


class Retriever(Protocol):
    """Finds passages. The same corpus and queries give the same rankings; ties are broken by id."""

    def identity(self) -> dict[str, Any]:
        """Describe the retriever for manifests: its name, and all that its rankings depend on."""
        ...

    def rank(self, queries: Mapping[str, str], depth: int = DEPTH) -> Rankings:
        """Rank at most ``depth`` passages for each query, given as id to text."""
        ...


def ranked(query_id: str, scores: Iterable[tuple[str, float]]) -> list[Retrieved]:
    """Make records of a query's passages with ranks from 1, given (id, score), best first."""
    return [Retrieved(query_id, name, rank, score) for rank, (name, score) in enumerate(scores, 1)]
