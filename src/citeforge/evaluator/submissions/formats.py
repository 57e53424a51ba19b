"""Formats of prediction files: which one a file has, and the hashes of benchmarks that it names."""

import re
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.jsonlines import read_start
from citeforge.engines.pipes import is_pipe
from citeforge.engines.textfiles import read_csv
from citeforge.evaluator.submissions.format import OUTPUT, Format
from citeforge.evaluator.submissions.names import FORMATS, OURS
from citeforge.evaluator.submissions.origin import HASH
from citeforge.evaluator.submissions.reader import HEADER
from citeforge.schemas.errors import InputError, UsageError

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
    word, _, options = name.partition(":")
    form = FORMATS.get(word)
    if options and not form.argument:
        raise UsageError(f"--format {name}: expected {word} alone", code="bad-option")
    if word == "attributed-ir" and not _is_csv(path, read_format_start(path)):
        return FORMATS.get(OURS)
    return form


def named_hashes(path: Path) -> set[str]:
    """List the hashes of benchmarks that header and answers of a prediction file name.

    Raises:
        InputError: the file cannot be read.
    """
    form = format_of_file(path, detect(path))
    of_header = form.origin(path).header.get(HASH)
    named = [of_header, *chain.from_iterable(hashes for _, hashes in form.claims(path))]
    return {str(value) for value in named if value is not None}
