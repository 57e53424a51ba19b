"""Formats of DeepResearch Bench: rows, whose code is imported when a file is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from citeforge.evaluator.submissions.formats import OUTPUT, Format, OnError
from citeforge.schemas.submission import Lines

if TYPE_CHECKING:
    from citeforge.evaluator.submissions.benchmark import Benchmark

_ARTICLE = re.compile(rb'"article"\s*:\s*"')


@dataclass(frozen=True, kw_only=True)
class ReportFormat(Format):
    """Reports that cite URLs.

    Attributes:
        with_facts: whether to read the facts that an LLM found.
        with_verdicts: whether to read the verdicts on them, too.
    """

    with_facts: bool = False
    with_verdicts: bool = False

    def answers(self, path: Path, benchmark: Benchmark, options: str, on_error: OnError) -> Lines:
        """Yield the reports of a file in DeepResearch Bench's layout; a wrong line is an error."""
        from citeforge.plugins.responses.research_files import read_reports

        return read_reports(path, benchmark, self.with_facts, self.with_verdicts)

    def looks_like(self, path: Path, start: bytes) -> bool:
        """Whether a file's first bytes look like a DeepResearch Bench report without facts."""
        line = start.lstrip().partition(b"\n")[0]
        names = _ARTICLE.search(line) is not None and b'"id"' in line
        is_report = line.startswith(b"{") and names and not OUTPUT.search(line)
        return is_report and not self.with_facts


REPORTS = ReportFormat(
    "deep-research", "", "reports that cite URLs, as DeepResearch Bench has them", rank=25
)
FACTS = ReportFormat(
    "deep-research-facts", "", "such reports, with the facts that an LLM found in them",
    with_facts=True, verdicts={"fact": "facts:file"},
)  # fmt: skip
VERDICTS = ReportFormat(
    "deep-research-verdicts", "", "such reports, with a verdict on each fact",
    with_facts=True, with_verdicts=True, verdicts={"fact": "verdicts:file"},
)  # fmt: skip
