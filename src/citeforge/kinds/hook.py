"""Functions by their place: a declaration names them, the first call imports them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Hook(Generic[P, R]):
    """A function that is imported when it is called.

    A kind stands below the floors whose functions it names; by a hook it imports none of them.

    Attributes:
        place: ``module:name``, or in a plugin's file the function itself.
    """

    place: str | Callable[P, R]

    def load(self) -> Callable[P, R]:
        """The function.

        Raises:
            ImportError: there is no such module.
            AttributeError: the module has no such name.
        """
        if callable(self.place):
            return self.place
        module, name = self.place.split(":")
        return cast("Callable[P, R]", getattr(import_module(module), name))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function."""
        return self.load()(*args, **kwargs)
