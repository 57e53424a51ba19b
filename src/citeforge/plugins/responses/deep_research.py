"""Formats of DeepResearch Bench: rows, whose code is imported when a file is read."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from citeforge.evaluator.submissions.formats import OUTPUT, Format, OnError
from citeforge.schemas.submission import Lines

if TYPE_CHECKING:
    from citeforge.evaluator.submissions.benchmark import Benchmark

_ARTICLE = re.compile(rb'"article"\s*:\s*"')


def _looks_like_reports(path: Path, start: bytes) -> bool:
    """Whether a file's first line looks like a report of DeepResearch Bench, by its first bytes."""
    line = start.lstrip().partition(b"\n")[0]
    names = _ARTICLE.search(line) is not None and b'"id"' in line
    return line.startswith(b"{") and names and not OUTPUT.search(line)


def _read(
    path: Path, benchmark: Benchmark, way: str, on_error: OnError,
    with_facts: bool = False, with_verdicts: bool = False,
) -> Lines:  # fmt: skip
    """Read a file of reports; ``partial`` chooses what is read of the facts in it.

    Args:
        path: the file.
        benchmark: what is answered.
        way: ignored: the format has no option.
        on_error: ignored: a wrong line ends the reading.
        with_facts: whether to read the facts that an LLM found.
        with_verdicts: whether to read the verdicts on them, too.
    """
    from citeforge.plugins.responses.research_files import read_reports

    return read_reports(path, benchmark, with_facts, with_verdicts)


REPORTS = Format(
    "deep-research", "", "reports that cite URLs, as DeepResearch Bench has them", _read,
    _looks_like_reports, rank=25,
)  # fmt: skip
FACTS = Format(
    "deep-research-facts", "", "such reports, with the facts that an LLM found in them",
    partial(_read, with_facts=True), verdicts={"fact": "facts:file"},
)  # fmt: skip
VERDICTS = Format(
    "deep-research-verdicts",
    "",
    "such reports, with a verdict on each fact",
    partial(_read, with_facts=True, with_verdicts=True),
    verdicts={"fact": "verdicts:file"},
)
