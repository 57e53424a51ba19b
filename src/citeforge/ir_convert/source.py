"""What every source offers to the builders, and what sources of judged pairs have in common.

Passages of a source: none without an id or a text, no id twice, repeated ones merged.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.io.duplicates import DuplicateFinder, first_duplicate
from citeforge.engines.io.files import sha256_file
from citeforge.engines.io.tables import batch_of, table_of
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.benchmarks.tables import CORPUS, GOLD, MAPPING, QUERIES
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import ExtraFields
from citeforge.schemas.text import normalise_passages

if TYPE_CHECKING:
    from citeforge.engines.judge.session import JudgeSession

_BATCH = 4096


class Place(NamedTuple):
    """Where a passage stands, for messages."""

    path: Path | str
    line: int


PlacedPassage = tuple[Place, str, str, str, str | None]
"""Place, id, title, text and metadata of a passage."""


def check_id(value: str, path: Path | str, line: int, field: str = "_id") -> None:
    """Refuse an empty id.

    Raises:
        InputError: it is empty.
    """
    if not value:
        raise InputError(
            "is empty",
            path=path,
            line=line,
            field=field,
            allowed="a distinct id",
            code="missing-field",
        )


def duplicate_id(name: str, first: Place, second: Place, field: str = "_id") -> InputError:
    """Error for an id that comes twice."""
    other = f" of {first.path}" if first.path != second.path else ""
    return InputError(
        f"duplicate id {name!r} (first at line {first.line}{other})",
        path=second.path,
        line=second.line,
        field=field,
        allowed="every id once",
        code="duplicate-id",
    )


def empty_text(path: Path | str, line: int, field: str = "text") -> InputError:
    """Error for a passage or query without text."""
    return InputError(
        "is empty",
        path=path,
        line=line,
        field=field,
        allowed="some text, or pass --skip-empty",
        code="empty-text",
    )


def corpus_batches(rows: Iterator[tuple[str, str, str, str | None]]) -> Iterator[pa.RecordBatch]:
    """Rows of schema CORPUS in batches."""
    while some := list(islice(rows, _BATCH)):
        yield batch_of(some, CORPUS)


def checked_passages(
    read: Callable[[], Iterator[pa.RecordBatch]],
    place_of: Callable[[int], Place],
    counts: dict[str, int],
    skip_empty: bool,
    prefix: str = "",
    id_field: str = "_id",
    what: str = "passages",
) -> Iterator[pa.RecordBatch]:
    """The passages of a corpus, streamed.

    Args:
        read: batches of schema CORPUS, from the start at every call.
        place_of: where a passage stands, by its number from 0; asked for what is wrong alone.
        counts: takes in how many were skipped.
        skip_empty: whether passages without text are skipped.
        prefix: of names of fields, in messages.
        id_field: name of the field with the id there.
        what: what they are, where they are not passages.

    Raises:
        InputError: an empty id, an id that comes twice, or a passage without text.
    """
    finder = DuplicateFinder()
    at = skipped = 0
    for batch in read():
        ids: list[str] = batch["_id"].to_pylist()
        finder.add(ids)
        if "" in ids:
            check_id("", *place_of(at + ids.index("")), prefix + id_field)
        texts = batch["text"]
        full = pc.invert(pc.or_(pc.utf8_is_space(texts), pc.equal(pc.binary_length(texts), 0)))
        n_empty = len(ids) - (pc.sum(full).as_py() or 0)
        if n_empty and not skip_empty:
            raise empty_text(*place_of(at + full.index(False).as_py()), prefix + "text")
        skipped += n_empty
        at += len(ids)
        yield batch.filter(full) if n_empty else batch
    if suspects := finder.suspects():
        again = chain.from_iterable(batch["_id"].to_pylist() for batch in read())
        if duplicate := first_duplicate(again, suspects):
            name, first, second = duplicate
            raise duplicate_id(name, place_of(first), place_of(second), prefix + id_field)
    if skipped:
        counts[f"{what} without text, skipped"] = skipped


def merged_passages(
    rows: Iterator[PlacedPassage], counts: dict[str, int], skip_empty: bool
) -> Iterator[pa.RecordBatch]:
    """Passages of a corpus in which one may come several times: with equal normalised texts.

    Keeps a digest and a line number for each id, not the texts.

    Args:
        rows: passages.
        counts: takes in how many were skipped or merged.
        skip_empty: whether passages without text are skipped.

    Raises:
        InputError: empty id, empty text, or another text under the same id.
    """
    lines: dict[str, tuple[bytes, int]] = {}
    done: Counter[str] = Counter()

    def distinct() -> Iterator[PlacedPassage]:
        for row in rows:
            (path, line), name, _, text, _ = row
            check_id(name, path, line, "docid")
            if not text.strip():
                if not skip_empty:
                    raise empty_text(path, line)
                done["passages without text, skipped"] += 1
                continue
            normal: str = normalise_passages(pa.array([text]))[0].as_py()
            digest = hashlib.sha256(normal.encode()).digest()
            if name not in lines:
                lines[name] = digest, line
                yield row
                continue
            other, first = lines[name]
            if other != digest:
                raise InputError(
                    f"passage {name!r} has another text than in line {first}",
                    path=path,
                    line=line,
                    allowed="one text for each id",
                    code="duplicate-id",
                )
            done["repeated passages, merged"] += 1

    yield from corpus_batches(row[1:] for row in distinct())
    counts.update(done)


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
        code="no-queries",
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
                code="duplicate-id",
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
                code="unknown-query",
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
