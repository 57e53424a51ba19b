"""Declarations of all measures: what, apart from how."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from citeforge.schemas.errors import UnknownValueError


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
    """

    name: str
    family: str
    definition: str
    low: float
    high: float | None
    scale: int
    needs: str
    source: str


_RAGE = "Penzkofer & Baumann 2024 (RAGE), section 3.2"

MEASURES = {
    m.name: m
    for m in (
        Measure(
            "CiteP", "rage", "relevant among the distinct cited passages", 0, 1, 100, "", _RAGE
        ),
        Measure("CiteR", "rage", "cited among the relevant passages shown", 0, 1, 100, "", _RAGE),
        Measure(
            "CiteF1", "rage", "harmonic mean of mean CiteP and mean CiteR", 0, 1, 100, "", _RAGE
        ),
        Measure("CiteF1@query", "rage", "mean of per-query harmonic means", 0, 1, 100, "", _RAGE),
        Measure(
            "ShortEM",
            "rage",
            "a short answer of a relevant passage stands in the output",
            0,
            1,
            100,
            "short answers in mapping/relevant",
            "rage_toolkit 0.0.2",
        ),
        Measure(
            "Reward",
            "rage",
            "mean of CiteP and CiteR of one output",
            0,
            1,
            100,
            "",
            "Penzkofer & Baumann 2024 (RAGE), section 4.3",
        ),
        Measure("Distinct", "rage", "distinct passages cited", 0, None, 1, "", _RAGE),
        Measure("Length", "rage", "words of the output without markers", 0, None, 1, "", _RAGE),
    )
}
FAMILIES = tuple(dict.fromkeys(m.family for m in MEASURES.values()))


def select(names: Iterable[str]) -> list[Measure]:
    """Measures of the given names and families, in declared order.

    Raises:
        UnknownValueError: a name is neither.
    """
    chosen: set[str] = set()
    for name in names:
        if name in FAMILIES:
            chosen.update(m.name for m in MEASURES.values() if m.family == name)
        elif name in MEASURES:
            chosen.add(name)
        else:
            raise UnknownValueError("measure", name, [*MEASURES, *FAMILIES])
    return [m for m in MEASURES.values() if m.name in chosen]
