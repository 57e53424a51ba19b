"""Base classes of sources of benchmarks, and the checks of their passages.

Each passage of a source has an id and a text, and no id occurs twice.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.files import sha256_file
from citeforge.engines.tables import batch_of
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import ExtraFields
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import CORPUS, GOLD, MAPPING
from citeforge.schemas.text import normalise_passages

if TYPE_CHECKING:
    from citeforge.engines.judge.session import JudgeSession

_BATCH = 4096


@dataclass(frozen=True, slots=True)
class Location:
    """File and line of a passage, for messages."""

    path: Path | str
    line: int


class LocatedPassage(NamedTuple):
    """A passage of a source, and the file and line that it is from.

    Attributes:
        path: file, or another name of what was read, for messages.
        line: line or number in it, from 1.
        id: id of the passage.
        title: title; empty for none.
        text: text of the passage.
        metadata: JSON object as text; None for none.
    """

    path: Path | str
    line: int
    id: str
    title: str
    text: str
    metadata: str | None = None


def check_id(value: str, path: Path | str, line: int, field: str = "_id") -> None:
    """Raise an error for an empty id of a passage or query.

    Args:
        value: the id.
        path: its file, for the message.
        line: its line.
        field: its field.

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
    """Make the error for an id (``name``) at two locations with different content.

    Args:
        name: the id.
        first: where it occurs first.
        second: where it occurs again.
        field: field with the id.
    """
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
    """Put passages, each (id, title, text, metadata), into Arrow batches of schema CORPUS."""
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
        """Add the hashes of some ids; return whether the hash of one of them came before.

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


class RowChecks:
    """Checks and repairs of rows with ids and texts, batch by batch: passages, or queries.

    Of rows with one id and equal normalised texts, the first stays. A row with a title alone gets
    the title as its text. Memory grows by eight bytes per id, and with repeated ids.

    Attributes:
        counts: numbers of rows skipped, merged, or with their title as text, by key.
    """

    def __init__(self, source: Source, noun: str = "passages") -> None:
        """Prepare to check a source's rows (``noun``: passages or queries): ids, texts, repeats.

        Args:
            source: says what is skipped, and for errors the line of a row and names of fields.
            noun: plural noun for the rows, in counts.
        """
        self.counts: Counter[str] = Counter()
        self._source, self._noun = source, noun
        self._finder = DuplicateFinder()
        self._repeats: npt.NDArray[np.int64] | None = None
        self._n_checked = 0

    def has_repeats(self, batch: pa.RecordBatch) -> bool:
        """Register a batch's ids; return whether one may repeat (False after :meth:`find_repeats`).

        Raises:
            InputError: an id is empty.
        """
        ids: list[str] = batch["_id"].to_pylist()
        if "" in ids:
            location = self._source.locate_row(self._n_checked + ids.index(""))
            check_id("", location.path, location.line, self._source.field_name("_id", self._noun))
        return self._repeats is None and self._finder.add(ids)

    def find_repeats(
        self, batches: Iterable[pa.RecordBatch], same_batches: Iterable[pa.RecordBatch]
    ) -> None:
        """Find rows that repeat an earlier id, reading all batches twice; :meth:`clean` omits them.

        Args:
            batches: all rows, from the start.
            same_batches: the same once more.

        Raises:
            InputError: two rows with one id have different texts.
        """
        finder = DuplicateFinder()
        for batch in batches:
            finder.add(batch["_id"].to_pylist())
        suspects = finder.suspects()
        firsts: dict[str, tuple[int, bytes]] = {}
        repeats: list[int] = []
        at = 0
        for batch in same_batches:
            names: list[str] = batch["_id"].to_pylist()
            numbers = [row for row, name in enumerate(names) if hash(name) in suspects]
            texts = normalise_passages(
                _titles_as_texts(batch.take(pa.array(numbers, pa.int64())))[0]["text"]
            )
            for row, text in zip(numbers, texts.to_pylist(), strict=True):
                here = at + row, hashlib.sha256(text.encode()).digest()
                first = firsts.setdefault(names[row], here)
                if first[1] != here[1]:
                    raise duplicate_id(
                        names[row],
                        self._source.locate_row(first[0]),
                        self._source.locate_row(here[0]),
                        self._source.field_name("_id", self._noun),
                    )
                if first is not here:
                    repeats.append(here[0])
            at += len(names)
        self._repeats = np.array(repeats, np.int64)

    def clean(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the next batch without repeated and empty rows, with titles as missing texts.

        Raises:
            InputError: a row has neither text nor title, and the source does not skip these.
        """
        start, n_rows = self._n_checked, batch.num_rows
        batch, n_titles = _titles_as_texts(batch)
        self._count("rows_with_a_title_alone", n_titles)
        kept = pc.invert(_is_blank(batch["text"]))
        n_empty = n_rows - (pc.sum(kept).as_py() or 0)
        if n_empty and not self._source.options.skip_empty:
            location = self._source.locate_row(start + kept.index(False).as_py())
            field = self._source.field_name("text", self._noun)
            raise empty_text(location.path, location.line, field)
        self._count("rows_without_text", n_empty)
        if self._repeats is not None:
            is_again = np.isin(np.arange(start, start + n_rows), self._repeats)
            is_again &= kept.to_numpy(False)
            self._count("repeated_rows", int(is_again.sum()))
            kept = pc.and_not(kept, pa.array(is_again))
        self._n_checked += n_rows
        return batch.filter(kept)

    def _count(self, name: str, number: int) -> None:
        """Add a number of rows to the count with a name; 0 adds nothing."""
        if number:
            self.counts[count_key(name, self._noun)] += number


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
        keeps_unjudged: keep queries without judgements, and allow that there are none at all.
        extra_fields: whether fields unknown to a strict format are refused, ignored or kept.
    """

    skip_empty: bool = False
    skip_dangling: bool = False
    workdir: Path = field(default_factory=Path)
    skip_contradictions: bool = False
    judge: JudgeSession | None = None
    passages_only: bool = False
    keeps_unjudged: bool = False
    extra_fields: ExtraFields = "refuse"


class Source(ABC):
    """One data set: its queries, judgements, gold and passages; each may be read several times.

    A source is one subclass. It defines ``rows``, which yields its passages; or, if it has whole
    tables, ``read_batches`` and ``locate_row``. Rows come in the same order each time.
    ``info().counts`` is complete when the results of all other methods were read to their ends.

    Attributes:
        provenance: name, files, licence and counts.
        options: permissions to skip flawed rows, and more.
        files: name in the provenance to the file, which is hashed when the provenance is asked for.
        id_field: name of the field with a passage's id, for messages.
    """

    id_field = "docid"

    def __init__(
        self, provenance: SourceInfo, options: ReadOptions, files: Mapping[str, Path] | None = None
    ) -> None:
        """Keep the provenance, the options and the files whose hashes the provenance will list."""
        self.provenance, self.options, self.files = provenance, options, files or {}

    def info(self) -> SourceInfo:
        """Return the provenance: files with hashes, licence, and counts so far."""
        if not self.provenance.files:
            self.provenance.files = {name: sha256_file(path) for name, path in self.files.items()}
        return self.provenance

    def passages(self) -> Iterator[pa.RecordBatch]:
        """Yield the passages in batches of schema CORPUS: each id once, none without text.

        Raises:
            InputError: an id is empty or has two texts, or a passage has neither text nor title.
        """
        checks = RowChecks(self)
        for batch in self.read_batches():
            if checks.has_repeats(batch):
                checks.find_repeats(self.read_batches(), self.read_batches())
            yield checks.clean(batch)
        self.provenance.counts.update(checks.counts)

    def read_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the passages in batches of schema CORPUS, as the data set has them, unchecked."""
        return corpus_batches((row.id, row.title, row.text, row.metadata) for row in self.rows())

    def rows(self) -> Iterator[LocatedPassage]:
        """Yield the passages one by one, as the data set has them, unchecked."""
        raise NotImplementedError(f"{type(self).__name__} defines neither rows nor read_batches")

    def locate_row(self, number: int) -> Location:
        """Find the file and line of a passage by its number in ``read_batches``, from 0."""
        row = next(islice(self.rows(), number, None))
        return Location(row.path, row.line)

    def field_name(self, name: str, noun: str) -> str:
        """Name a field of passages or queries (``noun``) as its file does, for messages.

        Args:
            name: ``_id`` or ``text``.
            noun: ``passages`` or ``queries``.
        """
        return self.id_field if name == "_id" else name

    @abstractmethod
    def queries(self) -> pa.Table:
        """Return the queries of the split (schema QUERIES), with distinct ids."""

    @abstractmethod
    def relevant(self) -> pa.Table:
        """Return the judgements above zero (schema MAPPING), with distinct pairs."""

    def gold(self) -> pa.Table:
        """Return the gold answers (schema GOLD); an empty table if there are none."""
        return GOLD.empty_table()

    def mined(self) -> dict[str, pa.Table]:
        """Return the source's own mined negative passages, by label (schema MAPPING)."""
        return {}

    def unsure(self) -> pa.Table:
        """Return the passages that may be relevant and are no negatives (schema MAPPING)."""
        return MAPPING.empty_table()

    @abstractmethod
    def locate_judgement(self, query_id: str, corpus_id: str) -> tuple[str, int | None]:
        """Return the file of a judgement and its line if known, for error messages."""


class PassagesAlone(Source):
    """Base of sources with passages but no queries and judgements, which raise an error."""

    contents = "passages"

    def queries(self) -> pa.Table:
        """Raise an InputError: the source has no queries."""
        raise without_queries(self.provenance.spec, self.contents)

    relevant = queries

    def locate_judgement(self, query_id: str, corpus_id: str) -> tuple[str, int | None]:
        """Return (name of the source, None), since it has no judgements."""
        return self.provenance.spec, None


def without_queries(spec: str, contents: str = "passages") -> InputError:
    """Make the error for a source of passages alone that is asked for queries."""
    return InputError(
        f"contains {contents} but no queries",
        path=spec,
        allowed="--extra-corpus beside a --source with queries, or build alce --corpus",
        code="no-queries",
    )
