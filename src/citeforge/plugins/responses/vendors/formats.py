"""Files of vendors' responses as submissions: one JSON object a line.

A line says which query it answers: ``query_id``, the ``custom_id`` or ``key`` of a batch, or the
question itself. The response stands in ``response``, where batches have it, or is the line.
"""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.io.jsonlines import read_rows
from citeforge.evaluator.submissions.benchmark import Benchmark, QueryFinder
from citeforge.evaluator.submissions.format import OUTPUT, Format, Lines, OnError
from citeforge.plugins.responses.placing.placer import CitationPlacer, LineFields
from citeforge.plugins.responses.placing.records import Vendor, errors_at
from citeforge.plugins.responses.vendors import anthropic, gemini, langchain, openai
from citeforge.schemas.errors import InputError, UsageError

VENDORS = anthropic.ANTHROPIC, openai.OPENAI, gemini.GEMINI, langchain.LANGCHAIN
_ROW: Any = dict[str, Any]
_NAMES = ("query_id", "custom_id", "key")
_QUESTIONS = ("question", "input", "query")


def _looks_like(vendor: Vendor, path: Path, start: bytes) -> bool:
    """Whether the first line of a file is a response of a vendor.

    Raises:
        InputError: responses of any vendor, but not one a line.
    """
    start = start.lstrip()
    line = start.partition(b"\n")[0].strip()
    is_array = start.startswith(b"[")
    is_in_lines = line != b"{" and not is_array
    part = line if is_in_lines else start
    if not part.startswith((b"{", b"[")) or OUTPUT.search(part):
        return False
    owner = next((v for v in VENDORS if re.search(v.mark, part)), None)
    if owner is None or is_in_lines or b'"docs"' in start:
        return owner is vendor and is_in_lines
    raise InputError(
        f"contains {'an array of ' if is_array else ''}responses of {owner.name}, not one per line",
        path=path,
        allowed=f"one JSON object per line: jq -c '{'.[]' if is_array else '.'}' {path.name}",
        code="bad-json",
    )


def _read(vendor: Vendor, path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    """Answers of a file of responses.

    Args:
        vendor: whose responses these are.
        path: JSON Lines, plain or .gz.
        benchmark: what is answered.
        way: how sources are found among the passages shown
            (:data:`citeforge.plugins.responses.placing.placer.WAYS`); empty for the vendor's.
        on_error: told of every wrong line, which is then passed over; None to raise.

    Raises:
        InputError: file, line, field, and what would be right.
        UsageError: sources cannot be found in this way.
    """
    name = vendor.name
    if way == "index" and not vendor.numbered:
        raise UsageError(
            f"--format {name}:{way}: {name}'s sources have no number among the passages "
            f"shown; find them by {name}:id, :title or :url=FIELD",
            code="unsupported",
        )
    placer = CitationPlacer(name, benchmark, way or vendor.by)
    queries = QueryFinder(benchmark)
    allowed = f"a response of {name}; --format names another format"
    for number, row in read_rows(path, _ROW, on_error=on_error):
        try:
            with errors_at(path, number, allowed):
                query = _query(row, queries)
                _require_answer(row)
                fields = msgspec.convert(row, LineFields)
                answer = placer.answer(query, fields, vendor.read(_body(row)))
        except InputError as error:
            if on_error is None or error.line is None:
                raise
            on_error(error)
        else:
            yield number, answer


def _query(row: Mapping[str, Any], queries: QueryFinder) -> str:
    name = next((row[n] for n in _NAMES if isinstance(row.get(n), str | int)), None)
    question = next((str(row[n]) for n in _QUESTIONS if isinstance(row.get(n), str)), None)
    if name is None and question is None:
        raise InputError(
            "names no query",
            allowed='"query_id" beside "response", the custom_id or key of a batch, or the '
            'text of the question as "question"',
            code="missing-field",
        )
    # A wrong id is told of, also where the question is known.
    return queries.of(name, question or "" if name is None else "")


def _require_answer(row: Mapping[str, Any]) -> None:
    """Refuse the line of a request that failed.

    Raises:
        InputError: says why it failed.
    """
    result, response = row.get("result"), row.get("response")
    why = row.get("error")
    if isinstance(result, dict) and result.get("type") in ("errored", "canceled", "expired"):
        why = result.get("error") or result["type"]
    elif isinstance(response, dict) and isinstance(status := response.get("status_code"), int):
        why = why or (f"status {status}" if status >= 400 else None)
    if why:
        raise InputError(
            f"is a request that failed ({str(why)[:120]})",
            allowed="send it again, or leave the line out: the answer then counts as missing",
            code="endpoint-failed",
        )


def _body(row: Mapping[str, Any]) -> Any:
    """The response of a line: in ``response``, ``response.body`` or ``result.message``."""
    if any(isinstance(row.get(name), list) for name in langchain.DOCUMENTS):
        return row  # they stand beside the answer, not in it
    result, response = row.get("result"), row.get("response")
    if isinstance(result, dict) and isinstance(result.get("message"), dict):
        return result["message"]
    if not isinstance(response, dict):
        return row
    return response["body"] if isinstance(response.get("body"), dict) else response


ANTHROPIC, OPENAI, GEMINI, LANGCHAIN = (
    Format(v.name, partial(_read, v), looks=partial(_looks_like, v), rank=rank)
    for rank, v in enumerate(VENDORS, 30)
)
