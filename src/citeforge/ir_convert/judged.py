"""A source of queries, judgements and passages from anywhere; formats fill it in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from citeforge.engines.files import sha256_file
from citeforge.engines.tables import table_of
from citeforge.ir_convert.checks import check_id, empty_text
from citeforge.ir_convert.source import ReadOptions, no_gold
from citeforge.schemas.errors import InputError
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import CORPUS, MAPPING, QUERIES

_BATCH = 4096

Passages = Callable[[], Iterator[tuple[int, str, str, str]]]
"""Streams (line, id, title, text)."""


@dataclass
class Judgements:
    """Judged pairs of one split.

    Attributes:
        path: file, for messages.
        scores: (query, passage) to judgement.
        lines: where each pair stands.
    """

    path: str
    scores: dict[tuple[str, str], int] = field(default_factory=dict)
    lines: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, line: int, query: str, passage: str, score: int) -> None:
        """Take in one judgement.

        Raises:
            InputError: the pair was judged otherwise before.
        """
        pair = (query, passage)
        if self.scores.get(pair, score) != score:
            raise InputError(
                f"judges {query!r}, {passage!r} otherwise than line {self.lines[pair]}",
                path=self.path,
                line=line,
            )
        self.scores[pair] = score
        self.lines.setdefault(pair, line)


@dataclass
class JudgedSource:
    """See :class:`citeforge.ir_convert.source.Source`.

    Attributes:
        source: provenance.
        texts: query to (line, text), in order.
        judged: judgements.
        stream: passages.
        where_passages: file of the passages, for messages.
        options: permissions.
        files: files read, for their hashes.
        gold_table: gold rows; None for none.
    """

    source: SourceInfo
    texts: dict[str, tuple[int, str]]
    judged: Judgements
    stream: Passages
    where_passages: str
    options: ReadOptions
    files: tuple[Path, ...] = ()
    gold_table: pa.Table | None = None

    def info(self) -> SourceInfo:
        if not self.source.files:
            for path in self.files:
                self.source.files[path.name] = sha256_file(path)
        return self.source

    def passages(self) -> Iterator[pa.RecordBatch]:
        rows: list[tuple[str, str, str, None]] = []
        seen: dict[str, int] = {}
        skipped = 0
        path = Path(self.where_passages)
        for line, name, title, text in self.stream():
            check_id(name, path, line, "docid")
            if name in seen:
                raise InputError(
                    f"{name!r} stands already in line {seen[name]}", path=path, line=line,
                    field="docid", allowed="every id once",
                )  # fmt: skip
            seen[name] = line
            if not text.strip():
                if not self.options.skip_empty:
                    raise empty_text(path, line)
                skipped += 1
                continue
            rows.append((name, title, text, None))
            if len(rows) == _BATCH:
                yield _batch(rows)
                rows = []
        if rows:
            yield _batch(rows)
        if skipped:
            self.source.counts["passages without text, skipped"] = skipped

    def queries(self) -> pa.Table:
        wanted = {query for query, _ in self.judged.scores}
        missing = [pair for pair in self.judged.scores if pair[0] not in self.texts]
        if missing and not self.options.skip_dangling:
            raise InputError(
                f"names the query {missing[0][0]!r}, which the topics lack",
                path=self.judged.path,
                line=self.judged.lines[missing[0]],
                allowed="add the query, or pass --skip-dangling",
            )
        if missing:
            self.source.counts["judgements of unknown queries, skipped"] = len(missing)
        rows = [(q, text, None) for q, (_, text) in self.texts.items() if q in wanted]
        return table_of(rows, QUERIES)

    def relevant(self) -> pa.Table:
        pairs = self.judged.scores
        kept = [(q, p, None, float(s), None) for (q, p), s in pairs.items() if s > 0]
        if len(kept) < len(pairs):
            self.source.counts["judgements of zero or less"] = len(pairs) - len(kept)
        return table_of(kept, MAPPING)

    def gold(self) -> pa.Table:
        return no_gold() if self.gold_table is None else self.gold_table

    def mined(self) -> dict[str, pa.Table]:
        return {}

    def where(self, query_id: str, corpus_id: str) -> tuple[str, int | None]:
        return self.judged.path, self.judged.lines.get((query_id, corpus_id))


def _batch(rows: list[tuple[str, str, str, None]]) -> pa.RecordBatch:
    columns = [pa.array(c, t) for c, t in zip(zip(*rows, strict=True), CORPUS.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=CORPUS)
