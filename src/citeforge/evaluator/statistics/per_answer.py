"""A few numbers of each answer: all that is kept of a million of them."""

from typing import Any, Protocol

import numpy as np

from citeforge.evaluator.statistics.estimates import Floats
from citeforge.schemas.submission import SubmissionLine


class Scored(Protocol):
    """Numbers of one answer: a named tuple that begins with the columns."""

    @property
    def distinct(self) -> float:
        """Distinct citations."""

    @property
    def n_out_of_range(self) -> float:
        """Distinct citations of passages that were not shown."""

    @property
    def n_unparsed(self) -> float:
        """Marks that could not be read."""

    def __getitem__(self, part: slice, /) -> tuple[Any, ...]:
        """Some of the numbers, as a slice of a tuple."""


class AnswerScorer(Protocol):
    """Computes the numbers of one answer at a time.

    Attributes:
        columns: names of those that are kept: the first ones of each answer's.
    """

    columns: tuple[str, ...]

    def of(self, row: int, answer: SubmissionLine) -> Scored:
        """Numbers of an answer to the query of a row; NaN where nothing is defined."""

    def worst(self, row: int) -> Scored:
        """Numbers of a missing answer."""


class PerAnswerScores:
    """Numbers of the answers to one context set.

    Attributes:
        numbers: makes them.
    """

    def __init__(self, numbers: AnswerScorer, n_queries: int) -> None:
        self.numbers: Any = numbers
        self._n = n_queries
        self._k = len(numbers.columns)
        self._runs: dict[int, tuple[Floats, bytearray]] = {}

    def add(self, row: int, answer: SubmissionLine) -> Scored:
        """Keep the numbers of an answer; returns all of them."""
        run = self._runs.get(answer.run)
        if run is None:
            values = np.full((self._n, self._k), np.nan)
            run = self._runs[answer.run] = values, bytearray(self._n)
        scored: Scored = self.numbers.of(row, answer)
        run[0][row] = scored[: self._k]
        run[1][row] = 1
        return scored

    def fill(self) -> None:
        """Fill in the worst value for every missing answer."""
        for values, answered in self._runs.values():
            for row in np.flatnonzero(np.frombuffer(answered, np.uint8) == 0).tolist():
                values[row] = self.numbers.worst(row)[: self._k]

    @property
    def runs(self) -> list[int]:
        """Numbers of the runs, in order."""
        return sorted(self._runs)

    def column(self, name: str) -> Floats:
        """One of the columns, shape (runs, queries)."""
        at = self.numbers.columns.index(name)
        return np.stack([self._runs[number][0][:, at] for number in self.runs])
