"""Conversion of responses to submission lines: sources are matched, citations become marks."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

from citeforge.engines.tables import iter_batches, rows_of
from citeforge.engines.text.segment import Segmenter
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Passage
from citeforge.plugins.responses.marks import find_other_marks, place_marks
from citeforge.plugins.responses.records import MARK_LINK, Cited, CitedSource, Response
from citeforge.plugins.responses.ways import WAYS
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.citations.urls import normalise_url
from citeforge.schemas.errors import InputError, UnknownValueError, UsageError
from citeforge.schemas.submission import CitedSpan, OwnPassage, SubmissionLine
from citeforge.schemas.tables import CORPUS


@dataclass(frozen=True)
class LineFields:
    """Fields of a line beside the response: query, context set, run, documents, pages.

    Attributes:
        query: query that it answers.
        context: context set that was shown; None where the line does not say.
        run: number of a repeated run, from 0.
        documents: documents of the request, in order; None where the line has none.
        pages: pages whose texts are known, by their URLs.
        prompt: what was asked, where the line says it.
    """

    query: str
    context: str | None = None
    run: int = 0
    documents: Sequence[CitedSource] | None = None
    pages: Sequence[CitedSource] = ()
    prompt: str | None = None


class Matching:
    """Matches cited sources with the passages of a context set."""

    def __init__(self, benchmark: Benchmark, way: str) -> None:
        """Prepare to match cited sources with a benchmark's passages by a ``way`` (id, URL, …).

        ``way`` is one of ``WAYS``, or ``url=FIELD``: FIELD is the field of the passages' metadata
        that holds their URL (``url`` by default).

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
        """Get a query's passages in a context set; none for an unknown query."""
        if context not in self._shown:
            items = self._benchmark.items(context)
            self._shown[context] = {item.query_id: item.passages for item in items}
        return self._shown[context].get(query, ())

    def find(self, source: CitedSource, passages: Sequence[Passage]) -> int | None:
        """Find the position of the passage that matches a source; None if none or several do.

        Args:
            source: source of a response.
            passages: passages shown; the way ``shown`` tries their ids, then titles, then numbers.
        """
        ids = [p.id for p in passages]
        for way in ("id", "title", "index") if self.way == "shown" else (self.way,):
            if way == "id":
                hits = [ids.index(name) for name in source.ids if name in ids][:1]
            elif way == "index":
                hits = [at for at in range(len(ids)) if at == source.index]
            elif way == "title":
                hits = [at for at, p in enumerate(passages) if source.title == p.title != ""]
            else:
                url = normalise_url(source.url) if source.url else None
                hits = [at for at, name in enumerate(ids) if url and self._urls.get(name) == url]
            if len(hits) == 1:
                return hits[0]
        return None

    @cached_property
    def _urls(self) -> dict[str, str]:
        """URLs of the corpus's passages, by id, from their metadata."""
        urls = {}
        for batch in iter_batches(self._benchmark.corpus, ["_id", "metadata"], schema=CORPUS):
            for name, metadata in rows_of(batch):
                row = json.loads(metadata or "{}")
                value = row.get(self._field) if isinstance(row, dict) else None
                if value and isinstance(value, str):
                    urls[name] = normalise_url(value)
        if not urls:
            raise UsageError(
                f"--format …:url={self._field}: no passage of {self._benchmark.manifest.name} "
                f"has {self._field!r} in its metadata; name the field of the URL, or find "
                "sources by id, title or index",
                code="unknown-field",
            )
        return urls


class CitationPlacer:
    """Writes answers with marks in place of a tool's citations."""

    def __init__(self, name: str, benchmark: Benchmark, way: str, only_marks: bool = False) -> None:
        """Prepare to convert a format's responses to answers; ``way`` is how passages are matched.

        Args:
            name: format of the responses, as in ``--format``.
            benchmark: what is answered.
            way: how sources are found among the passages shown
                (:data:`citeforge.plugins.responses.placer.WAYS`).
            only_marks: whether only the marks in a text count, which then cite the passages shown;
                citations beside it and sources of the tool do not.
        """
        self.name, self.benchmark, self._only_marks = name, benchmark, only_marks
        self.matching = Matching(benchmark, way)

    @cached_property
    def segmenter(self) -> Segmenter:
        """Sentence segmenter, made on first use, for placing citation marks."""
        from citeforge.engines.text.sentences import SentenceSegmenter

        return SentenceSegmenter()

    def has_sources(self, fields: LineFields, response: Response) -> bool:
        """Whether a response has sources of its own; else its marks cite the passages shown."""
        if fields.documents is not None or self._only_marks:
            return fields.documents is not None
        return bool(response.has_list or response.sources or response.cited)

    def answer(self, fields: LineFields, response: Response) -> SubmissionLine:
        """Convert a tool's response to a submission line, with marks for its citations.

        Args:
            fields: what its line says besides the response.
            response: answer, sources and citations.

        Raises:
            InputError: it names no context set.
        """
        line = SubmissionLine(
            fields.query, response.text, context=fields.context, run=fields.run,
            finish_reason=response.finish_reason, prompt=fields.prompt,
            meta={"thoughts": response.thoughts} if response.thoughts else None,
        )  # fmt: skip
        if not self.has_sources(fields, response):
            return line
        if self._only_marks:
            response = Response(response.text)
        grammar = self.benchmark.grammar
        marks = [] if response.cited else cite_by_marks(response, grammar)
        if self.matching.way == "own" or fields.documents is not None:
            line.context = None
            line.passages, positions = _list_supplied_passages(fields, response)
            n_shown = len(line.passages)
        else:
            line.context = self._choose_context(fields)
            candidates = self.matching.passages_of(line.context, fields.query)
            positions = [self.matching.find(s, candidates) for s in response.sources]
            n_shown = len(candidates)
        numbers = _choose_numbers(response.sources, positions, n_shown, grammar.base)
        if not response.cited and all(numbers[c.source] == n for c, n in marks):
            return line  # its marks say what is meant
        cited = response.cited or [c for c, _ in marks]
        line.output, spans = place_marks(
            response.text, cited, [numbers[c.source] for c in cited], grammar, self.segmenter,
            n_shown,
        )  # fmt: skip
        line.spans = [
            CitedSpan(
                start, end, positions[c.source], response.sources[c.source].name,
                response.text[c.start : c.end] if c.is_mark else None,
                c.quote, c.quote_at and c.quote_at[0], c.quote_at and c.quote_at[1], c.quote_unit,
                c.confidence,
            )
            for c, (start, end) in zip(cited, spans, strict=True)
        ]  # fmt: skip
        return line

    def differing_passages(self, fields: LineFields, response: Response) -> list[str]:
        """List the ids of passages whose text differs from that of the cited source they match.

        Raises:
            InputError: the line names no context set.
        """
        if self._only_marks or self.matching.way == "own" or fields.documents is not None:
            return []
        with_text = [source for source in response.sources if source.text.strip()]
        if not with_text:
            return []
        candidates = self.matching.passages_of(self._choose_context(fields), fields.query)
        found = ((self.matching.find(s, candidates), s.text) for s in with_text)
        pairs = ((candidates[at], text) for at, text in found if at is not None)
        return [passage.id for passage, text in pairs if not _have_same_text(passage.text, text)]

    def _choose_context(self, fields: LineFields) -> str:
        """Get the context set that a line names, else the only one; raise an error if unknown."""
        contexts = list(self.benchmark.manifest.contexts)
        context = fields.context or (contexts[0] if len(contexts) == 1 else None)
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


def _have_same_text(passage: str, source: str) -> bool:
    """Whether a passage contains a source's text (with ellipses), or the reverse.

    White space does not matter.
    """
    whole, said = " ".join(passage.split()), " ".join(source.split())
    parts = [part.strip() for part in said.replace("…", "...").split("...")]
    return not whole or whole in said or all(part in whole for part in parts)


def _choose_numbers(
    sources: Sequence[CitedSource], positions: Sequence[int | None], n_shown: int, first_number: int
) -> list[int]:
    """Assign each source its citation number; sources not shown get numbers beyond the last.

    Args:
        sources: sources of the response.
        positions: position of each among the passages shown; None for one that was not shown.
        n_shown: number of passages shown.
        first_number: number of the first passage.
    """
    numbers, beyond = [], count(n_shown)
    for source, at in zip(sources, positions, strict=True):
        if at is None and source.is_absent and source.index is not None:
            at = source.index if source.index >= n_shown else None
        numbers.append(first_number + (next(beyond) if at is None else at))
    return numbers


def cite_by_marks(response: Response, grammar: Grammar) -> list[tuple[Cited, int | None]]:
    """Find citation marks in a response's text: (citation, number in the mark or None).

    ``[[1]](URL)`` cites the source of that URL, whatever its number; it has no number then.
    Numbers beyond the sources are added to them.

    Args:
        response: text and sources.
        grammar: how marks are read, unless the tool numbers its sources itself.
    """
    if not response.sources:
        return []
    if response.base is not None:
        grammar = Grammar(response.base)
    base = grammar.base
    urls = {normalise_url(s.url): at for at, s in reversed([*enumerate(response.sources)]) if s.url}
    by_number = {s.index: at for at, s in enumerate(response.sources) if s.index is not None}
    if not by_number:
        by_number = {at: at for at in range(len(response.sources))}
    found: list[tuple[Cited, int | None]] = []
    for link in MARK_LINK.finditer(response.text):
        at = urls.get(normalise_url(link["numbered"] or link["round"]))
        if at is not None:
            found.append((Cited(*link.span(), at, is_mark=True), None))
    links = [(c.start, c.end) for c, _ in found]
    for marker in find_other_marks(response.text, links, grammar, len(response.sources)):
        for number in marker.numbers:
            at = by_number.get(number - base)
            if at is None:
                at = response.add_source(CitedSource(index=number - base, is_absent=True))
            found.append((Cited(marker.start, marker.end, at, is_mark=True), number))
    return found


def _list_supplied_passages(
    fields: LineFields, response: Response
) -> tuple[list[OwnPassage], list[int | None]]:
    """List (passages supplied with an answer, position among them or None per cited source).

    Documents of the request are shown, cited or not; other sources stand behind them.

    Returns:
        (passages, position of each source; None for one without a passage).
    """
    documents = fields.documents or ()
    by_name: dict[str, int] = {}
    for number, document in enumerate(documents):
        for name in filter(None, (*document.ids, document.title)):
            by_name.setdefault(name, number)
    pages = {normalise_url(p.url): p for p in fields.pages}
    passages = [_to_passage(d) for d in documents]
    positions: list[int | None] = []
    for source in response.sources:
        at = _find_document(source, len(documents), by_name)
        if at is None and not source.is_absent:
            at = len(passages)
            page = pages.get(normalise_url(source.url)) if source.url else None
            if page is not None:
                source = replace(source, text=page.text, title=page.title or source.title)
            passages.append(_to_passage(source))
        positions.append(at)
    return passages, positions


def _to_passage(source: CitedSource) -> OwnPassage:
    """Convert a source that a tool cites to a passage supplied with the answer."""
    return OwnPassage(source.text, next(iter(source.ids), None), source.title, source.url)


def _find_document(source: CitedSource, n_docs: int, by_name: Mapping[str, int]) -> int | None:
    """Find a source's position among the request's documents, by number, id or title, or None."""
    if source.index is not None and n_docs:
        return source.index if 0 <= source.index < n_docs else None
    return min((by_name[name] for name in source.ids if name in by_name), default=None)
