"""Formats of prediction files, read as they are: citeforge's own, ALCE's, AttriEval's, …"""

import ast
import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from citeforge.engines.catalogue import Catalogue
from citeforge.engines.jsonlines import read_start
from citeforge.engines.pipes import is_pipe
from citeforge.engines.textfiles import read_csv
from citeforge.evaluator.submissions.attrieval import list_folders, read_cells
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.format import BY_COLUMN, OUTPUT, Format, Lines
from citeforge.evaluator.submissions.origin import (
    HASH,
    Claims,
    claims_in_csv,
    claims_in_document,
)
from citeforge.evaluator.submissions.query_finder import QueryFinder
from citeforge.evaluator.submissions.reader import HEADER, read_answers
from citeforge.ir_convert.alce import passage_id, read_items
from citeforge.ir_convert.attrieval import read_saved
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.submission import OwnPassage, SubmissionLine

START = 1 << 16
"""Bytes that tell the format."""

OURS = "citeforge"
_SCORES = re.compile(rb'\s*\{\s*"scores_version"\s*:')
"""Start of a score file, which no submission has."""
T = TypeVar("T")


def detect(path: Path) -> str:
    """Detect the format of a prediction file or folder by its name and first bytes.

    Raises:
        InputError: the file cannot be read, is a score file, or holds responses of a vendor, not
            one a line.
    """
    if path.is_dir():
        return "attrieval"
    start = b"" if path.is_dir() or path.suffix == ".eval" else read_start(path, START)
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
    """Whether a JSON line has the fields of citeforge's own format; true if the line is cut off."""
    try:
        msgspec.json.decode(line, type=_OurNames)
    except msgspec.ValidationError:
        return False
    except (msgspec.DecodeError, RecursionError):
        pass
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
    if word == "attributed-ir" and not _is_csv(path, read_start(path, START)):
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


def read_alce(path: Path, benchmark: Benchmark) -> Lines:
    """Read ALCE's result file: an object with ``data``, or a list; docs become passages."""
    queries = QueryFinder(benchmark)
    for number, item in enumerate(read_items(path), 1):
        if item.output is None:
            raise InputError(
                "has no output", path=path, field=f"item {number}", code="missing-field"
            )
        passages = [OwnPassage(d.text, passage_id(d), d.title) for d in item.docs]
        query = queries.find_id(item.query_id, item.question)
        yield number, SubmissionLine(query, item.output, passages=passages)


class _Quote(msgspec.Struct):
    """A passage of Attributed-IR's ``quotes``; further fields are not needed here."""

    text: str
    docid: str | int | None = None
    title: str | None = None


def _literal(path: Path, line: int, field: str, text: str, kind: type[T]) -> T:
    """Parse the Python literal in a CSV cell as a value of type ``kind``."""
    try:
        value = msgspec.convert(ast.literal_eval(text), kind)
        msgspec.json.encode(value)  # refuses halves of surrogate pairs, as UTF-8 does
        return value
    except msgspec.ValidationError as error:
        raise InputError(
            str(error), path=path, line=line, field=field, code="wrong-type"
        ) from error
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise InputError(
            "is not a Python literal", path=path, line=line, field=field, code="wrong-value"
        ) from error


def read_attributed_ir(path: Path, benchmark: Benchmark) -> Lines:
    """Read Attributed-IR's CSV: ``quotes`` are the passages shown, as Python literals."""
    for line, row in read_csv(path, ("query_id", "output")):
        passages = None
        if row.get("quotes"):
            quotes = _literal(path, line, "quotes", row["quotes"], list[_Quote])
            passages = [
                OwnPassage(q.text, None if q.docid is None else str(q.docid), q.title or "")
                for q in quotes
            ]
        yield line, SubmissionLine(row["query_id"], row["output"], passages=passages)


def read_rage_toolkit(path: Path, benchmark: Benchmark) -> Lines:
    """Read rage_toolkit's ``…_response_info_….csv``, with the passages that it drew itself."""
    needed = ("query_id", "answer", "doc_ids", "docs_for_query")
    for line, row in read_csv(path, needed):
        ids = _literal(path, line, "doc_ids", row["doc_ids"], list[str])
        texts = _literal(path, line, "docs_for_query", row["docs_for_query"], list[str])
        if len(ids) != len(texts):
            raise InputError(
                f"has {len(texts)} passages, and doc_ids {len(ids)}",
                path=path,
                line=line,
                field="docs_for_query",
                allowed="one text for each id",
                code="wrong-value",
            )
        passages = [OwnPassage(t, i) for i, t in zip(ids, texts, strict=True)]
        yield line, SubmissionLine(row["query_id"], row["answer"], passages=passages)


def read_kalma_csv(path: Path, benchmark: Benchmark) -> Lines:
    """Read KaLMA's CSV: column ``Answer``, one row per query in the order of the benchmark."""
    for number, (line, row) in enumerate(read_csv(path, ("Answer",))):
        if number >= len(benchmark.query_ids):
            raise InputError(
                f"has more rows than the benchmark has queries ({len(benchmark.query_ids)})",
                path=path,
                line=line,
                code="too-large",
            )
        yield line, SubmissionLine(benchmark.query_ids[number], row["Answer"] or "")


class _SavedPassages(msgspec.Struct):
    """Passages of a row of AttriEval's outputs."""

    passage_text: list[str]


class _SavedAnswer(msgspec.Struct):
    """A row of AttriEval's outputs; further fields are not needed here."""

    query: str
    passages: _SavedPassages
    rag_raw_answer: str
    query_id: str | int | None = None


def read_attrieval(path: Path, benchmark: Benchmark) -> Lines:
    """Read AttriEval's saved ``datasets.Dataset``; its markers count passages from 0.

    On an authorship benchmark: its outputs cell by cell, see :func:`read_cells`.
    """
    if "cells" in benchmark.kind.readings:
        yield from read_cells(path, benchmark)
        return
    queries = QueryFinder(benchmark)
    for number, row in read_saved(path, _SavedAnswer):
        passages = [OwnPassage(text) for text in row.passages.passage_text]
        query = queries.find_id(row.query_id, row.query)
        yield number, SubmissionLine(query, row.rag_raw_answer, passages=passages)


class _SavedHash(msgspec.Struct):
    """The column of AttriEval's outputs that names a benchmark, which may be missing."""

    benchmark_hash: str | None = None


def _claims_in_saved(path: Path) -> Claims:
    """Yield the hash in the column ``benchmark_hash`` of each row of saved data sets.

    Raises:
        InputError: the folder cannot be read.
    """
    for folder in list_folders(path):
        for number, row in read_saved(folder, _SavedHash):
            yield number, [] if row.benchmark_hash is None else [row.benchmark_hash]


def _declare_format(
    name: str, about: str, read: Callable[[Path, Benchmark], Lines],
    claims: Callable[[Path], Claims], advice: str = BY_COLUMN, base: int | None = None,
) -> Format:  # fmt: skip
    """Declare a format that takes no options and stops at the first unreadable line."""
    return Format(
        name,
        "",
        about,
        lambda path, benchmark, way, on_error: read(path, benchmark),
        claims=claims,
        advice=advice,
        base=base,
    )


FORMATS = Catalogue(
    "formats",
    "format",
    Format,
    (
        Format(
            OURS,
            "",
            "citeforge's JSON Lines: query_id and output",
            lambda path, benchmark, way, on_error: read_answers(path, on_error),
        ),
        _declare_format(
            "alce", "results of ALCE's scripts", read_alce, claims_in_document,
            f'add "{HASH}": "{{hash}}" beside "data"',
        ),
        _declare_format(
            "attributed-ir", "Attributed-IR's CSV or JSON Lines", read_attributed_ir, claims_in_csv
        ),
        _declare_format(
            "attrieval", "data sets saved by AttriEval", read_attrieval, _claims_in_saved, base=0
        ),
        _declare_format("kalma", "KaLMA's CSV, in the order of queries", read_kalma_csv,
                        claims_in_csv),
        _declare_format(
            "rage-toolkit", "rage_toolkit's response_info CSV", read_rage_toolkit, claims_in_csv
        ),
    ),
)  # fmt: skip
"""Formats of the papers, and citeforge's own; all others come with plugins."""
