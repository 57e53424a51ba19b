"""Formats of prediction files: their declaration, their catalogue, and which one a file has.

citeforge's own format is JSON Lines; those of the papers are rows of the catalogue; others come
with plugins, which declare a :class:`Format` as an entry point of the group ``citeforge.formats``.
Code for the papers' files is imported when a row is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from citeforge.engines.catalogue import Catalogue
from citeforge.engines.jsonlines import read_rows, read_start
from citeforge.engines.pipes import is_pipe
from citeforge.engines.textfiles import read_csv
from citeforge.evaluator.submissions.finding import Finding
from citeforge.evaluator.submissions.reader import HEADER, read_header
from citeforge.schemas.catalogue import Row
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.submission import Lines, SubmissionLine

if TYPE_CHECKING:
    from citeforge.evaluator.submissions.benchmark import Benchmark
    from citeforge.evaluator.submissions.origin import Claims

OnError = Callable[[InputError], None] | None
OUTPUT = re.compile(rb'"output"\s*:\s*"')
"""Field of citeforge's own lines that no response of a vendor has."""


@dataclass(frozen=True)
class Origin:
    """Description of a submission, as its file contains it.

    Attributes:
        header: fields of a submission's header; empty without any.
        warnings: what is missing in the file.
    """

    header: Mapping[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def read_answers(path: Path, on_error: OnError = None) -> Lines:
    """Yield all answers of citeforge's JSON Lines with their line numbers; a header is skipped.

    Args:
        path: JSON Lines, plain or .gz.
        on_error: gets the error of every unreadable line, which is then skipped; None to raise.

    Raises:
        InputError: file, line, field, and what would be right.
    """
    return read_rows(path, SubmissionLine, HEADER, on_error)


def origin_of_lines(path: Path) -> Origin:
    """Read the header of a JSON Lines file; a file or folder of another kind has none.

    Raises:
        InputError: the file cannot be read, or the header is wrong.
    """
    return Origin(read_header(path) or {} if not path.is_dir() else {})


def claims_of_lines(path: Path) -> Claims:
    """Yield the hashes of benchmarks that each line of a JSON Lines file names.

    Raises:
        InputError: the file cannot be read.
    """
    from citeforge.evaluator.submissions.origin import claims_in_lines

    return claims_in_lines(path)


BY_HEADER = "begin the file with {header}"
BY_COLUMN = "add a column benchmark_hash with {hash}"


@dataclass(frozen=True)
class Fault(Finding):
    """A breach of a format's own rules, which ``check`` lists beside its own findings.

    Attributes:
        is_error: whether the file is refused; False for a warning.
    """

    is_error: bool = True


@dataclass(frozen=True)
class Format(Row):
    """A format of prediction files; a row of the catalogue.

    Attributes:
        read: answers of a file with their lines: (path, benchmark, options behind the colon of
            ``--format NAME:…``, handler of unreadable lines). Raises InputError. None for
            citeforge's JSON Lines.
        looks: whether a file looks like one, by its path and its first bytes.
        rank: formats are asked in this order; a lower one first.
        origin: what a file says of itself, such as system and benchmark.
        claims: hashes of benchmarks that the answers of a file name.
        advice: how a file names its benchmark, with ``{header}`` or ``{hash}``.
        system: the name of the system that a file says it is of; None where files say none.
        faults: breaches of the format's own rules, and counts of what it leaves out; it takes the
            file, the benchmark, and what is behind the colon of ``--format NAME:…``.
        has_rules: whether some of these breaches are errors, for which the file is refused.
        alike: formats that a file's first bytes fit, which may be several.
        verdicts: family of measures to what is in a judge's place in their signatures, since the
            file brings it.
        base: number by which its answers cite the first passage; None for the benchmark's own.
    """

    read: Callable[[Path, Benchmark, str, OnError], Lines] | None = None
    looks: Callable[[Path, bytes], bool] = lambda path, start: False
    rank: int = 50
    origin: Callable[[Path], Origin] = origin_of_lines
    claims: Callable[[Path], Claims] = claims_of_lines
    advice: str = BY_HEADER
    system: Callable[[Path], str | None] | None = None
    faults: Callable[[Path, Benchmark, str], Iterator[Fault]] | None = None
    has_rules: bool = False
    alike: Callable[[bytes], tuple[str, ...]] = lambda start: ()
    verdicts: Mapping[str, str] = field(default_factory=dict)
    base: int | None = None

    def answers(self, path: Path, benchmark: Benchmark, options: str, on_error: OnError) -> Lines:
        """Yield the answers of a file with their line numbers.

        Args:
            path: of the file.
            benchmark: what it answers.
            options: what follows the colon of ``--format NAME:…``.
            on_error: gets the error of every unreadable line, which is then skipped; None to raise.

        Raises:
            InputError: file, line, field, and what would be right.
        """
        if self.read is None:
            return read_answers(path, on_error)
        return self.read(path, benchmark, options, on_error)


def _read_alce(path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    """Read ALCE's result file."""
    from citeforge.evaluator.submissions.paper_files import read_alce

    return read_alce(path, benchmark)


def _read_attributed_ir(path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    """Read Attributed-IR's CSV."""
    from citeforge.evaluator.submissions.paper_files import read_attributed_ir

    return read_attributed_ir(path, benchmark)


def _read_attrieval(path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    """Read AttriEval's saved data sets."""
    from citeforge.evaluator.submissions.paper_files import read_attrieval

    return read_attrieval(path, benchmark)


def _read_kalma(path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    """Read KaLMA's CSV."""
    from citeforge.evaluator.submissions.paper_files import read_kalma_csv

    return read_kalma_csv(path, benchmark)


def _read_rage_toolkit(path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    """Read rage_toolkit's CSV."""
    from citeforge.evaluator.submissions.paper_files import read_rage_toolkit

    return read_rage_toolkit(path, benchmark)


def _claims_in_document(path: Path) -> Claims:
    """Yield the hashes that the items of one JSON document name."""
    from citeforge.evaluator.submissions.origin import claims_in_document

    return claims_in_document(path)


def _claims_in_csv(path: Path) -> Claims:
    """Yield the hashes that the rows of a CSV file name."""
    from citeforge.evaluator.submissions.origin import claims_in_csv

    return claims_in_csv(path)


def _claims_in_saved(path: Path) -> Claims:
    """Yield the hashes that the rows of saved data sets name."""
    from citeforge.evaluator.submissions.paper_files import claims_in_saved

    return claims_in_saved(path)


OURS = "citeforge"
JSON_LINES = Format(OURS, "", "citeforge's JSON Lines: query_id and output")
"""citeforge's own format, with all that :class:`Format` says where a format says nothing else."""
FORMATS: Catalogue[Format, None] = Catalogue(
    "formats",
    "format",
    Format,
    (
        JSON_LINES,
        Format(
            "alce", "", "results of ALCE's scripts", _read_alce, claims=_claims_in_document,
            advice='add "benchmark_hash": "{hash}" beside "data"',
        ),
        Format(
            "attributed-ir", "", "Attributed-IR's CSV or JSON Lines", _read_attributed_ir,
            claims=_claims_in_csv, advice=BY_COLUMN,
        ),
        Format(
            "attrieval", "", "data sets saved by AttriEval", _read_attrieval,
            claims=_claims_in_saved, advice=BY_COLUMN, base=0,
        ),
        Format(
            "kalma", "", "KaLMA's CSV, in the order of queries", _read_kalma,
            claims=_claims_in_csv, advice=BY_COLUMN,
        ),
        Format(
            "rage-toolkit", "", "rage_toolkit's response_info CSV", _read_rage_toolkit,
            claims=_claims_in_csv, advice=BY_COLUMN,
        ),
    ),
)  # fmt: skip


START = 1 << 16
"""Bytes that tell the format."""

_SCORES = re.compile(rb'\s*\{\s*"scores_version"\s*:')
"""Start of a score file, which no submission has."""


def detect(path: Path) -> str:
    """Detect the format of a prediction file or folder by its name and first bytes.

    Raises:
        InputError: the file cannot be read, is a score file, or holds responses of a vendor, not
            one a line.
    """
    if path.is_dir():
        return "attrieval"
    start = read_format_start(path)
    if _is_csv(path, start):
        _, header = next(read_csv(path), (1, {}))
        if "Answer" in header:
            return "kalma"
        return "rage-toolkit" if "answer_citations" in header else "attributed-ir"
    first, (line, *others) = start.lstrip()[:1], start.split(b"\n", 2)
    if _SCORES.match(start):
        raise InputError(
            "is a score file, not a submission", path=path, code="wrong-kind",
            allowed=f"the answers that were scored; of scores: citeforge report {path}, compare, "
            "gate",
        )  # fmt: skip
    if HEADER.match(line) and others:
        line = others[0]
    is_named = b'"query_id"' in line
    if is_named and OUTPUT.search(line) and b'"article"' not in line and _has_our_names(line):
        return OURS  # the usual file, for which no plugin is loaded
    for form in sorted(FORMATS.all().values(), key=lambda form: form.rank):
        if form.looks(path, start):
            return form.name
    if first == b"[" or (first == b"{" and b'"data"' in start[:4096] and not is_named):
        return "alce"
    return OURS


def read_format_start(path: Path) -> bytes:
    """Read the bytes that tell the format; none of folders, and of logs, which are archives."""
    return b"" if path.is_dir() or path.suffix == ".eval" else read_start(path, START)


def _is_csv(path: Path, start: bytes) -> bool:
    """Whether a file is CSV, by its name; a pipe, by its first byte."""
    if not is_pipe(path):
        return path.suffix == ".csv"
    return b"," in start and start.lstrip()[:1] not in (b"{", b"[")


class _OurNames(msgspec.Struct):
    """Fields by which an answer in citeforge's own format is recognised."""

    query_id: Any
    output: Any


def _has_our_names(line: bytes) -> bool:
    """Whether a JSON line has the fields of citeforge's own format; true if it cannot be read."""
    try:
        msgspec.json.decode(line, type=_OurNames)
    except msgspec.ValidationError:
        return False
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # the line is cut off, or its reader says what is wrong
    return True


def format_of_file(path: Path, name: str) -> Format:
    """Find the format that a file is read in; Attributed-IR's JSON Lines are citeforge's own.

    Args:
        path: of the file.
        name: of the format, with its options behind a colon.

    Raises:
        UnknownValueError: there is no format of that name.
        UsageError: the format takes no options.
        InputError: the plugin that defines it is broken.
    """
    if name == OURS:
        return JSON_LINES
    word, _, options = name.partition(":")
    form = FORMATS.get(word)
    if options and not form.argument:
        raise UsageError(f"--format {name}: expected {word} alone", code="bad-option")
    if word == "attributed-ir" and not _is_csv(path, read_format_start(path)):
        return JSON_LINES
    return form


def named_hashes(path: Path) -> set[str]:
    """List the hashes of benchmarks that header and answers of a prediction file name.

    Raises:
        InputError: the file cannot be read.
    """
    from citeforge.evaluator.submissions.origin import HASH

    form = format_of_file(path, detect(path))
    of_header = form.origin(path).header.get(HASH)
    named = [of_header, *chain.from_iterable(hashes for _, hashes in form.claims(path))]
    return {str(value) for value in named if value is not None}
