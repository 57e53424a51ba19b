"""Retrievers by their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from citeforge.engines.embedder import Embedder
from citeforge.engines.registry import Registry, expected
from citeforge.engines.retrieval.records import Retriever
from citeforge.engines.vectors import SHARD_ROWS
from citeforge.schemas.choices import RETRIEVERS as CHOICES
from citeforge.schemas.choices import Choice
from citeforge.schemas.errors import UsageError

if TYPE_CHECKING:
    from citeforge.engines.search import Nominate


def _no_embedder() -> Embedder:
    raise UsageError("dense retrieval needs --embedder")


@dataclass(frozen=True)
class RetrieverSettings:
    """What a retriever is made with, besides its argument.

    Attributes:
        corpus: Parquet shards (schema CORPUS) of what is searched.
        embedder: makes the embedder of dense retrieval, when it is needed.
        folder: where its vectors are kept.
        shard_rows: passages a shard of vectors.
        nominate: what searches them; None for this process.
    """

    corpus: list[Path]
    embedder: Callable[[], Embedder] = _no_embedder
    folder: Path = field(default_factory=Path)
    shard_rows: int = SHARD_ROWS
    nominate: Nominate | None = None


RETRIEVERS: Registry[Choice, Retriever] = Registry(
    "retriever", "retrievers", CHOICES, "identity rank", expected("--retriever", CHOICES)
)


def make_retriever(name: str, settings: RetrieverSettings) -> Retriever:
    """The retriever of a name: one of RETRIEVERS, or a plugin's.

    Raises:
        UsageError: another name.
        InputError: a broken plugin.
    """
    return RETRIEVERS.make(name, settings)
