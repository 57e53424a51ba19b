"""What every source offers to the builders, and what sources of judged pairs have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from citeforge.engines.io.files import sha256_file
from citeforge.engines.io.tables import table_of
from citeforge.ir_convert.passages import (
    PlacedPassage,
    checked_passages,
    corpus_batches,
    empty_text,
)
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.benchmarks.tables import GOLD, MAPPING, QUERIES
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import ExtraFields

if TYPE_CHECKING:
    from citeforge.engines.judge.session import JudgeSession


@dataclass(frozen=True)
class ReadOptions:
    """Explicit permissions to pass over flawed rows; each use is counted.

    Attributes:
        skip_empty: passages and queries without text.
        skip_dangling: judgements that name a missing passage or query.
        workdir: folder for unpacked archives; removed by whoever made it.
        skip_contradictions: judgements of a passage that another row judges relevant.
        passages_only: the source is only asked for passages, and needs nothing else.
        extra_fields: what becomes of fields that a strict format does not know.
        judge: decides relevance where a source has claims in place of judgements; None for nobody.
    """

    skip_empty: bool = False
    skip_dangling: bool = False
    workdir: Path = field(default_factory=Path)
    skip_contradictions: bool = False
    judge: JudgeSession | None = None
    passages_only: bool = False
    extra_fields: ExtraFields = "refuse"


class Source(Protocol):
    """Records of one data set, streamed.

    ``passages`` may be read several times and always gives the same rows in the same order.
    ``info().counts`` is complete once every other method was read to its end.
    """

    def info(self) -> SourceInfo:
        """Provenance so far."""
        ...

    def passages(self) -> Iterator[pa.RecordBatch]:
        """Batches of schema CORPUS with distinct ids."""
        ...

    def queries(self) -> pa.Table:
        """Schema QUERIES, the queries of the split, distinct ids."""
        ...

    def relevant(self) -> pa.Table:
        """Schema MAPPING, the judgements above zero, distinct pairs."""
        ...

    def gold(self) -> pa.Table:
        """Schema GOLD; without rows when the source has no gold answers."""
        return GOLD.empty_table()

    def mined(self) -> dict[str, pa.Table]:
        """Negative mapping tables that the source brings along, by label."""
        return {}

    def where(self, query_id: str, corpus_id: str) -> tuple[str, int | None]:
        """File and line of a judgement, for error messages."""
        ...


def without_queries(spec: str, contents: str = "passages") -> InputError:
    """Error for a source that is asked for queries and has none."""
    return InputError(
        f"holds {contents} alone, without queries",
        path=spec,
        allowed="--extra-corpus beside a --source with queries, or build alce --corpus",
    )


class FileSource(Source, Protocol):
    """A source of files, which are hashed when its provenance is first asked for.

    Attributes:
        source: provenance.
        files: name in it to the file.
    """

    source: SourceInfo
    files: Mapping[str, Path]

    def info(self) -> SourceInfo:
        if not self.source.files:
            self.source.files = {name: sha256_file(path) for name, path in self.files.items()}
        return self.source


@dataclass
class Judgements:
    """Judged pairs of one split.

    Attributes:
        path: file, for messages.
        scores: (query, passage) to judgement.
        lines: where each pair stands.
        skip_contradictions: of two judgements, keep the higher one and count the other.
        contradicted: judgements that were passed over.
    """

    path: str
    scores: dict[tuple[str, str], int] = field(default_factory=dict)
    lines: dict[tuple[str, str], int] = field(default_factory=dict)
    skip_contradictions: bool = False
    contradicted: int = 0

    def add(self, line: int, query: str, passage: str, score: int) -> None:
        """Take in one judgement.

        Raises:
            InputError: the pair was judged otherwise before.
        """
        pair = (query, passage)
        before = self.scores.get(pair, score)
        if before != score and not self.skip_contradictions:
            raise InputError(
                f"judges {query!r}, {passage!r} otherwise than line {self.lines[pair]}",
                path=self.path,
                line=line,
                allowed="one judgement, or pass --skip-contradictions to keep the higher one",
            )
        self.contradicted += before != score
        self.scores[pair] = max(before, score)
        self.lines.setdefault(pair, line)


@dataclass
class JudgedSource(FileSource):
    """See :class:`citeforge.ir_convert.source.Source`.

    Attributes:
        source: provenance.
        texts: query to (line, text), in order. Blank ones are skipped, or refused.
        judged: judgements.
        stream: passages, from the start at every call.
        options: permissions.
        files: files read, for their hashes, by name.
        gold_table: gold rows, schema GOLD.
        negatives: negative mappings that the source brings along, by label (schema MAPPING).
        topics: file of the queries, for messages; None for that of the judgements.
        metadata: of queries that have some, as JSON.
    """

    source: SourceInfo
    texts: dict[str, tuple[int, str]]
    judged: Judgements
    stream: Callable[[], Iterator[PlacedPassage]]
    options: ReadOptions
    files: Mapping[str, Path] = field(default_factory=dict)
    gold_table: pa.Table = field(default_factory=GOLD.empty_table)
    negatives: dict[str, pa.Table] = field(default_factory=dict)
    topics: Path | str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    id_field: str = "docid"

    def passages(self) -> Iterator[pa.RecordBatch]:
        return checked_passages(
            lambda: corpus_batches(row[1:] for row in self.stream()),
            lambda number: next(islice(self.stream(), number, None))[0],
            self.source.counts,
            self.options.skip_empty,
            id_field=self.id_field,
        )

    def queries(self) -> pa.Table:
        judged = {query for query, _ in self.judged.scores}
        missing = [pair for pair in self.judged.scores if pair[0] not in self.texts]
        if missing and not self.options.skip_dangling:
            raise InputError(
                f"names the query {missing[0][0]!r}, which the topics lack",
                path=self.judged.path,
                line=self.judged.lines[missing[0]],
                field="query-id",
                allowed="add the query, or pass --skip-dangling",
            )
        if missing:
            self.source.counts["judgements of unknown queries, skipped"] = len(missing)
        queries = [(q, line, text) for q, (line, text) in self.texts.items() if q in judged]
        blank = [line for _, line, text in queries if not text.strip()]
        if blank and not self.options.skip_empty:
            raise empty_text(self.topics or self.judged.path, blank[0])
        if blank:
            self.source.counts["queries without text, skipped"] = len(blank)
        rows = [(q, text, self.metadata.get(q)) for q, _, text in queries if text.strip()]
        return table_of(rows, QUERIES)

    def relevant(self) -> pa.Table:
        pairs = self.judged.scores
        rows = [(q, p, None, float(s), None) for (q, p), s in pairs.items() if s > 0]
        if len(rows) < len(pairs):
            self.source.counts["judgements of zero or less"] = len(pairs) - len(rows)
        if self.judged.contradicted:
            self.source.counts["contradicting judgements, the higher one kept"] = (
                self.judged.contradicted
            )
        return table_of(rows, MAPPING)

    def gold(self) -> pa.Table:
        return self.gold_table

    def mined(self) -> dict[str, pa.Table]:
        return self.negatives

    def where(self, query_id: str, corpus_id: str) -> tuple[str, int | None]:
        return self.judged.path, self.judged.lines.get((query_id, corpus_id))
