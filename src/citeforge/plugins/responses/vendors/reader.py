"""Files of vendors' responses as submissions: one JSON object a line.

A line says which query it answers: ``query_id``, the ``custom_id`` or ``key`` of a batch, or the
question itself. The response stands in ``response``, where batches have it, or is the line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.io.jsonlines import decode_line, raw_lines
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.format import OUTPUT, Lines, OnError
from citeforge.plugins.responses.placing.placer import CitationPlacer, LineFields
from citeforge.plugins.responses.placing.records import Vendor, Wrong
from citeforge.plugins.responses.vendors.anthropic import ANTHROPIC
from citeforge.plugins.responses.vendors.gemini import GEMINI
from citeforge.plugins.responses.vendors.langchain import LANGCHAIN
from citeforge.plugins.responses.vendors.openai import OPENAI
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.submission import SubmissionLine

VENDORS = ANTHROPIC, OPENAI, GEMINI, LANGCHAIN
_PATH = re.compile(r" - at `\$\.?(.*)`$")
_NAMES = ("query_id", "custom_id", "key")
_QUESTIONS = ("question", "input", "query")


def vendor_of(start: bytes) -> str | None:
    """The vendor whose responses a file holds, by its first bytes; None for anything else."""
    line = start.lstrip().partition(b"\n")[0]
    if not line.startswith(b"{"):
        return None
    try:
        row = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        if OUTPUT.search(line):
            return None
        return next((v.name for v in VENDORS if re.search(v.mark, line)), None)
    if not isinstance(row, dict) or isinstance(row.get("output"), str):
        return None
    body = _body(row)
    return next((v.name for v in VENDORS if v.knows(body) or v.knows(row)), None)


def looks_like(vendor: Vendor, path: Path, start: bytes) -> bool:
    """Whether a file holds responses of a vendor, by its first bytes.

    Raises:
        InputError: responses of any vendor, but not one a line.
    """
    _require_lines(path, start)
    return vendor_of(start) == vendor.name


def _require_lines(path: Path, start: bytes) -> None:
    """Refuse responses that are not one a line, by their first bytes.

    Raises:
        InputError: a JSON array of responses, or one over several lines.
    """
    first = start.lstrip()
    is_array = first.startswith(b"[")
    if not is_array and first.partition(b"\n")[0].strip() != b"{":
        return
    vendor = next((v.name for v in VENDORS if re.search(v.mark, first)), None)
    if vendor is not None and b'"docs"' not in first and not OUTPUT.search(first):
        raise InputError(
            f"holds {'an array of ' if is_array else ''}responses of {vendor}, not one a line",
            path=path,
            allowed=f"one JSON object a line: jq -c '{'.[]' if is_array else '.'}' {path.name}",
        )


def _body(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The response of a line: in ``response``, ``response.body`` or ``result.message``."""
    result = row.get("result")
    if isinstance(result, dict) and isinstance(result.get("message"), dict):
        message: dict[str, Any] = result["message"]
        return message
    response = row.get("response")
    if not isinstance(response, dict):
        return row
    body = response.get("body")
    return body if isinstance(body, dict) else response


def read_vendor(
    vendor: Vendor, path: Path, benchmark: Benchmark, way: str, on_error: OnError
) -> Lines:
    """Answers of a file of responses.

    Args:
        vendor: whose responses these are.
        path: JSON Lines, plain or .gz.
        benchmark: what is answered.
        way: how sources are found among the passages shown
            (:data:`citeforge.plugins.responses.placing.matching.WAYS`); empty for the vendor's.
        on_error: told of every wrong line, which is then passed over; None to raise.

    Raises:
        InputError: file, line, field, and what would be right.
        UsageError: sources cannot be found in this way.
    """
    family = vendor.name
    if way == "index" and not vendor.numbered:
        raise UsageError(
            f"--format {family}:{way}: {family}'s sources have no number among the passages "
            f"shown; find them by {family}:id, :title or :url=FIELD"
        )
    reader = _Reader(vendor, CitationPlacer(family, path, benchmark, way or vendor.by))
    decoder = msgspec.json.Decoder(LineFields)
    for number, line in raw_lines(path):
        if not line.strip():
            continue
        try:
            fields = decode_line(path, number, line, decoder, LineFields)
            yield number, reader.line(number, fields, _decoded(path, number, line))
        except InputError as error:
            if on_error is None or error.line is None:
                raise
            on_error(error)


def _decoded(path: Path, number: int, line: bytes) -> dict[str, Any]:
    """All of a line that :func:`decode_line` has read in part.

    Raises:
        InputError: a part that was passed over cannot be read, such as a number of 5,000 digits.
    """
    try:
        row: dict[str, Any] = msgspec.json.decode(line)
        return row
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"cannot be read ({str(error)[:200]})", path=path, line=number) from error


@dataclass
class _Reader:
    vendor: Vendor
    placer: CitationPlacer

    @property
    def path(self) -> Path:
        return self.placer.path

    @cached_property
    def by_text(self) -> dict[str, str]:
        benchmark = self.placer.benchmark
        texts: list[str] = benchmark.queries["text"].to_pylist()
        return dict(zip(texts, benchmark.query_ids, strict=True))

    def line(self, number: int, fields: LineFields, row: dict[str, Any]) -> SubmissionLine:
        """The answer of one line.

        Raises:
            InputError: what is wrong with it.
        """
        query = self._query(number, row)
        self._require_answer(number, row)
        # Documents of LangChain stand beside the answer, not in it.
        body = row if self.vendor.knows(row) else _body(row)
        try:
            response = self.vendor.read(body)
        except Wrong as error:
            raise error.error(self.path, number) from error
        except msgspec.ValidationError as error:
            place = _PATH.search(str(error))
            raise InputError(
                _PATH.sub("", str(error)),
                path=self.path,
                line=number,
                field=place.group(1) if place else None,
                allowed=f"a response of {self.vendor.name}; --format names another format",
            ) from error
        except RecursionError as error:
            raise InputError("is nested too deeply", path=self.path, line=number) from error
        return self.placer.answer(number, query, fields, response)

    def _query(self, number: int, row: Mapping[str, Any]) -> str:
        name = next((row[n] for n in _NAMES if isinstance(row.get(n), str | int)), None)
        if name is not None:
            return str(name)
        question = next((str(row[n]) for n in _QUESTIONS if isinstance(row.get(n), str)), None)
        if question is None:
            raise InputError(
                "does not say which query it answers",
                path=self.path,
                line=number,
                allowed='"query_id" beside "response", the custom_id or key of a batch, or the '
                'text of the question as "question"',
            )
        return self.by_text.get(question, question[:60])

    def _require_answer(self, number: int, row: Mapping[str, Any]) -> None:
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
                path=self.path,
                line=number,
                allowed="send it again, or leave the line out: the answer then counts as missing",
            )
