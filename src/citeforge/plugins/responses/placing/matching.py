"""Which of the passages shown a vendor's source is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property

from citeforge.engines.io.tables import iter_batches, rows_of
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Passage
from citeforge.plugins.responses.placing.records import CitedSource
from citeforge.schemas.benchmarks.tables import CORPUS
from citeforge.schemas.citations.urls import same_url
from citeforge.schemas.errors import UnknownValueError, UsageError

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
            raise UsageError(f"{way}: only url takes a field, as in url=link")
        self.way, self._field = name, field or "url"
        self._benchmark = benchmark
        self._shown: dict[str, dict[str, tuple[Passage, ...]]] = {}

    def shown(self, context: str, query: str) -> tuple[Passage, ...]:
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
                f"has {self._field!r} in its metadata; name the field that holds the URL, or "
                "find sources by id, title or index"
            )
        return urls
