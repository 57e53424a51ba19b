"""What runs in a worker process: piece after piece, by something that stays loaded."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from citeforge.schemas.errors import CiteforgeError
from citeforge.schemas.version import __version__

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Worked(Generic[T, R]):
    """What does the pieces, loaded.

    Attributes:
        identity: what results depend on; must be the same in every worker.
        do: a piece to its result.
    """

    identity: Callable[[], dict[str, Any]]
    do: Callable[[T], R]


Work = Callable[[], Worked[T, R]]
"""What a worker is told at its start: called once in it."""


@dataclass(frozen=True)
class Raised:
    """An error, as it travels back.

    Attributes:
        text: its message.
        error: the error itself, if the user can correct it.
    """

    text: str
    error: CiteforgeError | None = None

    def raise_for_user(self) -> None:
        """Raise an error that the user can correct."""
        if self.error is not None:
            raise self.error


@dataclass(frozen=True)
class Started:
    """Where a worker runs, and what its results depend on."""

    host: str
    version: str
    identity: dict[str, Any]


class Worker(Generic[T, R]):
    """The actor."""

    def __init__(self, work: Work[T, R]) -> None:
        self._work = work
        self._worked: Worked[T, R] | None = None

    def start(self) -> Started | Raised:
        """Load what does the pieces."""

        def load() -> Started:
            self._worked = self._work()
            return Started(socket.gethostname(), __version__, self._worked.identity())

        return _caught(load)

    def do(self, piece: T) -> R | Raised:
        """The result of a piece."""
        worked = self._worked
        assert worked is not None
        return _caught(lambda: worked.do(piece))


def _caught(work: Callable[[], R]) -> R | Raised:
    """Errors as values: many exceptions cannot be sent."""
    try:
        return work()
    except CiteforgeError as error:
        return Raised(str(error), error)
    except Exception as error:  # whatever a model's code may raise; the driver tells of it
        return Raised(f"{type(error).__name__}: {error}")
