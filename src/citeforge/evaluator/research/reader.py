"""Reports as DeepResearch Bench keeps them: ``{"id", "prompt", "article"}``, one a line.

The texts of pages come from ``pages`` (``url``, ``text``, ``title``), or from
``citations_deduped``, into which the benchmark's own scraper writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from citeforge.engines.jsonlines import read_rows
from citeforge.evaluator.benchmark import Benchmark
from citeforge.evaluator.research.markup import has_text
from citeforge.schemas.submission import OwnPassage, SubmissionLine


class _Page(msgspec.Struct):
    url: str
    text: str
    title: str = ""


class _Scraped(msgspec.Struct):
    url_content: str | None = None


class _Report(msgspec.Struct):
    id: str | int
    article: str
    prompt: str = ""
    run: int = 0
    pages: list[_Page] | None = None
    citations_deduped: dict[str, _Scraped] | None = None


def is_report(row: Mapping[str, object]) -> bool:
    """Whether a decoded line is one."""
    return isinstance(row.get("article"), str) and "id" in row


def read_reports(path: Path, benchmark: Benchmark) -> Iterator[tuple[int, SubmissionLine]]:
    """Reports with the pages that they cite; a query is found by its id, else by its text.

    Raises:
        InputError: file, line, field, and what would be right.
    """
    texts: list[str] = benchmark.queries["text"].to_pylist()
    by_text = dict(zip(texts, benchmark.query_ids, strict=True))
    for line, row in read_rows(path, _Report):
        query = str(row.id)
        if query not in benchmark.row_of:
            query = by_text.get(row.prompt, query)
        yield line, SubmissionLine(query, row.article, run=row.run, passages=_passages(row))


def _passages(row: _Report) -> list[OwnPassage]:
    pages = [OwnPassage(p.text, p.url, p.title, p.url) for p in row.pages or ()]
    for url, scraped in (row.citations_deduped or {}).items():
        text = scraped.url_content or ""
        pages.append(OwnPassage(text if has_text(text) else "", url, "", url))
    return pages
