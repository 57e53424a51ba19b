"""Formats of DeepResearch Bench: reports, with another run's facts, with its verdicts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.format import Format, Lines, OnError
from citeforge.plugins.responses.deep_research.reader import (
    looks_like_reports,
    read_deep_research,
    read_facts,
    read_verdicts,
)


def _read(
    read: Callable[[Path, Benchmark], Lines],
    path: Path, benchmark: Benchmark, way: str, on_error: OnError,
) -> Lines:  # fmt: skip
    return read(path, benchmark)


REPORTS = Format("deep-research", partial(_read, read_deep_research), looks_like_reports, rank=25)
FACTS = Format("deep-research-facts", partial(_read, read_facts), verdicts={"FACT.": "facts:file"})
VERDICTS = Format(
    "deep-research-verdicts", partial(_read, read_verdicts), verdicts={"FACT.": "verdicts:file"}
)
