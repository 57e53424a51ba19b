"""Submissions of any format, written in ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.io.files import atomic_file
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.index import Submission
from citeforge.schemas.errors import UsageError
from citeforge.schemas.submission import SubmissionLine, make_header

_DEFAULTS = {"run": 0, "title": "", "url": "", "source": ""}
_NEEDED = ("passage",)  # None says something


def convert(path: Path, benchmark: Benchmark, out: Path, file_format: str = "auto") -> int:
    """Write the answers of a file in our format, under the hash of the benchmark.

    Args:
        path: submission in any format.
        benchmark: what it answers.
        out: file to write, atomically.
        file_format: its format.

    Returns:
        Number of answers.

    Raises:
        UsageError: ``out`` is the submission, or its marks count from another number.
        InputError: an unreadable line.
    """
    if os.path.realpath(out) == os.path.realpath(path):
        raise UsageError(f"--out {out}: is the submission; name another file")
    submission = Submission(path, benchmark, file_format)
    if submission.form == "attrieval":
        raise UsageError(
            f"--out {out}: marks of AttriEval count from 0, those of our format from "
            f"{benchmark.grammar.base}; score the folder as it is"
        )
    manifest = benchmark.manifest
    ours = ("system", "contexts", "benchmark", "benchmark_hash")
    more = {k: v for k, v in submission.header.items() if k not in ours}
    if submission.form != "citeforge":
        more["read_as"] = submission.form
    header = make_header(submission.system, manifest.name, manifest.benchmark_hash, [], **more)
    n_written = 0
    with atomic_file(out) as file:
        file.write(msgspec.json.encode(header) + b"\n")
        for _, answer in submission.answers():
            file.write(encode_line(answer) + b"\n")
            n_written += 1
    return n_written


def encode_line(answer: SubmissionLine) -> bytes:
    """An answer as a line of a submission, without what it does not say."""
    return msgspec.json.encode(_without_defaults(msgspec.to_builtins(answer)))


def _without_defaults(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_defaults(v) for v in value]
    if not isinstance(value, dict):
        return value
    return {
        k: v if k == "meta" else _without_defaults(v)
        for k, v in value.items()
        if (v is not None or k in _NEEDED) and not (k in _DEFAULTS and v == _DEFAULTS[k])
    }
