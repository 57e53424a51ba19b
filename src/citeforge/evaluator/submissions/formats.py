"""Outside prediction files, read as they are: ALCE's, Attributed-IR's, AttriEval's, …"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from citeforge.engines.io.jsonlines import read_start
from citeforge.engines.io.textfiles import read_csv
from citeforge.evaluator.research.reader import read_facts, read_reports, read_verdicts
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.inspect_logs import origin_of_log, read_inspect
from citeforge.evaluator.submissions.origin import Origin
from citeforge.evaluator.submissions.reader import read_answers
from citeforge.evaluator.trec.reports import read_run, track_of
from citeforge.evaluator.vendors.reader import VENDORS, read_vendor, require_lines, vendor_of
from citeforge.ir_convert.alce import passage_id, read_items
from citeforge.ir_convert.saved import read_saved
from citeforge.schemas.errors import InputError, UnknownValueError
from citeforge.schemas.models.choices import FORMATS
from citeforge.schemas.submission import OwnPassage, SubmissionLine
from citeforge.schemas.trec import BY_FORMAT

START = 1 << 16
"""Bytes that tell the format."""

NAMED = ("citeforge", "inspect")
"""Formats that can name the build of the benchmark by its hash."""

Lines = Iterator[tuple[int, SubmissionLine]]
T = TypeVar("T")
OnError = Callable[[InputError], None] | None


def detect(path: Path, start: bytes | None = None) -> str:
    """The format of a prediction file, by what it looks like; stated with the scores.

    Args:
        path: file or folder.
        start: its first ``START`` bytes; None to read them.

    Raises:
        InputError: the file cannot be read, or holds responses of a vendor, not one a line.
    """
    if path.is_dir():
        return "attrieval"
    if path.suffix == ".csv":
        _, header = next(read_csv(path), (1, {}))
        if "Answer" in header:
            return "kalma"
        return "rage-toolkit" if "answer_citations" in header else "attributed-ir"
    if path.suffix == ".eval":
        return "inspect"
    if start is None:
        start = read_start(path, START)
    if start.lstrip()[:1] == b"{" and _is_inspect_json(start[:4096]):
        return "inspect"
    first = start.lstrip()[:1]
    line = start.split(b"\n", 1)[0]
    if b'"query_id"' not in line and (track := track_of(line)) is not None:
        return track
    vendor = vendor_of(start)
    if vendor is not None:
        return vendor
    require_lines(path, start)
    if first == b"[" or (first == b"{" and b'"data"' in start[:4096] and b'"query_id"' not in line):
        return "alce"
    return "citeforge"


def _is_inspect_json(start: bytes) -> bool:
    """Whether a file begins as logs of inspect_ai do that are written as JSON."""
    return all(name in start for name in (b'"version"', b'"status"', b'"eval"', b'"task"'))


def origin_of(path: Path, form: str) -> Origin:
    """What a file of a format of others says of itself; nothing, for most formats.

    Raises:
        InputError: it cannot be read.
    """
    return origin_of_log(path) if form.partition(":")[0] == "inspect" else Origin()


def answers_of(
    path: Path, benchmark: Benchmark, name: str = "auto", on_error: OnError = None
) -> Lines:
    """(line, answer) of a prediction file in any known format.

    Args:
        path: file, or folder for ``attrieval``.
        benchmark: what it answers; questions without an id are found in it by their text.
        name: format, or ``auto``; a vendor's may say how sources are found (``openai:id``).
        on_error: for our own format, vendors' and TREC's, told of every unreadable line.

    Raises:
        UnknownValueError: no such format.
        InputError: file, line or item, and what is wrong.
    """
    chosen = detect(path) if name == "auto" else name
    if chosen == "citeforge" or (chosen == "attributed-ir" and path.suffix != ".csv"):
        return read_answers(path, on_error)
    known = {format.name: format for format in FORMATS}
    base, *way = chosen.split(":", 1)
    if base in VENDORS:
        return read_vendor(chosen, path, benchmark, on_error)
    if chosen in BY_FORMAT:
        return read_run(chosen, path, benchmark, on_error)
    if chosen not in known and base != "inspect":
        raise UnknownValueError("format", chosen, known)
    return _READERS[base](path, benchmark, *way)


def _ids_by_text(benchmark: Benchmark) -> dict[str, str]:
    texts: list[str] = benchmark.queries["text"].to_pylist()
    return dict(zip(texts, benchmark.query_ids, strict=True))


def _find(name: str | None, text: str, benchmark: Benchmark, by_text: dict[str, str]) -> str:
    """Query id of an item: its own when the benchmark knows it, else by the question's text."""
    if name is not None and name in benchmark.row_of:
        return name
    return by_text.get(text, name or text[:60])


def read_alce(path: Path, benchmark: Benchmark) -> Lines:
    """A result file of ALCE: an object with ``data``, or a list; passages are the item's docs."""
    by_text = _ids_by_text(benchmark)
    for number, item in enumerate(read_items(path), 1):
        if item.output is None:
            raise InputError("has no output", path=path, field=f"item {number}")
        passages = [OwnPassage(d.text, passage_id(d), d.title) for d in item.docs]
        query = _find(item.query_id, item.question, benchmark, by_text)
        yield number, SubmissionLine(query, item.output, passages=passages)


class _Quote(msgspec.Struct):
    """A passage of Attributed-IR's ``quotes``; further fields are not needed here."""

    text: str
    docid: str | int | None = None
    title: str | None = None


def _literal(path: Path, line: int, field: str, text: str, kind: type[T]) -> T:
    """A cell that holds a Python literal, in its declared type."""
    try:
        value = msgspec.convert(ast.literal_eval(text), kind)
        msgspec.json.encode(value)  # refuses halves of surrogate pairs, as UTF-8 does
        return value
    except msgspec.ValidationError as error:
        raise InputError(str(error), path=path, line=line, field=field) from error
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise InputError("is not a Python literal", path=path, line=line, field=field) from error


def read_attributed_ir(path: Path, benchmark: Benchmark) -> Lines:
    """Attributed-IR's CSV: ``quotes`` are the passages shown, Python literals in the cells."""
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
    """rage_toolkit's ``…_response_info_….csv``, with the passages that it drew itself."""
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
            )
        passages = [OwnPassage(t, i) for i, t in zip(ids, texts, strict=True)]
        yield line, SubmissionLine(row["query_id"], row["answer"], passages=passages)


def read_kalma_csv(path: Path, benchmark: Benchmark) -> Lines:
    """KaLMA's CSV: column ``Answer``, one row a query in the order of the benchmark."""
    for number, (line, row) in enumerate(read_csv(path, ("Answer",))):
        if number >= len(benchmark.query_ids):
            raise InputError(
                f"has more rows than the benchmark has queries ({len(benchmark.query_ids)})",
                path=path,
                line=line,
            )
        yield line, SubmissionLine(benchmark.query_ids[number], row["Answer"] or "")


class _SavedPassages(msgspec.Struct):
    passage_text: list[str]


class _SavedAnswer(msgspec.Struct):
    """A row of AttriEval's outputs; further fields are not needed here."""

    query: str
    passages: _SavedPassages
    rag_raw_answer: str
    query_id: str | int | None = None


def read_attrieval(path: Path, benchmark: Benchmark) -> Lines:
    """AttriEval's saved ``datasets.Dataset``; markers count from 0, as its prompts do.

    On an authorship benchmark: its outputs cell by cell, see
    :func:`citeforge.evaluator.measures.authorship.attrieval.read_cells`; its kind names it.
    """
    own = benchmark.kind.saved_answers(path, benchmark)
    if own is not None:
        yield from own
        return
    by_text = _ids_by_text(benchmark)
    for number, row in read_saved(path, _SavedAnswer):
        passages = [OwnPassage(text) for text in row.passages.passage_text]
        name = None if row.query_id is None else str(row.query_id)
        query = _find(name, row.query, benchmark, by_text)
        yield number, SubmissionLine(query, row.rag_raw_answer, passages=passages)


def read_own(path: Path, benchmark: Benchmark) -> Lines:
    """Our submissions."""
    yield from read_answers(path)


_READERS: dict[str, Callable[..., Lines]] = {
    "alce": read_alce,
    "attributed-ir": read_attributed_ir,
    "attrieval": read_attrieval,
    "inspect": read_inspect,
    "kalma": read_kalma_csv,
    "rage-toolkit": read_rage_toolkit,
    "deep-research": read_reports,
    "deep-research-facts": read_facts,
    "deep-research-verdicts": read_verdicts,
    "citeforge": read_own,
}
"""Formats of whole files; vendors' and TREC's are read by families of their own."""
