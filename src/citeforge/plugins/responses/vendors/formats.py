"""Formats of vendors' responses."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from citeforge.evaluator.submissions.format import Format
from citeforge.plugins.responses.vendors.reader import (
    VENDORS,
    read_vendor,
    require_lines,
    vendor_of,
)


def _looks(vendor: str, path: Path, start: bytes) -> bool:
    require_lines(path, start)
    return vendor_of(start) == vendor


ANTHROPIC, OPENAI, GEMINI, LANGCHAIN = (
    Format(v.name, partial(read_vendor, v), looks=partial(_looks, v.name), rank=rank)
    for rank, v in enumerate(VENDORS, 30)
)
