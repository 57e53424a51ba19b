"""Names with parameters, as in ir_measures: ``P@5``, ``nDCG@10``, ``ROUGE-Lsum.F@1gold``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from citeforge.evaluator.measures.declared import Measure
from citeforge.schemas.errors import UsageError

_CUTOFF = re.compile(r"[1-9][0-9]{0,8}")
SINGLE = "1gold"
"""After ``@``: against one gold answer instead of the best of all."""


@dataclass(frozen=True)
class Form:
    """Measures that differ in parameters alone.

    Attributes:
        base: what their names begin with.
        make: (part, what follows ``@``; each an empty string where there is none) to the measure.
        parts: what may follow a dot; empty where nothing does.
        cutoff: whether a number of passages follows ``@``; ``1gold`` may follow otherwise.
        listed: what follows ``@`` in the measures that are listed.
        origin: plugin that brings them, with its version; None for ours.
    """

    base: str
    make: Callable[[str, str], Measure]
    parts: tuple[str, ...] = ()
    cutoff: bool = False
    listed: tuple[str, ...] = ("", SINGLE)
    origin: str | None = None

    @property
    def name(self) -> str:
        """What plugins call it."""
        return self.base

    def measures(self) -> list[Measure]:
        """Those that are listed and that families select."""
        return [self._made(part, at) for at in self.listed for part in self.parts or ("",)]

    def _made(self, part: str, at: str) -> Measure:
        return replace(self.make(part, at), origin=self.origin)

    def parse(self, name: str) -> Measure | None:
        """The measure of a name; None when the name is of something else.

        Raises:
            UsageError: the parameters are not possible; says which are.
        """
        head, mark, at = name.partition("@")
        base, dot, part = (head, "", "")
        if self.parts and head.startswith(f"{self.base}."):
            base, dot, part = self.base, ".", head[len(self.base) + 1 :]
        if base != self.base:
            return None
        if self.parts and part not in self.parts:
            names = ", ".join(f"{self.base}.{p}" for p in self.parts)
            raise UsageError(f"measure {name!r}: the part is missing or unknown; one of {names}")
        if self.cutoff and not _CUTOFF.fullmatch(at):
            raise UsageError(
                f"measure {name!r}: after @ stands the number of passages that are looked at, a "
                f"whole number of at least 1, as in {self.base}@5"
            )
        if not self.cutoff and mark and at != SINGLE:
            raise UsageError(
                f"measure {name!r}: after @ only {SINGLE} is allowed, as in "
                f"{base}{dot}{part}@{SINGLE}; without it, the best gold answer counts"
            )
        return self._made(part, at)
