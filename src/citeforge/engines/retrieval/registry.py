"""Retrievers by their names."""

from __future__ import annotations

from citeforge.engines.registry import Registry, expected
from citeforge.engines.retrieval.bm25 import by_words
from citeforge.engines.retrieval.dense import by_meaning
from citeforge.engines.retrieval.records import Retriever, RetrieverSettings
from citeforge.engines.retrieval.runs import by_run
from citeforge.schemas.models.choices import RETRIEVERS as CHOICES
from citeforge.schemas.models.choices import Choice

RETRIEVERS: Registry[Choice, Retriever] = Registry(
    "retriever",
    "retrievers",
    CHOICES,
    {"bm25": by_words, "dense": by_meaning, "run": by_run},
    "identity rank",
    expected("--retriever", CHOICES),
)


def make_retriever(name: str, settings: RetrieverSettings) -> Retriever:
    """The retriever of a name: one of RETRIEVERS, or a plugin's.

    Raises:
        UsageError: another name.
        InputError: a broken plugin.
    """
    return RETRIEVERS.make(name, settings)
