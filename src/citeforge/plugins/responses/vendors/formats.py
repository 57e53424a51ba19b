"""Formats of vendors' responses."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.format import Format, Lines, OnError
from citeforge.plugins.responses.vendors.reader import read_vendor, require_lines, vendor_of


def _looks(vendor: str, path: Path, start: bytes) -> bool:
    require_lines(path, start)
    return vendor_of(start) == vendor


def _read(vendor: str, path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    return read_vendor(vendor, way, path, benchmark, on_error)


def _format(vendor: str, rank: int) -> Format:
    return Format(vendor, partial(_read, vendor), looks=partial(_looks, vendor), rank=rank)


ANTHROPIC = _format("anthropic", 30)
OPENAI = _format("openai", 31)
GEMINI = _format("gemini", 32)
LANGCHAIN = _format("langchain", 33)
