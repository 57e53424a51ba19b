"""Answers to all cells of a bundle, as its measures see them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.statistics.estimates import Floats
from citeforge.evaluator.submissions.benchmark import Benchmark, ContextTable
from citeforge.plugins.bundles.design import Bundle

Key = tuple[int, int]
"""(run, row of the query)."""


@dataclass(frozen=True)
class CellAnswer:
    """One answer in one cell.

    Attributes:
        cited: 0-based positions of the passages cited, all shown.
        text: what it says, without marks.
        is_missing: whether the submission lacks it.
    """

    cited: frozenset[int] = frozenset()
    text: str = ""
    is_missing: bool = False


MISSING = CellAnswer(is_missing=True)


@dataclass
class CellAnswers:
    """All answers, by cell.

    Attributes:
        benchmark: what they answer.
        bundle: its cells.
        judge: detects refusals, where the bundle says so.
        is_strict: whether missing answers score the worst value.
        tables: what each cell shows.
        by_cell: cell to (run, row) to answer.
    """

    benchmark: Benchmark
    bundle: Bundle
    judge: JudgeSession | None
    is_strict: bool
    tables: dict[str, ContextTable]
    by_cell: dict[str, dict[Key, CellAnswer]] = field(default_factory=dict)

    @property
    def runs(self) -> list[int]:
        """Numbers of the runs of any cell, in order."""
        return sorted({run for answers in self.by_cell.values() for run, _ in answers})

    def answer(self, cell: str, run: int, row: int) -> CellAnswer | None:
        """An answer; of a missing one :data:`MISSING` in ``strict``, else None."""
        answer = self.by_cell.get(cell, {}).get((run, row))
        return answer or (MISSING if self.is_strict else None)

    def column(self, value: Callable[[int, int], float]) -> Floats:
        """Values of all queries, shape (runs, queries).

        Args:
            value: gives that of a run and row; NaN where it is not defined.
        """
        rows = range(len(self.benchmark.query_ids))
        return np.array([[value(run, row) for row in rows] for run in self.runs], np.float64)
