"""Which build of a benchmark a submission answers, by the hashes that its file names."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.files import parse_json
from citeforge.engines.jsonlines import raw_lines, read_all
from citeforge.engines.textfiles import read_csv
from citeforge.evaluator.submissions.benchmark import Benchmark, short_hash
from citeforge.schemas.errors import InputError
from citeforge.schemas.submission import HEADER

HASH = "benchmark_hash"
Claims = Iterator[tuple[int, list[object]]]
"""For each answer of a file: (its line or number, the benchmark hashes in it)."""
_NAME = re.compile(r"benchmark_?[hH]ash")
_WRITTEN = re.compile(_NAME.pattern.encode())
"""Its literal beginning makes this search several times as fast as one that ignores case."""
_METADATA = frozenset(("metadata", "meta", "attributes", "extra", "tags"))
"""Fields in which tools keep what the caller said of a request, some as the text of an object."""


def find_hashes(value: object) -> list[object]:
    """List the benchmark hashes that a JSON value names in fields, at any depth.

    Names may be dotted (``metadata.benchmark_hash``), in camel case, or those of OpenTelemetry's
    attributes. Metadata that are the text of an object are read; other texts are not, because a
    model or a passage may contain anything.
    """
    found: list[object] = []
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, list):
            waiting += reversed(inner)
        elif isinstance(inner, dict):
            for name, one in reversed(_fields(inner).items()):
                last = str(name).rpartition(".")[2]
                if _NAME.fullmatch(last):
                    found += [] if one is None else [one]
                elif isinstance(one, str) and last in _METADATA:
                    waiting.append(_parse_object(one))
                elif isinstance(one, dict | list):
                    waiting.append(one)
    return found


def _fields(value: dict[str, Any]) -> dict[str, Any]:
    """Get a JSON object's fields; an OpenTelemetry key-value attribute becomes one field."""
    name, content = value.get("key"), value.get("value")
    if not isinstance(name, str) or not isinstance(content, dict):
        return value
    return {name: next(iter(content.values()), None)}


def _parse_object(text: str) -> object:
    """Parse a text that is a JSON object; None for any other text."""
    try:
        return json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None  # a text like any other


def hashes_in_json(content: bytes) -> list[object]:
    """List the benchmark hashes in a JSON document; none if it is no JSON."""
    if not _WRITTEN.search(content):
        return []
    try:
        return find_hashes(msgspec.json.decode(content))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return []


def claims_in_lines(path: Path) -> Claims:
    """Yield (line number, benchmark hashes in it) of a JSON Lines file, without its header.

    Raises:
        InputError: the file cannot be read.
    """
    for number, line in raw_lines(path, on_error=lambda _: None):  # who reads the answers tells
        if line.strip() and not (number == 1 and HEADER.match(line)):
            yield number, hashes_in_json(line)


def claims_in_csv(path: Path) -> Claims:
    """Yield (line, benchmark hashes) of each CSV row, from its column ``benchmark_hash``.

    Raises:
        InputError: the file cannot be read.
    """
    for line, row in read_csv(path):
        yield line, [row[HASH]] if row.get(HASH) else []


def claims_in_document(path: Path) -> Claims:
    """Yield (number, benchmark hashes) of each item in a JSON document, with the document's.

    Raises:
        InputError: the file cannot be read.
    """
    content = read_all(path)
    if not _WRITTEN.search(content):
        yield 1, []
        return
    value, of_file = parse_json(content, path), list[object]()
    if isinstance(value, dict):
        of_file = find_hashes({k: v for k, v in value.items() if k != "data"})
        value = value.get("data")
    for number, item in enumerate(value if isinstance(value, list) else [None], 1):
        yield number, of_file + find_hashes(item)


def require_build(
    path: Path, benchmark: Benchmark, header: Mapping[str, object],
    claims: Iterable[tuple[int, list[object]]],
) -> bool:  # fmt: skip
    """Whether a submission names this build in its header or every answer; refuse other builds.

    Returns:
        Whether it names this one: in its header, or in every answer.

    Args:
        path: submission.
        benchmark: what it is scored against.
        header: fields of its header; empty without one.
        claims: hashes that its answers name.

    Raises:
        InputError: header or answers name another build, or several.
    """
    here, known = benchmark.manifest.answer_hash, benchmark.known_hashes
    of_header = header.get(HASH)
    first_lines: dict[str, int] = {}
    n_nameless = n_answers = 0
    for line, hashes in chain([] if of_header is None else [(1, [of_header])], claims):
        n_answers += 1
        n_nameless += not hashes
        for named in hashes:
            name = here if named in known else str(named)
            first_lines.setdefault(name, line)
    others = [name for name in first_lines if name != here]
    if not others:
        return of_header is not None or 0 == n_nameless < n_answers
    if len(first_lines) == 1:
        benchmark.require_hash(others[0], path, first_lines[others[0]])
    (one, at), (two, then), *_ = first_lines.items()
    raise InputError(
        f"names several builds of the benchmark: line {at} the hash {short_hash(one)}, line {then} "
        f"{short_hash(two)}; expected {short_hash(here)} alone",
        path=path, line=then, field=HASH, allowed="one file for each build", code="wrong-benchmark",
    )  # fmt: skip
