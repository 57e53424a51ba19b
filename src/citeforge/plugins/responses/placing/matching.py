"""Which of the passages shown a vendor's source is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

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
        self._addresses: dict[str, str] | None = None

    def shown(self, context: str, query: str) -> tuple[Passage, ...]:
        """What a query shows in a context set; nothing for a query that is not there."""
        if context not in self._shown:
            items = self._benchmark.items(context)
            self._shown[context] = {item.query_id: item.passages for item in items}
        return self._shown[context].get(query, ())

    def find(self, source: CitedSource, passages: Sequence[Passage]) -> int | None:
        """Position of the passage that a source is; None where it is none of them, or several."""
        ways = ("id", "title", "index") if self.way == "shown" else (self.way,)
        for way in ways:
            position = _WAYS[way](self, source, passages)
            if position is not None:
                return position
        return None

    def _by_id(self, source: CitedSource, passages: Sequence[Passage]) -> int | None:
        ids = [p.id for p in passages]
        return next((ids.index(name) for name in source.ids if name in ids), None)

    def _by_title(self, source: CitedSource, passages: Sequence[Passage]) -> int | None:
        return _only([p.title for p in passages], source.title)

    def _by_index(self, source: CitedSource, passages: Sequence[Passage]) -> int | None:
        inside = source.index is not None and 0 <= source.index < len(passages)
        return source.index if inside else None

    def _by_url(self, source: CitedSource, passages: Sequence[Passage]) -> int | None:
        if not source.url:
            return None
        urls = self._urls()
        return _only([urls.get(p.id, "") for p in passages], same_url(source.url))

    def _urls(self) -> dict[str, str]:
        """Passage id to its URL, as the metadata of the corpus say."""
        if self._addresses is None:
            self._addresses = {}
            columns = ["_id", "metadata"]
            for batch in iter_batches(self._benchmark.corpus, columns, schema=CORPUS):
                for name, metadata in rows_of(batch):
                    value = _field(metadata, self._field)
                    if value:
                        self._addresses[name] = same_url(value)
            if not self._addresses:
                raise UsageError(
                    f"--format …:url={self._field}: no passage of {self._benchmark.manifest.name} "
                    f"has {self._field!r} in its metadata; name the field that holds the URL, or "
                    "find sources by id, title or index"
                )
        return self._addresses


def _field(metadata: str | None, name: str) -> str | None:
    if not metadata:
        return None
    row = json.loads(metadata)
    value = row.get(name) if isinstance(row, dict) else None
    return value if isinstance(value, str) else None


def _only(names: Sequence[str], name: str) -> int | None:
    """Position of a name that comes once."""
    return names.index(name) if name and Counter(names)[name] == 1 else None


_WAYS: Mapping[str, Callable[[Matching, CitedSource, Sequence[Passage]], int | None]] = {
    "id": Matching._by_id,
    "title": Matching._by_title,
    "index": Matching._by_index,
    "url": Matching._by_url,
}
