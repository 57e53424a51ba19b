"""The format of inspect_ai's logs."""

from __future__ import annotations

from pathlib import Path

from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.format import Format, Lines, OnError
from citeforge.plugins.responses.inspect_logs.logs import origin_of_log, read_inspect


def _looks(path: Path, start: bytes) -> bool:
    """Whether a file has the suffix of a log, or begins as one that is written as JSON."""
    if path.suffix == ".eval":
        return True
    names = (b'"version"', b'"status"', b'"eval"', b'"task"')
    return start.lstrip()[:1] == b"{" and all(name in start[:4096] for name in names)


def _read(path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    return read_inspect(path, benchmark, way)


INSPECT = Format("inspect", _read, _looks, rank=10, origin=origin_of_log)
