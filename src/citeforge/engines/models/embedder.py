"""Protocols of embedders, and what their vectors depend on."""

from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.engines.progress import Advance
from citeforge.schemas.recipes.base import Compute

Role = Literal["query", "passage"]
Vectors = npt.NDArray[np.float32]
_FORMATS = {"bfloat16": "<f2", "float64": "<f8"}
"""Numeric format of computed vectors to that of stored ones; float32 for all others. Float16 has
smaller errors than bfloat16."""
_LIBRARIES = "torch", "transformers", "tokenizers", "sentence-transformers"
"""Libraries that compute the vectors of local models."""


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    def fingerprint(self) -> dict[str, Any]:
        """Describe everything that a vector depends on, apart from its text and its batch.

        Numeric format and device are under ``computed``; all else identifies the model, and so the
        vectors that exact arithmetic would give.
        """
        ...

    def encode(self, texts: Sequence[str], kind: Role) -> Vectors:
        """Embed queries or passages (``kind``): unit vectors, (n texts, dimension), in order."""
        ...


@runtime_checkable
class Refinable(Embedder, Protocol):
    """Embedder whose model can compute in several numeric formats; float32 unless asked."""

    def at(self, compute: Compute) -> Embedder:
        """Get the same model in another numeric format, and free the weights of all other formats.

        Args:
            compute: ``auto`` for what is quick where it runs.

        Raises:
            UsageError: the device cannot compute in them.
        """
        ...

    def count_cut(self, text_arrays: Iterable[pa.Array], kind: Role) -> tuple[int, int] | None:
        """Count texts over the model's limit: (number, limit in tokens); None if unknown."""
        ...


@runtime_checkable
class Distributed(Embedder, Protocol):
    """Embedder that takes the shards of a corpus together, and embeds several at once."""

    def encode_each(self, shards: Iterable[pa.Array], kind: Role) -> Iterator[tuple[int, Vectors]]:
        """Embed shards of queries or passages; yield (shard number, vectors) as they are done."""
        ...


@runtime_checkable
class Watchable(Embedder, Protocol):
    """Embedder that reports its progress."""

    def encode_watched(self, texts: Sequence[str], kind: Role, advance: Advance) -> Vectors:
        """Embed texts as ``encode`` does, calling ``advance`` with the number of texts done."""
        ...


@runtime_checkable
class Releasable(Protocol):
    """Embedder whose model can be taken out of memory."""

    def release(self) -> None:
        """Free the memory of the model; it is loaded again when texts are encoded."""
        ...


def model_of(fingerprint: dict[str, Any]) -> dict[str, Any]:
    """Get the part of a fingerprint that identifies the model, not how it was computed."""
    return {name: value for name, value in fingerprint.items() if name != "computed"}


def vectors_depend_on(fingerprint: dict[str, Any], kind: Role) -> dict[str, Any]:
    """Collect all that decides the stored vector of a query or passage, apart from its text.

    Device and batch size change last bits alone, which no result depends on (cosines that are
    near each other are computed again): vectors of other machines are of use.

    Args:
        fingerprint: description of the embedder.
        kind: whether texts are queries or passages; only the prefix of these counts.

    Returns:
        Facts about the model, and ``format``: NumPy's name of the stored numbers.
    """
    prefixes = "query_prefix", "passage_prefix", "prefixes"
    facts = {n: v for n, v in model_of(fingerprint).items() if n not in prefixes}
    dtype = fingerprint.get("computed", {}).get("dtype")
    if dtype is not None:
        facts["dtype"] = dtype
        facts["libraries"] = {name: version(name).partition("+")[0] for name in _LIBRARIES}
    prefix = fingerprint.get(f"{kind}_prefix", "")
    return {"model": facts, "kind": kind, "prefix": prefix, "format": _FORMATS.get(dtype, "<f4")}
