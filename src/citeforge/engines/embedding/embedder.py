"""What every embedder offers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Kind = Literal["query", "passage"]
Vectors = npt.NDArray[np.float32]
CALIBRATION = 64
"""Texts that int8 is calibrated on. (24, 64 and 200 passages gave all-MiniLM the same largest
error; 200 take twice the time of 64.)"""


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    def fingerprint(self) -> dict[str, Any]:
        """Everything that a vector depends on besides its text and its batch."""
        ...

    def encode(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Unit vectors, shape (n texts, dimension), one row a text, in order."""
        ...


@dataclass(frozen=True)
class FailedShard:
    """Work that no worker of a runner survives.

    Attributes:
        tries: workers that tried.
        reason: what the last of them said.
    """

    tries: int
    reason: str

    def __str__(self) -> str:
        workers = "1 worker" if self.tries == 1 else f"{self.tries} workers"
        return f"{workers} failed on it, the last one so: {self.reason}"


@runtime_checkable
class Quantized(Embedder, Protocol):
    """An embedder whose model was made from another's."""

    def files(self) -> dict[str, bytes]:
        """Names and contents of the model's files, for where it is not to be made again."""
        ...

    def sent(self, files: dict[str, bytes]) -> Embedder:
        """The same embedder with files that were made elsewhere."""
        ...


@runtime_checkable
class Quantizable(Embedder, Protocol):
    """An embedder beside which there is a faster one that comes near it."""

    def quantized(self, calibration: Sequence[str]) -> Embedder:
        """The faster one; in the process that makes it, a :class:`Quantized`.

        Args:
            calibration: passages to calibrate it on.
        """
        ...


@dataclass(frozen=True)
class Prefixes:
    """What a model wants in front of its texts (e5: ``query: `` and ``passage: ``)."""

    query: str = ""
    passage: str = ""

    def of(self, kind: Kind) -> str:
        """The prefix of queries or of passages."""
        return {"query": self.query, "passage": self.passage}[kind]


def default_prefixes(name: str) -> Prefixes:
    """Prefixes that a model family was trained with (Wang et al. 2024, section 3, for e5)."""
    if "e5-" in name.lower() and "mistral" not in name.lower():
        return Prefixes("query: ", "passage: ")
    return Prefixes()
