"""Answers of vendors as lines of submissions: sources are found, citations become marks."""

import json
from collections.abc import Sequence
from functools import cached_property
from itertools import count
from typing import Any

import msgspec

from citeforge.engines.io.tables import iter_batches, rows_of
from citeforge.engines.text.segment import Segmenter
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Passage
from citeforge.plugins.responses.placing.marks import place_marks
from citeforge.plugins.responses.placing.records import CitedSource, Response
from citeforge.schemas.benchmarks.tables import CORPUS
from citeforge.schemas.citations.urls import same_url
from citeforge.schemas.errors import InputError, UnknownValueError, UsageError
from citeforge.schemas.submission import CitedSpan, OwnPassage, SubmissionLine


class RequestDocument(msgspec.Struct):
    """A document of the request, or a page that an answer cites."""

    text: str
    id: str | None = None
    title: str = ""
    url: str = ""


class LineFields(msgspec.Struct):
    """What a line says besides the response."""

    context: str | list[Any] | None = None  # of LangChain: its documents
    run: int = 0
    documents: list[RequestDocument] | None = None
    pages: list[RequestDocument] | None = None


WAYS = ("shown", "own", "id", "index", "title", "url")
"""How sources are found: ``shown`` is by id, then by title, then by number."""


class Matching:
    """Finds the passages of a context set that sources are."""

    def __init__(self, benchmark: Benchmark, way: str) -> None:
        """Prepare a way of ``WAYS``, or ``url=FIELD``: the field of the passages' metadata that
        holds their URL (``url`` unless it is named).

        Raises:
            UnknownValueError: there is no such way.
        """
        name, mark, field = way.partition("=")
        if name not in WAYS:
            raise UnknownValueError("way to find sources", way, [*WAYS, "url=FIELD"])
        if mark and (name != "url" or not field):
            raise UsageError(f"{way}: only url takes a field, as in url=link", code="bad-option")
        self.way, self._field = name, field or "url"
        self._benchmark = benchmark
        self._shown: dict[str, dict[str, tuple[Passage, ...]]] = {}

    def passages_of(self, context: str, query: str) -> tuple[Passage, ...]:
        """What a query shows in a context set; nothing for a query that is not there."""
        if context not in self._shown:
            items = self._benchmark.items(context)
            self._shown[context] = {item.query_id: item.passages for item in items}
        return self._shown[context].get(query, ())

    def find(self, source: CitedSource, passages: Sequence[Passage]) -> int | None:
        """Position of the passage that a source is; None where it is none of them, or several."""
        ids = [p.id for p in passages]
        for way in ("id", "title", "index") if self.way == "shown" else (self.way,):
            if way == "id":
                hits = [ids.index(name) for name in source.ids if name in ids][:1]
            elif way == "index":
                hits = [at for at in range(len(ids)) if at == source.index]
            elif way == "title":
                hits = [at for at, p in enumerate(passages) if source.title == p.title != ""]
            else:
                url = same_url(source.url) if source.url else None
                hits = [at for at, name in enumerate(ids) if url and self._urls.get(name) == url]
            if len(hits) == 1:
                return hits[0]
        return None

    @cached_property
    def _urls(self) -> dict[str, str]:
        """Passage id to its URL, as the metadata of the corpus say."""
        urls = {}
        for batch in iter_batches(self._benchmark.corpus, ["_id", "metadata"], schema=CORPUS):
            for name, metadata in rows_of(batch):
                row = json.loads(metadata or "{}")
                value = row.get(self._field) if isinstance(row, dict) else None
                if value and isinstance(value, str):
                    urls[name] = same_url(value)
        if not urls:
            raise UsageError(
                f"--format …:url={self._field}: no passage of {self._benchmark.manifest.name} "
                f"has {self._field!r} in its metadata; name the field of the URL, or find "
                "sources by id, title or index",
                code="unknown-field",
            )
        return urls


class CitationPlacer:
    """Writes answers with marks in place of a vendor's citations."""

    def __init__(self, name: str, benchmark: Benchmark, way: str) -> None:
        """Prepare a way to find sources.

        Args:
            name: format of the responses, as in ``--format``.
            benchmark: what is answered.
            way: how sources are found among the passages shown
                (:data:`citeforge.plugins.responses.placing.placer.WAYS`).
        """
        self.name, self.benchmark = name, benchmark
        self.matching = Matching(benchmark, way)

    @cached_property
    def segmenter(self) -> Segmenter:
        from citeforge.engines.text.sentences import SentenceSegmenter

        return SentenceSegmenter()

    def answer(self, query: str, fields: LineFields, response: Response) -> SubmissionLine:
        """The line of a response.

        Args:
            query: what it answers.
            fields: what its line says besides the response.
            response: answer, sources and citations.

        Raises:
            InputError: it names no context set.
        """
        context = passages = None
        if self.matching.way == "own" or fields.documents is not None:
            passages, positions = _own(fields, response)
            n_shown = len(passages)
        else:
            context = self._context(fields)
            candidates = self.matching.passages_of(context, query)
            positions = [self.matching.find(s, candidates) for s in response.sources]
            n_shown = len(candidates)
        line = SubmissionLine(
            query, response.text, context=context, run=fields.run, passages=passages,
            finish_reason=response.finish_reason,
        )  # fmt: skip
        if response.has_marks:
            return line
        grammar = self.benchmark.grammar
        # A source that is none of the passages shown counts as a citation beyond them.
        beyond = count(n_shown)
        numbers = [grammar.base + (next(beyond) if p is None else p) for p in positions]
        cited = response.cited
        line.output, places = place_marks(
            response.text, cited, [numbers[c.source] for c in cited], grammar, self.segmenter,
            n_shown,
        )  # fmt: skip
        line.spans = [
            CitedSpan(
                start,
                end,
                positions[c.source],
                response.sources[c.source].name,
                response.text[c.start : c.end] if c.is_mark else None,
                c.quote,
                c.quote_at and c.quote_at[0],
                c.quote_at and c.quote_at[1],
                c.quote_unit,
                c.confidence,
            )
            for c, (start, end) in zip(cited, places, strict=True)
        ] or None
        return line

    def _context(self, fields: LineFields) -> str:
        contexts = list(self.benchmark.manifest.contexts)
        name = fields.context if isinstance(fields.context, str) else None
        context = name or (contexts[0] if len(contexts) == 1 else None)
        if context not in contexts:
            is_missing = context is None
            raise InputError(
                "is missing" if is_missing else f"{context!r} is unknown",
                field="context",
                allowed=f"one of {', '.join(contexts)}: what the system was shown; or --format "
                f"{self.name}:own, where its sources are its own",
                code="missing-field" if is_missing else "unknown-context",
            )
        return context


def _own(fields: LineFields, response: Response) -> tuple[list[OwnPassage], list[int | None]]:
    """Passages that an answer brings, and position of each source among them.

    Documents of the request are shown, cited or not; other sources stand behind them.
    """
    documents = fields.documents or []
    pages = {same_url(p.url): p for p in fields.pages or ()}
    passages = [OwnPassage(d.text, d.id, d.title, d.url) for d in documents]
    positions: list[int | None] = []
    for source in response.sources:
        at = _document_of(source, documents)
        if at is None:
            at = len(passages)
            page = pages.get(same_url(source.url)) if source.url else None
            text, title = source.text, source.title
            if page is not None:
                text, title = page.text, page.title or title
            passages.append(OwnPassage(text, next(iter(source.ids), None), title, source.url))
        positions.append(at)
    return passages, positions


def _document_of(source: CitedSource, documents: list[RequestDocument]) -> int | None:
    """The document of the request that a source is, by number, id or title."""
    if source.index is not None:
        return source.index if 0 <= source.index < len(documents) else None
    matches = (i for i, d in enumerate(documents) if {d.id, d.title} & {*source.ids})
    return next(matches, None)
