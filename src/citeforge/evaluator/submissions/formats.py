"""Formats of prediction files: their declaration, their catalogue, and which one a file has.

citeforge's own format is JSON Lines, read by :class:`Format` itself; those of the papers are
classes based on it, and so are others, which plugins declare as entry points of the group
``citeforge.formats``. Code for their files is imported when a file is read.
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
from citeforge.engines.jsonlines import decode_line, read_rows, read_start
from citeforge.engines.pipes import is_pipe
from citeforge.engines.textfiles import read_csv
from citeforge.evaluator.submissions.finding import Finding
from citeforge.evaluator.submissions.foreign_files import refuse_foreign
from citeforge.schemas.catalogue import Row
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.systems import LONGEST, name_problem
from citeforge.schemas.submission import HEADER, Header, Lines, SubmissionLine

if TYPE_CHECKING:
    from citeforge.evaluator.submissions.benchmark import Benchmark
    from citeforge.evaluator.submissions.origin import Claims

_LONGEST_HEADER = 1 << 16
"""Bytes."""
_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt")
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
            field=field, allowed=f"up to {LONGEST} visible characters",
            code="bad-name"
        )  # fmt: skip
    return name


def bare_name(path: Path) -> str:
    """Strip .gz and a format's ending, such as .jsonl, from a file's name; keep its other dots.

    A pipe, whose name tells nothing, is called ``stdin``.
    """
    if is_pipe(path):
        return "stdin"
    name = path.name.removesuffix(".gz")
    ending = next((e for e in _ENDINGS if name.endswith(e) and name != e), "")
    return name.removesuffix(ending)


def read_answers(path: Path, on_error: OnError = None) -> Lines:
    """Yield all answers of citeforge's JSON Lines with their line numbers; a header is skipped.

    Args:
        path: JSON Lines, plain or .gz.
        on_error: gets the error of every unreadable line, which is then skipped; None to raise.

    Raises:
        InputError: file, line, field, and what would be right.
    """
    return read_rows(path, SubmissionLine, HEADER, on_error)


BY_HEADER = "begin the file with {header}"
BY_COLUMN = "add a column benchmark_hash with {hash}"


@dataclass(frozen=True)
class Fault(Finding):
    """A breach of a format's own rules, which ``check`` lists beside its own findings.

    Attributes:
        is_error: whether the file is refused; False for a warning.
    """

    is_error: bool = True


@dataclass(frozen=True, kw_only=True)
class Format(Row):
    """A format of prediction files: citeforge's JSON Lines; others are classes based on it.

    An object of it is a row of the catalogue. Imports of what reads a file are inside methods.

    Attributes:
        rank: formats are asked in this order whether a file is theirs; a lower one first.
        advice: how a file names its benchmark, with ``{header}`` or ``{hash}``.
        has_rules: whether some of its faults are errors, for which the file is refused.
        verdicts: family of measures to what is in a judge's place in their signatures, since the
            file brings it.
        base: number by which its answers cite the first passage; None for the benchmark's own.
    """

    rank: int = 50
    advice: str = BY_HEADER
    has_rules: bool = False
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
        return read_answers(path, on_error)

    def looks_like(self, path: Path, start: bytes) -> bool:
        """Whether a file is in this format, by its path and its first bytes."""
        return False

    def list_alike(self, start: bytes) -> tuple[str, ...]:
        """List the formats whose files may begin with these bytes; they differ in later lines."""
        return ()

    def origin(self, path: Path) -> Origin:
        """Read the header of a file; empty for a folder, or without a header.

        Raises:
            InputError: the file cannot be read, or the header is wrong.
        """
        return Origin(read_header(path) or {} if not path.is_dir() else {})

    def claims(self, path: Path) -> Claims:
        """Yield (line, benchmark hashes that it names) for each answer of a file.

        Raises:
            InputError: the file cannot be read.
        """
        from citeforge.evaluator.submissions.origin import claims_in_lines

        return claims_in_lines(path)

    def system_in(self, path: Path) -> str | None:
        """Read the name of a system that a file has outside of a header; None if it has none."""
        return None

    def faults(self, path: Path, benchmark: Benchmark, options: str) -> Iterator[Fault]:
        """Yield breaches of the format's own rules, and counts of what its reader leaves out.

        Args:
            path: of the file.
            benchmark: what it answers.
            options: what follows the colon of ``--format NAME:…``.
        """
        return iter(())


class AlceFormat(Format):
    """Results of ALCE's scripts."""

    def answers(self, path: Path, benchmark: Benchmark, options: str, on_error: OnError) -> Lines:
        """Yield the answers of ALCE's result file."""
        from citeforge.evaluator.submissions.paper_files import read_alce

        return read_alce(path, benchmark)

    def claims(self, path: Path) -> Claims:
        """Yield (number, benchmark hashes that it names) for each item of a JSON document."""
        from citeforge.evaluator.submissions.origin import claims_in_document

        return claims_in_document(path)


class CsvFormat(Format):
    """Tables, whose rows name the benchmark in a column."""

    def claims(self, path: Path) -> Claims:
        """Yield (line, benchmark hashes that it names) for each row of a CSV file."""
        from citeforge.evaluator.submissions.origin import claims_in_csv

        return claims_in_csv(path)


class AttributedIrFormat(CsvFormat):
    """Attributed-IR's CSV."""

    def answers(self, path: Path, benchmark: Benchmark, options: str, on_error: OnError) -> Lines:
        """Yield the answers of Attributed-IR's CSV."""
        from citeforge.evaluator.submissions.paper_files import read_attributed_ir

        return read_attributed_ir(path, benchmark)


class AttrievalFormat(Format):
    """Data sets saved by AttriEval."""

    def answers(self, path: Path, benchmark: Benchmark, options: str, on_error: OnError) -> Lines:
        """Yield the answers of AttriEval's saved data sets."""
        from citeforge.evaluator.submissions.paper_files import read_attrieval

        return read_attrieval(path, benchmark)

    def claims(self, path: Path) -> Claims:
        """Yield (number, benchmark hashes that it names) for each row of saved data sets."""
        from citeforge.evaluator.submissions.paper_files import claims_in_saved

        return claims_in_saved(path)


class KalmaFormat(CsvFormat):
    """KaLMA's CSV, in the order of queries."""

    def answers(self, path: Path, benchmark: Benchmark, options: str, on_error: OnError) -> Lines:
        """Yield the answers of KaLMA's CSV."""
        from citeforge.evaluator.submissions.paper_files import read_kalma_csv

        return read_kalma_csv(path, benchmark)


class RageToolkitFormat(CsvFormat):
    """The CSV of rage_toolkit."""

    def answers(self, path: Path, benchmark: Benchmark, options: str, on_error: OnError) -> Lines:
        """Yield the answers of rage_toolkit's CSV."""
        from citeforge.evaluator.submissions.paper_files import read_rage_toolkit

        return read_rage_toolkit(path, benchmark)


OURS = "citeforge"
JSON_LINES = Format(OURS, "", "citeforge's JSON Lines: query_id and output")
"""citeforge's own format."""
ALCE = AlceFormat(
    "alce", "", "results of ALCE's scripts",
    advice='add "benchmark_hash": "{hash}" beside "data"',
)  # fmt: skip
ATTRIBUTED_IR = AttributedIrFormat(
    "attributed-ir", "", "Attributed-IR's CSV or JSON Lines", advice=BY_COLUMN
)
ATTRIEVAL = AttrievalFormat(
    "attrieval", "", "data sets saved by AttriEval", advice=BY_COLUMN, base=0
)
KALMA = KalmaFormat("kalma", "", "KaLMA's CSV, in the order of queries", advice=BY_COLUMN)
RAGE_TOOLKIT = RageToolkitFormat(
    "rage-toolkit", "", "rage_toolkit's response_info CSV", advice=BY_COLUMN
)
FORMATS: Catalogue[Format, None] = Catalogue(
    "formats",
    "format",
    Format,
    (JSON_LINES, ALCE, ATTRIBUTED_IR, ATTRIEVAL, KALMA, RAGE_TOOLKIT),
)


START = 1 << 16
"""Bytes that tell the format."""

_SCORES = re.compile(rb'\s*\{\s*"scores_version"\s*:')
"""Start of a score file, which no submission has."""


def detect(path: Path) -> Format:
    """Detect the format of a prediction file or folder by its name and first bytes.

    Raises:
        InputError: the file cannot be read, is no submission but something else, or contains
            responses of a vendor, not one per line.
    """
    start = read_format_start(path)
    if path.is_dir():
        refuse_foreign(path, start)
        return ATTRIEVAL
    if _is_csv(path, start):
        _, header = next(read_csv(path), (1, {}))
        if "Answer" in header:
            return KALMA
        return RAGE_TOOLKIT if "answer_citations" in header else ATTRIBUTED_IR
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
        return JSON_LINES  # the usual file, for which no plugin is loaded
    for form in sorted(FORMATS.all().values(), key=lambda form: form.rank):
        if form.looks_like(path, start):
            return form
    refuse_foreign(path, start)
    if first == b"[" or (first == b"{" and b'"data"' in start[:4096] and not is_named):
        return ALCE
    return JSON_LINES


def read_format_start(path: Path) -> bytes:
    """Read a file's first bytes, to detect its format; empty for folders and ``.eval`` archives."""
    return b"" if path.is_dir() or path.suffix == ".eval" else read_start(path, START)


def _is_csv(path: Path, start: bytes) -> bool:
    """Whether a file is CSV, by its name or, for a pipe, by its first bytes."""
    if not is_pipe(path):
        return path.suffix == ".csv"
    return b"," in start and start.lstrip()[:1] not in (b"{", b"[")


class _OurNames(msgspec.Struct):
    """Fields by which an answer in citeforge's own format is recognised."""

    query_id: Any
    output: Any


def _has_our_names(line: bytes) -> bool:
    """Whether a JSON line has the fields of citeforge's own format; True if it is unreadable."""
    try:
        msgspec.json.decode(line, type=_OurNames)
    except msgspec.ValidationError:
        return False
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # the line is cut off, or its reader says what is wrong
    return True


def format_of_file(path: Path, name: str) -> Format:
    """Find a file's format by name; Attributed-IR's JSON Lines are in citeforge's own format.

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

    form = detect(path)
    of_header = form.origin(path).header.get(HASH)
    named = [of_header, *chain.from_iterable(hashes for _, hashes in form.claims(path))]
    return {str(value) for value in named if value is not None}
