"""Files of DeepResearch Bench: reports alone, with extracted facts, or with verdicts on these.

A line is ``{"id", "prompt", "article"}``.

The texts of pages come from ``pages`` (``url``, ``text``, ``title``), or from
``citations_deduped``, into which the benchmark's own scraper writes them. What its LLM extracted
(``citations``), left of that without repeats (``citations_deduped``) and decided (``validate_res``)
is read on demand.
"""

from pathlib import Path
from typing import Literal

import msgspec

from citeforge.engines.jsonlines import read_rows
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.query_finder import QueryFinder
from citeforge.evaluator.submissions.url_marks import has_text
from citeforge.schemas.errors import InputError
from citeforge.schemas.submission import HEADER, CitedFact, Lines, OwnPassage, ReportLine

Outcome = Literal["supported", "unsupported", "undecided", "failed"]
_OUTCOMES: dict[str, Outcome] = {
    "supported": "supported",
    "unsupported": "unsupported",
    "unknown": "undecided",
}


class _Page(msgspec.Struct):
    """A page with its text, as a line may bring it."""

    url: str
    text: str
    title: str = ""


class _Result(msgspec.Struct):
    """A verdict on one fact, as the benchmark's code writes it."""

    result: Literal["supported", "unsupported", "unknown"]
    idx: int | None = None


class _Cited(msgspec.Struct):
    """A fact that an LLM extracted from a report, with the URL that it cites."""

    fact: str
    url: str


class _Scraped(msgspec.Struct):
    """A cited page: its scraped text, its facts, and the verdicts on them."""

    url_content: str | None = None
    facts: list[str] | None = None
    validate_res: list[_Result] | None = None
    validate_error: str | None = None


class _Report(msgspec.Struct):
    """A line of a file: a report, with what the benchmark's tools added to it."""

    id: str | int
    article: str
    prompt: str = ""
    run: int = 0
    pages: list[_Page] | None = None
    citations: list[_Cited] | str | None = None
    citations_deduped: dict[str, _Scraped] | None = None


def read_reports(
    path: Path, benchmark: Benchmark, with_facts: bool = False, with_verdicts: bool = False
) -> Lines:
    """Yield (line number, report as an answer) of a file in DeepResearch Bench's layout.

    The query is found by the line's id, else its prompt.

    Args:
        path: file of reports.
        benchmark: what is answered.
        with_facts: whether to read the facts that an LLM found.
        with_verdicts: whether to read the verdicts on them, too.

    Raises:
        InputError: file, line, field, and what would be right.
    """
    queries = QueryFinder(benchmark)
    for line, row in read_rows(path, _Report, HEADER):
        query = queries.find_id(row.id, row.prompt)
        pages = _list_pages(row)
        facts = _read_facts(path, row, line, with_verdicts) if with_facts else None
        yield line, ReportLine(query, row.article, run=row.run, passages=pages, facts=facts)


def _read_facts(
    path: Path, row: _Report, line: int, with_verdicts: bool = False
) -> tuple[CitedFact, ...]:
    """Read a report's (statement, cited URL) pairs that DeepResearch Bench's LLM extracted.

    Args:
        path: the file, for errors.
        row: its line.
        line: number of the line.
        with_verdicts: whether each fact needs a verdict.

    Raises:
        InputError: a line has none; or a page has no verdict, or not one for each fact.
    """
    if row.citations_deduped is None and not with_verdicts and isinstance(row.citations, list):
        distinct = dict.fromkeys((c.fact, c.url) for c in row.citations)
        return tuple(CitedFact(fact, url) for fact, url in distinct)
    if row.citations_deduped is None or isinstance(row.citations, str):
        raise InputError(
            "contains no facts",
            path=path,
            line=line,
            allowed="validated.jsonl for verdicts; for facts also extracted.jsonl, "
            "deduplicated.jsonl or scraped.jsonl; --format deep-research reads the report itself",
            code="missing-field",
        )
    facts = []
    for url, page in row.citations_deduped.items():
        verdicts = _read_verdicts(path, line, url, page) if with_verdicts else {}
        for i, fact in enumerate(page.facts or []):
            facts.append(CitedFact(fact, url, verdicts.get(i)))
    return tuple(facts)


def _read_verdicts(path: Path, line: int, url: str, page: _Scraped) -> dict[int, Outcome]:
    """Read an LLM's verdicts on the statements that cite a page, by statement's position.

    Args:
        path: the file, for errors.
        line: number of the line.
        url: address of the page.
        page: its facts, and the verdicts of the LLM.
    """
    n = len(page.facts or [])
    if page.validate_error is not None:
        return dict.fromkeys(range(n), "failed")
    results = page.validate_res
    if results is None or len(results) != n:
        raise InputError(
            f"has {0 if results is None else len(results)} verdicts of {n} facts",
            path=path,
            line=line,
            field=f"citations_deduped[{url!r}].validate_res",
            allowed="one for each fact, or a validate_error",
            code="wrong-value",
        )
    fact_positions = [r.idx for r in results]
    if sorted(p for p in fact_positions if p is not None) != list(range(n)):
        fact_positions = list(range(n))  # the LLM counted otherwise; the order is the prompt's
    return {
        p: _OUTCOMES[r.result]
        for p, r in zip(fact_positions, results, strict=True)
        if p is not None
    }


def _list_pages(row: _Report) -> list[OwnPassage]:
    """List a report's cited web pages as passages; those not scraped have empty texts."""
    pages = [OwnPassage(p.text, p.url, p.title, p.url) for p in row.pages or ()]
    for url, scraped in (row.citations_deduped or {}).items():
        text = scraped.url_content or ""
        pages.append(OwnPassage(text if has_text(text) else "", url, "", url))
    return pages
