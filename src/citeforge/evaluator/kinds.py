"""Kinds of benchmark whose answers are scored."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from citeforge.package.package import PackageKind

if TYPE_CHECKING:
    from citeforge.evaluator.measures.reading import Read


class ScoredKind(PackageKind):
    """A kind of benchmark that also declares how answers to it are read."""

    @abstractmethod
    def reading(self, reads: str) -> Read:
        """Return the function that reads a submission in the way that measures need.

        Args:
            reads: what the measures read, one of ``readings``.
        """
