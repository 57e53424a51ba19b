"""Which query each line of a submission answers; second answers and unknown queries are refused."""

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NoReturn

from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.reader import CLOSED_BOOK, OWN
from citeforge.evaluator.submissions.submission import Submission
from citeforge.schemas.errors import InputError
from citeforge.schemas.submission import SubmissionLine
from citeforge.schemas.text import printable

_OWN_PASSAGES = "a kalma benchmark shows triples, and answers can cite no passages"
"""Why a line with passages cannot be scored there."""
_HIDDEN_GOLD = (
    "brings passages of its own, and the gold of this benchmark is hidden: which of them the "
    "scores count as relevant would tell its labels; cite the passages shown, and leave this out"
)


class LineIndex:
    """Index of a submission's lines by context set, run and query; refuses wrong ones."""

    def __init__(self, path: Path, benchmark: Benchmark) -> None:
        """Make an empty index of which line answers which query, context set and run."""
        self._path, self._benchmark = path, benchmark
        self._lines: defaultdict[tuple[str, int], array[int]] = defaultdict(
            lambda: array("Q", bytes(8 * len(benchmark.query_ids)))
        )
        self._runs: set[int] = set()

    @property
    def missing(self) -> dict[tuple[str, int], list[int]]:
        """Map each (context set, run) that has lines to the rows of the queries without a line."""
        return {
            context_and_run: [row for row, line in enumerate(lines) if not line]
            for context_and_run, lines in sorted(self._lines.items())
        }

    def row(self, line: int, answer: SubmissionLine, context: str) -> int:
        """Find the row of the query that a line answers; raise an error if an earlier line did.

        Raises:
            InputError: an unknown query, a negative run, a run too many, a second line for the
                same query, context and run, or passages of its own where the benchmark takes none.
        """
        if answer.passages is not None and self._benchmark.has_graphs:
            self._refuse(line, "passages", _OWN_PASSAGES, "wrong-kind")
        if answer.passages is not None and self._benchmark.has_hidden_gold:
            self._refuse(line, "passages", _HIDDEN_GOLD, "hidden-gold")
        row = self._benchmark.row_of.get(answer.query_id)
        if row is None:
            unknown = self._benchmark.unknown_query(answer.query_id)
            if (only := self._benchmark.query_subset) is not None:
                unknown += f", or not among the {len(only):,} of its queries that are scored"
            self._refuse(line, "query_id", unknown, "unknown-query")
        if answer.run < 0:
            self._refuse(line, "run", f"{answer.run} is negative", "out-of-range")
        if answer.run not in self._runs:
            if len(self._runs) == self._benchmark.most_runs:
                self._refuse(
                    line,
                    "run",
                    f"more than {len(self._runs):,} runs; `run` numbers the repetitions of the "
                    "whole benchmark, not its lines",
                    "too-large",
                )
            self._runs.add(answer.run)
        lines = self._lines[context, answer.run]
        if lines[row]:
            where = f"context {context}, run {answer.run}; first at line {lines[row] - 1}"
            self._refuse(
                line,
                "query_id",
                f"duplicate answer to {printable(answer.query_id)} ({where})",
                "duplicate-id",
            )
        lines[row] = line + 1  # 0 stands for none
        return row

    def is_about(self, line: int, answer: SubmissionLine, context: str) -> bool:
        """Whether a line is about a context set; a line about another one is checked, too.

        So ``check`` and ``score`` have one verdict on a file.

        Raises:
            InputError: it names a set that the benchmark does not have, or :meth:`row` of its own
                set raises.
        """
        if answer.passages is not None and (context != CLOSED_BOOK or answer.context is not None):
            is_refused = self._benchmark.has_graphs or self._benchmark.has_hidden_gold  # by `row`
            return context == OWN or is_refused
        if answer.context is None or answer.context == context:
            return True
        if answer.context not in self._benchmark.manifest.contexts:
            sets = ", ".join(self._benchmark.manifest.contexts)
            self._refuse(
                line,
                "context",
                f"{printable(answer.context)} is unknown; one of {sets}",
                "unknown-context",
            )
        self.row(line, answer, answer.context)
        return False

    def _refuse(self, line: int, field: str, message: str, code: str) -> NoReturn:
        """Raise an InputError that names a line and the field at fault."""
        raise InputError(
            message, path=self._path, line=line, field=field, allowed="see: citeforge check",
            code=code,
        )  # fmt: skip


def answers_to(context: str, submission: Submission) -> Iterator[tuple[int, SubmissionLine]]:
    """Yield (row of its query, answer) for every line that answers a context set.

    Raises:
        InputError: an unknown or duplicate key, or there is no such line.
    """
    places = LineIndex(submission.path, submission.benchmark)
    is_empty, is_any = True, False
    for line, answer in submission.answers():
        is_empty = False
        if places.is_about(line, answer, context):
            is_any = True
            yield places.row(line, answer, context), answer
    if is_empty:
        raise InputError("contains no answers", path=submission.path, code="no-answers")
    if not is_any:
        raise InputError(
            f"contains no answer to the context set {context!r}",
            path=submission.path,
            allowed="name a context set that its lines answer: --context",
            code="no-answers",
        )


def answers_by_cell(
    cells: Collection[str], submission: Submission
) -> Iterator[tuple[str, int, SubmissionLine]]:
    """Yield (condition (cell), query row, answer) for every line of a submission.

    Raises:
        InputError: a line names no cell, an unknown or duplicate key, or there is no line.
    """
    places, is_any = LineIndex(submission.path, submission.benchmark), False
    for line, answer in submission.answers():
        cell, is_any = answer.context, True
        if cell is None or cell not in cells:
            raise InputError(
                "is missing" if cell is None else f"{cell!r} is not a cell of the benchmark",
                path=submission.path,
                line=line,
                field="context",
                allowed=", ".join(cells),
                code="missing-field" if cell is None else "unknown-context",
            )
        yield cell, places.row(line, answer, cell), answer
    if not is_any:
        raise InputError("contains no answers", path=submission.path, code="no-answers")
