"""Declaration of a format of prediction files: one record per format, built-in or a plugin's.

A plugin declares a :class:`Format` as an entry point of the group ``citeforge.formats``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from citeforge.evaluator.submissions.finding import Finding
from citeforge.schemas.catalogue import Row
from citeforge.schemas.errors import InputError

if TYPE_CHECKING:
    from citeforge.evaluator.submissions.benchmark import Benchmark
    from citeforge.evaluator.submissions.origin import Claims
    from citeforge.schemas.submission import SubmissionLine

Lines = Iterator[tuple[int, "SubmissionLine"]]
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


def origin_of_lines(path: Path) -> Origin:
    """Read the header of a JSON Lines file; a file or folder of another kind has none.

    Raises:
        InputError: the file cannot be read, or the header is wrong.
    """
    from citeforge.evaluator.submissions.reader import read_header

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
            ``--format NAME:…``, handler of unreadable lines). Raises InputError.
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

    read: Callable[[Path, Benchmark, str, OnError], Lines]
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
