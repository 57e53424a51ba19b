"""The interface of sources of benchmarks, and base classes of them.

Each passage of a source has an id and a text, and no id occurs twice.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.files import sha256_file
from citeforge.engines.tables import batch_of, table_of
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import ExtraFields
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import CORPUS, GOLD, MAPPING, QUERIES
from citeforge.schemas.text import normalise_passages

if TYPE_CHECKING:
    from citeforge.engines.judge.session import JudgeSession

_BATCH = 4096


@dataclass(frozen=True, slots=True)
class Location:
    """File and line of a passage, for messages."""

    path: Path | str
    line: int


LocatedPassage = tuple[Location, str, str, str, str | None]
"""Location, id, title, text and metadata of a passage."""


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


def duplicate_id(name: str, first: Location, second: Location, field: str = "_id") -> InputError:
    """Make the error for an id that occurs twice with different content."""
    other = f" of {first.path}" if first.path != second.path else ""
    return InputError(
        f"duplicate id {name!r} with different content (first at line {first.line}{other})",
        path=second.path,
        line=second.line,
        field=field,
        allowed="one text for each id; equal rows are joined",
        code="duplicate-id",
    )


def empty_text(path: Path | str, line: int, field: str = "text") -> InputError:
    """Make the error for a passage without text and title, or a query without text."""
    return InputError(
        "is empty",
        path=path,
        line=line,
        field=field,
        allowed="some text, or pass --skip-empty",
        code="empty-text",
    )


def corpus_batches(rows: Iterator[tuple[str, str, str, str | None]]) -> Iterator[pa.RecordBatch]:
    """Put (id, title, text, metadata) rows into Arrow batches of schema CORPUS."""
    while some := list(islice(rows, _BATCH)):
        yield batch_of(some, CORPUS)


def hash_ids(ids: list[str]) -> npt.NDArray[np.int64]:
    """Compute a 64-bit hash of each id."""
    return np.fromiter(map(hash, ids), np.int64, len(ids))


class DuplicateFinder:
    """Collects 64-bit hashes of ids; ids with equal hashes are candidates, later compared as text.

    Python's string hash has a new key in every process, so collisions cannot be crafted; it only
    decides which ids are looked at again.
    """

    def __init__(self) -> None:
        """Start with no hashes of ids."""
        # Sorted, each longer than the next: an id is merged some log2(ids / block) times.
        self._runs: list[npt.NDArray[np.int64]] = []

    def add(self, ids: list[str]) -> bool:
        """Add the hashes of a block of ids.

        Returns:
            Whether the hash of one of them came before.
        """
        if not ids:
            return False
        new = np.sort(hash_ids(ids))
        is_repeated = bool((new[1:] == new[:-1]).any())
        for run in self._runs:
            at = np.minimum(np.searchsorted(run, new), len(run) - 1)
            is_repeated = is_repeated or bool((run[at] == new).any())
        while self._runs and len(self._runs[-1]) <= len(new):
            new = _merge_sorted([self._runs.pop(), new])
        self._runs.append(new)
        return is_repeated

    def suspects(self) -> frozenset[int]:
        """Return the hashes added more than once (possible duplicates), and forget all hashes."""
        if not self._runs:
            return frozenset()
        hashes = _merge_sorted(self._runs)
        self._runs = []
        return frozenset(hashes[1:][hashes[1:] == hashes[:-1]].tolist())


def _merge_sorted(runs: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Merge sorted arrays into one sorted array."""
    hashes = np.concatenate(runs)
    hashes.sort(kind="stable")  # linear, as it finds the runs again
    return hashes


def checked_passages(
    read: Callable[[], Iterator[pa.RecordBatch]],
    find_location: Callable[[int], Location],
    counts: dict[str, int],
    skip_empty: bool,
    prefix: str = "",
    id_field: str = "_id",
    what: str = "passages",
) -> Iterator[pa.RecordBatch]:
    """Yield the passages of a corpus in batches, and check that each has a distinct id and a text.

    A passage with a title alone gets the title as its text. Of rows with one id and equal
    normalised texts, the first stays. Memory grows by eight bytes per id, and with repeated ids;
    the corpus is read again only if an id repeats.

    Args:
        read: yields batches of schema CORPUS (or QUERIES), from the start at every call.
        find_location: finds a row's file and line by its number from 0; called only for errors.
        counts: the numbers of rows skipped, merged, or with their title as text are added.
        skip_empty: whether rows with neither text nor title are skipped.
        prefix: prefix of names of fields in messages.
        id_field: name of the field with the id in messages.
        what: noun for the rows in counts.

    Raises:
        InputError: an id is empty or has two texts, or a passage has neither text nor title.
    """
    finder = DuplicateFinder()
    repeats: npt.NDArray[np.int64] | None = None
    done: Counter[str] = Counter()
    at = 0
    for original in read():
        ids: list[str] = original["_id"].to_pylist()
        if "" in ids:
            location = find_location(at + ids.index(""))
            check_id("", location.path, location.line, prefix + id_field)
        if repeats is None and finder.add(ids):
            repeats = _repeated_rows(read, find_location, prefix + id_field)
        batch, n_titles = _titles_as_texts(original)
        done[count_key("rows_with_a_title_alone", what)] += n_titles
        kept = pc.invert(_is_blank(batch["text"]))
        n_empty = len(ids) - (pc.sum(kept).as_py() or 0)
        if n_empty and not skip_empty:
            location = find_location(at + kept.index(False).as_py())
            raise empty_text(location.path, location.line, prefix + "text")
        done[count_key("rows_without_text", what)] += n_empty
        if repeats is not None:
            is_again = np.isin(np.arange(at, at + len(ids)), repeats) & kept.to_numpy(False)
            done[count_key("repeated_rows", what)] += int(is_again.sum())
            kept = pc.and_not(kept, pa.array(is_again))
        at += len(ids)
        yield batch.filter(kept)
    counts.update({name: n for name, n in done.items() if n})


def _is_blank(texts: pa.Array) -> pa.Array:
    """Return a mask of the texts that are empty or white space."""
    return pc.or_(pc.utf8_is_space(texts), pc.equal(pc.binary_length(texts), 0))


def _titles_as_texts(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
    """Use titles as texts of the rows without a text; also return the number of these rows."""
    if "title" not in batch.schema.names:
        return batch, 0
    needed = pc.and_not(_is_blank(batch["text"]), _is_blank(batch["title"]))
    number = pc.sum(needed).as_py() or 0
    if number:
        texts = pc.if_else(needed, batch["title"], batch["text"])
        at = batch.schema.get_field_index("text")
        batch = batch.set_column(at, batch.schema.field(at), texts)
    return batch, number


def _repeated_rows(
    read: Callable[[], Iterator[pa.RecordBatch]],
    find_location: Callable[[int], Location],
    field: str,
) -> npt.NDArray[np.int64]:
    """Find the numbers of the rows that repeat an earlier row.

    Raises:
        InputError: two rows with one id have different texts.
    """
    finder = DuplicateFinder()
    for batch in read():
        finder.add(batch["_id"].to_pylist())
    suspects = finder.suspects()
    firsts: dict[str, tuple[int, bytes]] = {}
    repeats: list[int] = []
    at = 0
    for batch in read():
        names: list[str] = batch["_id"].to_pylist()
        rows = [row for row, name in enumerate(names) if hash(name) in suspects]
        texts = normalise_passages(
            _titles_as_texts(batch.take(pa.array(rows, pa.int64())))[0]["text"]
        )
        for row, text in zip(rows, texts.to_pylist(), strict=True):
            here = at + row, hashlib.sha256(text.encode()).digest()
            first = firsts.setdefault(names[row], here)
            if first[1] != here[1]:
                raise duplicate_id(
                    names[row], find_location(first[0]), find_location(here[0]), field
                )
            if first is not here:
                repeats.append(here[0])
        at += len(names)
    return np.array(repeats, np.int64)


def located_passages(
    rows: Callable[[], Iterator[LocatedPassage]],
    counts: dict[str, int],
    skip_empty: bool,
    id_field: str = "docid",
) -> Iterator[pa.RecordBatch]:
    """Put passages with file positions into batches, checked by :func:`checked_passages`.

    Args:
        rows: yields passages, from the start at every call.
        counts: the numbers of passages skipped or merged are added.
        skip_empty: whether passages with neither text nor title are skipped.
        id_field: name of the field with the id in messages.

    Raises:
        InputError: an id is empty or has two texts, or a passage has neither text nor title.
    """
    return checked_passages(
        lambda: corpus_batches(
            (name, title, text, metadata) for _, name, title, text, metadata in rows()
        ),
        lambda number: next(location for location, *_ in islice(rows(), number, None)),
        counts,
        skip_empty,
        id_field=id_field,
    )


@dataclass(frozen=True)
class ReadOptions:
    """Options of reading a source: permissions to skip flawed rows (each use is counted), and more.

    Attributes:
        skip_empty: skip passages without text and title, and queries without text.
        skip_dangling: skip judgements that name a missing passage or query.
        workdir: folder for unpacked archives, which the caller removes.
        skip_contradictions: keep the higher of two judgements of one passage.
        judge: decides relevance in sources with claims instead of judgements; None for no judge.
        passages_only: read only the passages.
        extra_fields: whether fields unknown to a strict format are refused, ignored or kept.
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

    ``passages`` may be read several times, and yields the same rows in the same order each time.
    ``info().counts`` is complete when the results of all other methods were read to their ends.
    """

    def info(self) -> SourceInfo:
        """Return the provenance: files with hashes, licence, and counts so far."""
        ...

    def passages(self) -> Iterator[pa.RecordBatch]:
        """Yield the passages in batches of schema CORPUS, with distinct ids."""
        ...

    def queries(self) -> pa.Table:
        """Return the queries of the split (schema QUERIES), with distinct ids."""
        ...

    def relevant(self) -> pa.Table:
        """Return the judgements above zero (schema MAPPING), with distinct pairs."""
        ...

    def gold(self) -> pa.Table:
        """Return the gold answers (schema GOLD); an empty table if there are none."""
        return GOLD.empty_table()

    def mined(self) -> dict[str, pa.Table]:
        """Return the source's own mined negative passages, by label (schema MAPPING)."""
        return {}

    def locate_judgement(self, query_id: str, corpus_id: str) -> tuple[str, int | None]:
        """Return the file of a judgement and its line if known, for error messages."""
        ...


def without_queries(spec: str, contents: str = "passages") -> InputError:
    """Make the error for a source of passages alone that is asked for queries."""
    return InputError(
        f"contains {contents} but no queries",
        path=spec,
        allowed="--extra-corpus beside a --source with queries, or build alce --corpus",
        code="no-queries",
    )


class FileSource(Source, Protocol):
    """Base of sources that read files, which are hashed when the provenance is first asked for.

    Attributes:
        provenance: kind, files, licence and counts.
        files: name in the provenance to the file.
    """

    provenance: SourceInfo
    files: Mapping[str, Path]

    def info(self) -> SourceInfo:
        """Return the provenance, with hashes of the files."""
        if not self.provenance.files:
            self.provenance.files = {name: sha256_file(path) for name, path in self.files.items()}
        return self.provenance


@dataclass
class Judgements:
    """Judgements of (query, passage) pairs of one split.

    Attributes:
        path: file, for messages.
        scores: (query, passage) to judgement.
        lines: (query, passage) to the line of the judgement.
        skip_contradictions: whether the higher of two judgements is kept and the other counted.
        contradicted: number of judgements that were not kept.
    """

    path: str
    scores: dict[tuple[str, str], int] = field(default_factory=dict)
    lines: dict[tuple[str, str], int] = field(default_factory=dict)
    skip_contradictions: bool = False
    contradicted: int = 0

    def add(self, line: int, query: str, passage: str, score: int) -> None:
        """Add the relevance score of a (query, passage) pair, and the line that states it.

        Raises:
            InputError: it differs from an earlier judgement of the pair.
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
    """Source of judged pairs, whose queries and judgements are in memory.

    Attributes:
        provenance: kind, files, licence and counts.
        query_texts: query to (line, text), in order; blank ones are skipped or refused.
        judged: judgements.
        stream: yields the passages, from the start at every call.
        options: permissions.
        files: name of each file read to its path, for hashes.
        gold_table: gold answers, schema GOLD.
        negatives: negatives that the source itself has, by label (schema MAPPING).
        topics: file of the queries, for messages; None for that of the judgements.
        metadata: query to its metadata as JSON.
        id_field: name of the field with a passage's id, for messages.
    """

    provenance: SourceInfo
    query_texts: dict[str, tuple[int, str]]
    judged: Judgements
    stream: Callable[[], Iterator[LocatedPassage]]
    options: ReadOptions
    files: Mapping[str, Path] = field(default_factory=dict)
    gold_table: pa.Table = field(default_factory=GOLD.empty_table)
    negatives: dict[str, pa.Table] = field(default_factory=dict)
    topics: Path | str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    id_field: str = "docid"

    def passages(self) -> Iterator[pa.RecordBatch]:
        """Yield the passages in batches, each id once."""
        return located_passages(
            self.stream, self.provenance.counts, self.options.skip_empty, self.id_field
        )

    def queries(self) -> pa.Table:
        """Return the judged queries; unknown or blank ones are errors unless they are skipped."""
        judged = {query for query, _ in self.judged.scores}
        missing = [pair for pair in self.judged.scores if pair[0] not in self.query_texts]
        if missing and not self.options.skip_dangling:
            raise InputError(
                f"names the query {missing[0][0]!r}, which is not in the topics",
                path=self.judged.path,
                line=self.judged.lines[missing[0]],
                field="query-id",
                allowed="add the query, or pass --skip-dangling",
                code="unknown-query",
            )
        if missing:
            self.provenance.counts["judgements_of_unknown_queries"] = len(missing)
        queries = [(q, line, text) for q, (line, text) in self.query_texts.items() if q in judged]
        blank = [line for _, line, text in queries if not text.strip()]
        if blank and not self.options.skip_empty:
            raise empty_text(self.topics or self.judged.path, blank[0])
        if blank:
            self.provenance.counts[count_key("rows_without_text", "queries")] = len(blank)
        rows = [(q, text, self.metadata.get(q)) for q, _, text in queries if text.strip()]
        return table_of(rows, QUERIES)

    def relevant(self) -> pa.Table:
        """Return the judgements above zero, and count the others."""
        pairs = self.judged.scores
        rows = [(q, p, None, float(s), None) for (q, p), s in pairs.items() if s > 0]
        if len(rows) < len(pairs):
            self.provenance.counts["judgements_of_zero_or_less"] = len(pairs) - len(rows)
        if self.judged.contradicted:
            self.provenance.counts["contradicting_judgements"] = self.judged.contradicted
        return table_of(rows, MAPPING)

    def gold(self) -> pa.Table:
        """Return the gold answers."""
        return self.gold_table

    def mined(self) -> dict[str, pa.Table]:
        """Return the source's own mined negative passages, by label."""
        return self.negatives

    def locate_judgement(self, query_id: str, corpus_id: str) -> tuple[str, int | None]:
        """Return the file of the judgements, and the line of the given pair in it."""
        return self.judged.path, self.judged.lines.get((query_id, corpus_id))
