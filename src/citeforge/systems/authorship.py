"""Control systems for authorship benchmarks: one with a known bias, one without.

A measure of bias is worth something only if it finds the one and not the other.
"""

from collections.abc import Iterator
from typing import Any

from citeforge.engines.draws import generator
from citeforge.evaluator.submissions.benchmark import Benchmark, ContextTable
from citeforge.schemas.authorship import Cell, design_of
from citeforge.systems.rage import citing

_PLAIN = {True: 0.7, False: 0.15}
_FIRST = {True: 0.9, False: 0.35}
_SECOND = {True: 0.4, False: 0.05}

_FRESH_SHARE = 0.15
"""Share of decisions that are drawn anew in every cell, as an LLM's answers vary; the others are
the same draw wherever the same text is shown."""


def lines(
    name: str, benchmark: Benchmark, contexts: list[str], runs: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the lines of a control system's submission to an authorship benchmark."""
    design = design_of(benchmark.manifest.config)

    def choose(table: ContextTable, row: int, query: str, run: int) -> Iterator[int]:
        """Draw the positions to cite, each with its own probability."""
        cell, relevant = design.find(table.name), table.relevant[row]
        for place, passage in enumerate(table.ids_of(row)):
            chance = _chance(name, cell, place in relevant)
            if _draw(seed, table.name, query, run, passage) < chance:
                yield place

    return citing(benchmark, contexts, runs, choose)


def _draw(seed: int, context: str, query: str, run: int, passage: str) -> float:
    fresh = generator(seed, "control, this cell", context, query, run, passage)
    shared = generator(seed, "control, this text", query, run, passage).random()
    return fresh.random() if fresh.random() < _FRESH_SHARE else shared


def _chance(name: str, cell: Cell, relevant: bool) -> float:
    side = cell.side(relevant)
    if name == "label-blind" or side is None or cell.labels == "placebo":
        return _PLAIN[relevant]
    return (_FIRST if side == "first" else _SECOND)[relevant]
