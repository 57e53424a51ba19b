"""Prediction files that the papers' own code writes."""

import ast
from pathlib import Path
from typing import TypeVar

import msgspec

from citeforge.engines.textfiles import read_csv
from citeforge.evaluator.submissions.attrieval import list_folders, read_cells
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.origin import Claims
from citeforge.evaluator.submissions.query_finder import QueryFinder
from citeforge.ir_convert.alce import passage_id, read_items
from citeforge.ir_convert.attrieval import read_saved
from citeforge.schemas.errors import InputError
from citeforge.schemas.submission import Lines, OwnPassage, SubmissionLine

T = TypeVar("T")


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
    if "cells" in benchmark.kind.facts.readings:
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


def claims_in_saved(path: Path) -> Claims:
    """Yield (row number, its benchmark hash in a list, if any) of data sets saved by AttriEval.

    Raises:
        InputError: the folder cannot be read.
    """
    for folder in list_folders(path):
        for number, row in read_saved(folder, _SavedHash):
            yield number, [] if row.benchmark_hash is None else [row.benchmark_hash]
