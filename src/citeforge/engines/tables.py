"""Parquet tables in shards, written completely or not at all."""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from citeforge.engines.files import sha256_file, storage_errors
from citeforge.engines.interrupts import interrupts_held
from citeforge.engines.pages import bound_unpacked_bytes
from citeforge.engines.progress import progress
from citeforge.schemas.errors import InputError
from citeforge.schemas.tables import CORPUS
from citeforge.schemas.text import normalise_passages

T = TypeVar("T", pa.Table, pa.RecordBatch)
P = TypeVar("P", pa.Array, pa.RecordBatch, "npt.NDArray[Any]")

ROWS_PER_GROUP = 1 << 13
ROWS_PER_SHARD = 1 << 20
LARGEST_BATCH = 1 << 30
"""Largest size in bytes of a page, or of a batch in memory; more is a decompression bomb."""
LARGEST_RATIO = 1 << 10
"""Most bytes in memory per byte of the file; more is a bomb if it exceeds half a piece."""
_HARMLESS_RATIO = 1 << 6
"""The same limit for files that are read at once, computed from the headers of all pages."""
_PIECE_BYTES = 1 << 29
"""Most bytes in memory of rows decoded at once, unless a single row has more."""
_ZSTD_LEVEL = 1
_DAMAGED = "a fresh copy; citeforge verify says which files of a package are damaged"
_FAR_LESS = f"a table of a benchmark contains far less; {_DAMAGED}"


class TableWriter:
    """Writes record batches to ``folder/name-00000-of-0000N.parquet``.

    Row groups and shards are cut at fixed row counts, so that equal rows give equal bytes however
    they arrive. Encoding runs in a thread of its own beside whatever produces the batches.
    Use as a context manager; on an error the unfinished files are removed.

    Attributes:
        files: after the block, relative file names with their sha256.
        rows: number of rows written.
    """

    def __init__(self, folder: Path, name: str, schema: pa.Schema) -> None:
        """Prepare a table; its first shard is opened with the first row group.

        Args:
            folder: folder of the shards.
            name: first part of their names.
            schema: schema of the rows.
        """
        self.folder = folder
        self.name = name
        self.schema = schema
        self.rows = 0
        self.files: dict[str, str] = {}
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._encoder = ThreadPoolExecutor(1, thread_name_prefix="citeforge-parquet")
        self._encoding: Future[None] | None = None
        self._parts: list[Path] = []
        self._writer: pq.ParquetWriter | None = None
        self._shard_rows = 0

    def __enter__(self) -> Self:
        """Return this table writer."""
        return self

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Append rows with the table's schema."""
        for piece in batch.to_batches() if isinstance(batch, pa.Table) else [batch]:
            while len(piece):
                head = piece[: ROWS_PER_GROUP - self._pending_rows]
                self._pending.append(head)
                self._pending_rows += len(head)
                piece = piece[len(head) :]
                if self._pending_rows == ROWS_PER_GROUP:
                    self._send()

    def _send(self) -> None:
        """Hand the pending rows to the encoder thread as one row group."""
        table = pa.Table.from_batches(self._pending, self.schema)
        self.rows += table.num_rows
        self._pending, self._pending_rows = [], 0
        self._wait()
        with interrupts_held():  # nobody would wait for a thread whose start is cut
            self._encoding = self._encoder.submit(self._encode, table)

    def _wait(self) -> None:
        """Wait until the encoder thread has written the last row group; raise its errors."""
        if self._encoding is not None:
            with storage_errors(self.folder / self.name):
                self._encoding.result()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write the remaining rows and name the shards; on an error remove all files."""
        try:
            if kind is None:
                if self._pending:
                    self._send()
                self._wait()
                with storage_errors(self.folder / self.name):
                    self._close_part()
                    self._name_shards()
        finally:
            with interrupts_held():
                self._encoder.shutdown(cancel_futures=True)
                for path in self._parts:  # under these names only what is not whole
                    path.unlink(missing_ok=True)

    def _encode(self, table: pa.Table) -> None:
        """Write a row group in the encoder thread; close the shard when it is full."""
        writer = self._writer or self._open_part()
        writer.write_table(table, row_group_size=ROWS_PER_GROUP)
        self._shard_rows += table.num_rows
        if self._shard_rows >= ROWS_PER_SHARD:
            self._close_part()

    def _open_part(self) -> pq.ParquetWriter:
        """Open the next shard under a temporary name; return its writer."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f".{self.name}-{len(self._parts):05d}.parquet.tmp"
        self._parts.append(path)
        self._file = path.open("wb")
        # Dictionaries pay only on columns that repeat; on passages they cost time and memory.
        repeated = [n for n in self.schema.names if n in ("query-id", "query_id", "kind")]
        self._writer = pq.ParquetWriter(
            self._file,
            self.schema,
            compression="zstd",
            compression_level=_ZSTD_LEVEL,
            use_dictionary=repeated or False,
            write_statistics=[n for n in self.schema.names if n.endswith("id")],
        )
        self._shard_rows = 0
        return self._writer

    def _close_part(self) -> None:
        """Close the open shard, if there is one, and flush it to disk."""
        if self._writer is not None:
            self._writer.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._writer = None

    def _name_shards(self) -> None:
        """Rename the shards to their final names, and compute their hashes."""
        for old in self.folder.glob(f"{self.name}-?????-of-?????.parquet"):
            old.unlink()
        for number, path in enumerate(self._parts):
            name = f"{self.name}-{number:05d}-of-{len(self._parts):05d}.parquet"
            path.replace(self.folder / name)
            self.files[name] = sha256_file(self.folder / name)


def regroup(row_pieces: Iterable[P], size: int) -> Iterator[list[P]]:
    """Regroup consecutive pieces of rows into groups of ``size`` rows; the last has the rest.

    Args:
        row_pieces: arrays or batches of any length; cut where a group ends.
        size: rows of a group.
    """
    group: list[P] = []
    room = size
    for piece in row_pieces:
        while len(piece):
            group.append(piece[:room])
            piece, room = piece[len(group[-1]) :], room - len(group[-1])
            if not room:
                yield group
                group, room = [], size
    if group:
        yield group


def write_table(folder: Path, name: str, table: pa.Table) -> dict[str, str]:
    """Write a table in shards; return file names with sha256, none for a table without rows.

    Returns:
        File names with their sha256; empty when the table has no rows (an empty split breaks its
        config in ``datasets``, so it is not written).
    """
    with TableWriter(folder, name, table.schema) as writer:
        writer.write(table)
    return writer.files


def batch_of(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """Make a record batch from row tuples in the order of the schema's columns."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(c, t) for c, t in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def table_of(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """Make a table from row tuples in the order of the schema's columns."""
    return pa.Table.from_batches([batch_of(rows, schema)])


def rows_of(table: pa.Table | pa.RecordBatch, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table as tuples, of all columns or of the named ones in that order."""
    names = columns or table.schema.names
    return zip(*(table[name].to_pylist() for name in names), strict=True)


def rows_with(table: T, column: str, values: Iterable[str] | pa.Array | pa.ChunkedArray) -> T:
    """Select the rows of a table or batch whose column has one of some values."""
    is_arrow = isinstance(values, pa.Array | pa.ChunkedArray)
    ids = values if is_arrow else pa.array(list(values), pa.string())
    return table.filter(pc.is_in(table[column], value_set=ids))


def shard_paths(folder: Path, name: str) -> list[Path]:
    """List the Parquet files (shards) of a table in a folder, in order."""
    return sorted(folder.glob(f"{name}-?????-of-?????.parquet"))


def iter_batches(
    paths: Iterable[Path],
    columns: list[str] | None = None,
    rows: int = ROWS_PER_GROUP,
    schema: pa.Schema | None = None,
) -> Iterator[pa.RecordBatch]:
    """Stream record batches of at most ``rows`` rows from Parquet files, in order.

    Args:
        paths: files.
        columns: only these; None for all.
        rows: most rows of a batch.
        schema: that the files are to have; None where any will do.

    Raises:
        InputError: a file is missing or is not Parquet, lacks one of the columns, has other types
            than ``schema`` or nothing where something must be, or holds text that is not UTF-8.
    """
    columns = columns or (None if schema is None else schema.names)
    for path in paths:
        # Read ahead, Arrow would hold what it has read of a file until the last row group.
        with parquet_errors(path), pq.ParquetFile(path, pre_buffer=False) as file:
            _require_columns(path, columns or [], file.schema_arrow.names)
            there = file.schema_arrow
            fields = list(there) if columns is None else [there.field(n) for n in columns]
            # Other columns, whatever they hold, stay on the disk.
            yield from _decode_columns(
                path, file, rows, pa.schema([_pick_type(f, schema) for f in fields])
            )


def _pick_type(field: pa.Field, schema: pa.Schema | None) -> pa.Field:
    """Choose a column's type for reading: the schema's, else the file's, dictionaries decoded."""
    if schema is not None:
        return schema.field(field.name)
    if pa.types.is_dictionary(field.type):
        return field.with_type(field.type.value_type)
    return field.with_type(pa.string()) if pa.types.is_string_view(field.type) else field


def _decode_columns(
    path: Path, file: pq.ParquetFile, rows: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Decode columns in pieces so small that no file can exhaust the memory.

    Args:
        path: the file.
        file: the same, open.
        rows: rows of each batch but the last.
        schema: columns to decode, with the types to convert them to.

    Raises:
        InputError: a page, a batch or the file unpacks to more than any table of a benchmark.
    """
    (page, whole), size = bound_unpacked_bytes(path, file, schema.names), path.stat().st_size
    if page > LARGEST_BATCH:
        raise InputError(
            f"a page unpacks to {page:,} bytes", path=path, allowed=_FAR_LESS, code="too-large"
        )
    allowance = max(_PIECE_BYTES >> 1, LARGEST_RATIO * size)
    harmless = whole < _HARMLESS_RATIO * size
    at_once = rows if harmless else max(1, min(rows, _PIECE_BYTES // max(page, 1)))

    def pieces() -> Iterator[pa.RecordBatch]:
        """Yield the columns in pieces of bounded size, checked and converted to the schema's types.

        A file that unpacks to far more than its size is refused before memory runs out.
        """
        n_rows = n_bytes = of_file = 0
        for piece in file.iter_batches(batch_size=at_once, columns=schema.names):
            # Parquet keeps no promise about the bytes of its strings; Python would stumble
            # over them much later, where nobody knows the file.
            piece.validate(full=True)
            _require_filled(path, piece, schema)
            piece = piece if piece.schema.equals(schema) else piece.cast(schema)
            if n_rows + piece.num_rows > rows:  # a batch ends in it
                n_rows, n_bytes = n_rows - rows, 0
            n_rows += piece.num_rows
            n_bytes += piece.nbytes
            of_file += piece.nbytes
            if n_bytes > LARGEST_BATCH or of_file > allowance:
                largest = max(schema.names, key=lambda name: piece[name].nbytes)
                raise InputError(
                    f"unpacks to at least {piece[largest].nbytes:,} bytes in {n_rows:,} rows, "
                    f"from a file of {size:,}",
                    path=path,
                    field=largest,
                    allowed=_FAR_LESS,
                    code="too-large",
                )
            yield piece
        if not of_file:  # no row shows whether the types are right
            pa.Table.from_batches([], file.schema_arrow).select(schema.names).cast(schema)

    for group in regroup(pieces(), rows):
        yield group[0] if len(group) == 1 else pa.concat_batches(group)


def read_table(paths: Iterable[Path], schema: pa.Schema) -> pa.Table:
    """Read whole Parquet files into one table of the given schema.

    Raises:
        InputError: a file is missing, is not Parquet, has other columns or types, holds text that
            is not UTF-8, or nothing where something must be, or unpacks to more than any table.
    """
    # `pq.read_table` would import pandas, which takes longer than the reading.
    return pa.Table.from_batches(list(iter_batches(paths, schema=schema)), schema)


def count_rows(paths: Iterable[Path]) -> int:
    """Count the rows of Parquet files, from their metadata.

    Raises:
        InputError: a file is missing or is not Parquet.
    """
    total = 0
    for path in paths:
        with parquet_errors(path):
            total += pq.read_metadata(path).num_rows
    return total


def take_rows(corpus: list[Path], positions: npt.NDArray[np.int64], columns: list[str]) -> pa.Table:
    """Read the named columns of the corpus rows at the given positions, which are sorted.

    Args:
        corpus: Parquet files.
        positions: rows to read, over all files.
        columns: columns to read.
    """
    pieces = []
    start = at = 0
    for batch in iter_batches(corpus, columns):
        end = int(np.searchsorted(positions, start + batch.num_rows))
        if end > at:
            pieces.append(batch.take(pa.array(positions[at:end] - start)))
        start, at = start + batch.num_rows, end
    schema = pa.schema([CORPUS.field(c) for c in columns])
    return pa.Table.from_batches(pieces, schema)


def find_rows(
    corpus: list[Path], column: str, values: pa.Array, progress_label: str = "looking passages up"
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find corpus rows with given ids or texts: (positions of rows, index of each row's value).

    Args:
        corpus: Parquet files.
        column: ``_id``, or ``text`` for equality under :func:`normalise_passages`.
        values: distinct values to look for.
        progress_label: description of the work, for the progress line.

    Returns:
        (positions in the corpus, index of the value found there), in corpus order.
    """
    positions, indices = [], []
    start = 0
    with progress(progress_label, None, "passages") as advance:
        for batch in iter_batches(corpus, [column]):
            data = batch[column] if column == "_id" else normalise_passages(batch[column])
            matches = pc.index_in(data, value_set=values)
            rows = np.flatnonzero(matches.is_valid().to_numpy(False))
            positions.append(rows + start)
            indices.append(matches.take(pa.array(rows)).to_numpy(False).astype(np.int64))
            start += batch.num_rows
            advance(batch.num_rows)
    return np.concatenate(positions).astype(np.int64), np.concatenate(indices)


def read_ids_and_ranks(
    corpus: list[Path], positions: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.int64]]:
    """Read the passage ids at corpus positions, and each id's rank among them in sorted order.

    The ranks break ties.

    Args:
        corpus: Parquet files.
        positions: rows of the corpus.

    Returns:
        (id, rank) arrays in the order of the positions.
    """
    unique, inverse = np.unique(positions, return_inverse=True)
    ids = take_rows(corpus, unique, ["_id"])["_id"]
    ranks = np.empty(len(unique), np.int64)
    ranks[pc.sort_indices(ids).to_numpy()] = np.arange(len(unique))
    names = np.array(ids.to_pylist(), dtype=object)
    return names[inverse], ranks[inverse]


def read_schema(path: Path) -> pa.Schema:
    """Read the schema of a Parquet file.

    Raises:
        InputError: it is missing or is not Parquet.
    """
    with parquet_errors(path):
        return pq.read_schema(path)


def _require_columns(path: Path, required_columns: list[str], file_columns: list[str]) -> None:
    """Refuse a Parquet file in which a required column is missing or comes twice."""
    missing = [n for n in required_columns if n not in file_columns]
    twice = next((n for n in required_columns if file_columns.count(n) > 1), None)
    if twice is not None:
        raise InputError(
            "is a duplicate column",
            path=path,
            field=twice,
            allowed=_DAMAGED,
            code="schema-mismatch",
        )
    if missing:
        raise InputError(
            f"has no column {', '.join(missing)}",
            path=path,
            allowed=f"columns: {', '.join(required_columns)}",
            code="schema-mismatch",
        )


def _require_filled(path: Path, table: pa.Table | pa.RecordBatch, schema: pa.Schema) -> None:
    """Refuse null values in columns of a Parquet file that may not have any."""
    for name in table.schema.names:
        if not schema.field(name).nullable and table[name].null_count:
            raise InputError(
                "has an empty value",
                path=path,
                field=name,
                allowed=_DAMAGED,
                code="schema-mismatch",
            )


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Turn errors of reading a Parquet file in the ``with`` block into an InputError.

    Raises:
        InputError: the file is damaged or missing; gives pyarrow's reason.
    """
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError, MemoryError) as error:
        raise InputError(
            f"is not a readable Parquet file ({str(error)[:120]})",
            path=path,
            allowed=_DAMAGED,
            code="bad-parquet",
        ) from error
