"""What a declared measure is."""

from __future__ import annotations

from dataclasses import dataclass

MOST_CITATIONS = 3
"""Citations of a statement that ALCE's evaluator looks at unless it is told otherwise."""

DEPTHS = (1, 2, 3, 5, 10)
"""Numbers of shown passages that retrieval measures look at."""


@dataclass(frozen=True)
class Measure:
    """A named score.

    Attributes:
        name: as in ``--measures`` and signatures.
        family: group it belongs to; naming the family selects them all.
        definition: one line.
        low: smallest raw value.
        high: largest raw value; None when there is no bound.
        scale: factor for display.
        needs: what a benchmark or submission must have, in words; empty for nothing.
        source: paper and section.
        uses: parts of the signature that it adds: ``judge``, ``segmenter``.
    """

    name: str
    family: str
    definition: str
    low: float
    high: float | None
    scale: int
    needs: str
    source: str
    uses: tuple[str, ...] = ()
