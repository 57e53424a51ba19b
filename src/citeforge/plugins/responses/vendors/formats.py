"""Formats of vendors' responses."""

from __future__ import annotations

from functools import partial

from citeforge.evaluator.submissions.format import Format
from citeforge.plugins.responses.vendors.reader import VENDORS, looks_like, read_vendor

ANTHROPIC, OPENAI, GEMINI, LANGCHAIN = (
    Format(v.name, partial(read_vendor, v), looks=partial(looks_like, v), rank=rank)
    for rank, v in enumerate(VENDORS, 30)
)
