"""Streaming reader of submissions; errors name the line."""

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import msgspec

from citeforge.engines.jsonlines import decode_line, read_rows, read_start
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.systems import LONGEST, name_problem
from citeforge.schemas.submission import Header, SubmissionLine
from citeforge.schemas.text import printable

OWN = "own"
"""Context of lines that bring their passages."""
CLOSED_BOOK = "none"
"""Context of systems that were shown nothing."""
FULL = "full"
"""The set that is scored where a benchmark has one of that name and the lines name several."""
HEADER = re.compile(rb'\s*\{\s*"submission"\s*:')
"""Start of a line that is the header, not an answer."""
OWN_PASSAGES = "a kalma benchmark shows triples, and answers can cite no passages"
"""Why a line with passages cannot be scored there."""
_LONGEST_HEADER = 1 << 16
"""Bytes."""
_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt")


def read_header(path: Path) -> dict[str, object] | None:
    """Read the header of a submission; None when its first line is an answer.

    Raises:
        InputError: the file cannot be read, its gzip data are damaged, or the header is wrong.
    """
    first = read_start(path, _LONGEST_HEADER).partition(b"\n")[0]
    if not HEADER.match(first):
        return None
    if len(first) >= _LONGEST_HEADER:
        raise InputError(
            "the header is too long", path=path, line=1, allowed=f"{_LONGEST_HEADER:,} bytes",
            code="too-long"
        )  # fmt: skip
    return decode_line(path, 1, first, msgspec.json.Decoder(Header), Header).submission


def read_answers(
    path: Path, on_error: Callable[[InputError], None] | None = None
) -> Iterator[tuple[int, SubmissionLine]]:
    """Yield all answers with their line numbers; a header is skipped.

    Args:
        path: JSON Lines, plain or .gz.
        on_error: gets the error of every unreadable line, which is then skipped; None to raise.

    Raises:
        InputError: file, line, field, and what would be right.
    """
    return read_rows(path, SubmissionLine, HEADER, on_error)


class LineIndex:
    """Index of a submission's lines by context set, run and query; refuses wrong ones."""

    def __init__(self, path: Path, benchmark: Benchmark) -> None:
        """Make an empty index for a submission to a benchmark."""
        self._path, self._benchmark = path, benchmark
        self._lines: defaultdict[tuple[str, int], array[int]] = defaultdict(
            lambda: array("Q", bytes(8 * len(benchmark.query_ids)))
        )
        self._runs: set[int] = set()

    @property
    def missing(self) -> dict[tuple[str, int], list[int]]:
        """Map each (context set, run) that has lines to the rows of the queries without a line."""
        return {
            place: [row for row, line in enumerate(lines) if not line]
            for place, lines in sorted(self._lines.items())
        }

    def row(self, line: int, answer: SubmissionLine, context: str) -> int:
        """Find the row of the query that a line answers; raise an error if an earlier line did.

        Raises:
            InputError: an unknown query, a negative run, a run too many, a second line for the
                same place, or the hash of another benchmark.
        """
        if answer.benchmark_hash is not None:
            self._benchmark.require_hash(answer.benchmark_hash, self._path, line)
        if answer.passages is not None and self._benchmark.has_graphs:
            self._refuse(line, "passages", OWN_PASSAGES, "wrong-kind")
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
            return context == OWN or self._benchmark.has_graphs  # `row` refuses these
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


def system_name(path: Path, header: Mapping[str, object] | None = None) -> str:
    """Get the name of the system: its header's, else the file's.

    Args:
        path: submission.
        header: its header, empty where it has none; None to read it.

    Raises:
        InputError: it is no text, or none that a system may be called.
    """
    name = (read_header(path) or {} if header is None else header).get("system")
    if name is None or name == "":
        return require_name(bare_name(path), path)
    if not isinstance(name, str):
        raise InputError(f"is a {type(name).__name__}", path=path, line=1, field="system",
                         allowed="the name of the system, as text", code="wrong-type")  # fmt: skip
    return require_name(name, path, "system")


def require_name(name: str, path: Path, field: str | None = None) -> str:
    """Check that a system's name can be shown as it is; return it.

    Args:
        name: the name.
        path: submission.
        field: of its first line, where the name stands there; None for the file's own name.

    Raises:
        InputError: says what is wrong with it.
    """
    if (fault := name_problem(name)) is not None:
        raise InputError(
            f"the system's name {fault}", path=path, line=None if field is None else 1,
            field=field, allowed=f"up to {LONGEST} visible characters; or give --name",
            code="bad-name"
        )  # fmt: skip
    return name


def bare_name(path: Path) -> str:
    """Strip .gz and a format's ending, such as .jsonl, from a file's name; keep its other dots."""
    name = path.name.removesuffix(".gz")
    ending = next((e for e in _ENDINGS if name.endswith(e) and name != e), "")
    return name.removesuffix(ending)
