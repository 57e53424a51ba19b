"""Parquet tables in shards: written whole or not at all, hashed while written."""

from __future__ import annotations

import hashlib
import os
import queue
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from citeforge.engines.io.files import storage_error
from citeforge.schemas.errors import InputError

ROWS_PER_GROUP = 1 << 13
ROWS_PER_SHARD = 1 << 20
_ZSTD_LEVEL = 1
_DAMAGED = "a fresh copy; citeforge verify says which files of a package are damaged"


class _HashingFile:
    """A binary file that keeps the sha256 of all that was written to it."""

    def __init__(self, path: Path) -> None:
        self._file: IO[bytes] = path.open("wb")
        self.sha256 = hashlib.sha256()
        self.closed = False

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self.closed = True


class TableWriter:
    """Writes record batches to ``folder/name-00000-of-0000N.parquet``.

    Row groups and shards are cut at fixed row counts, so that equal rows give equal bytes however
    they arrive. Encoding runs in a thread of its own beside whatever produces the batches.
    Use as a context manager; on an error the unfinished files are removed.

    Attributes:
        files: after the block, relative file names with their sha256.
        rows: number of rows written.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        schema: pa.Schema,
        rows_per_shard: int = ROWS_PER_SHARD,
        rows_per_group: int = ROWS_PER_GROUP,
    ) -> None:
        self.folder = folder
        self.name = name
        self.schema = schema
        self.rows = 0
        self.files: dict[str, str] = {}
        self._rows_per_shard = rows_per_shard
        self._rows_per_group = rows_per_group
        self._parts: list[tuple[Path, str]] = []
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._queue: queue.Queue[pa.Table | None] = queue.Queue(maxsize=2)
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._encode_all, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Append rows; they must have the writer's schema."""
        for piece in batch.to_batches() if isinstance(batch, pa.Table) else [batch]:
            at = 0
            while at < piece.num_rows:
                take = min(piece.num_rows - at, self._rows_per_group - self._pending_rows)
                self._pending.append(piece.slice(at, take))
                self._pending_rows += take
                at += take
                if self._pending_rows == self._rows_per_group:
                    self._send()

    def _send(self) -> None:
        self._raise_failure()
        table = pa.Table.from_batches(self._pending, self.schema)
        self.rows += table.num_rows
        self._pending, self._pending_rows = [], 0
        self._queue.put(table)

    def _raise_failure(self) -> None:
        if isinstance(self._failure, OSError):
            raise storage_error(self._failure, self.folder / self.name) from self._failure
        if self._failure is not None:
            raise self._failure

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self._failure is None and self._pending:
            self._send()
        self._queue.put(None)
        self._thread.join()
        if kind is None and self._failure is None:
            self._name_shards()
            return
        for path, _ in self._parts:
            path.unlink(missing_ok=True)
        if kind is None:
            self._raise_failure()

    def _encode_all(self) -> None:
        """Body of the encoding thread; keeps draining after a failure so that nobody waits."""
        writer: pq.ParquetWriter | None = None
        sink: _HashingFile | None = None
        in_shard = 0
        try:
            while (table := self._queue.get()) is not None:
                if self._failure is not None:
                    continue
                try:
                    if writer is None:
                        sink = self._open_part()
                        writer = self._open_writer(sink)
                    writer.write_table(table, row_group_size=self._rows_per_group)
                    in_shard += table.num_rows
                    if in_shard >= self._rows_per_shard:
                        self._close_part(writer, sink)
                        writer, in_shard = None, 0
                except BaseException as error:
                    self._failure = error
            if writer is not None and self._failure is None:
                self._close_part(writer, sink)
        except BaseException as error:
            self._failure = error

    def _open_part(self) -> _HashingFile:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f".{self.name}-{len(self._parts):05d}.parquet.tmp"
        self._parts.append((path, ""))
        return _HashingFile(path)

    def _open_writer(self, sink: _HashingFile) -> pq.ParquetWriter:
        # Dictionaries pay only on columns that repeat; on passages they cost time and memory.
        repeated = [n for n in self.schema.names if n in ("query-id", "query_id", "kind")]
        return pq.ParquetWriter(
            sink,
            self.schema,
            compression="zstd",
            compression_level=_ZSTD_LEVEL,
            use_dictionary=repeated or False,
            write_statistics=[n for n in self.schema.names if n.endswith("id")],
        )

    def _close_part(self, writer: pq.ParquetWriter, sink: _HashingFile | None) -> None:
        writer.close()
        assert sink is not None
        sink.close()
        self._parts[-1] = (self._parts[-1][0], sink.sha256.hexdigest())

    def _name_shards(self) -> None:
        for old in self.folder.glob(f"{self.name}-?????-of-?????.parquet"):
            old.unlink()
        for number, (path, sha256) in enumerate(self._parts):
            name = f"{self.name}-{number:05d}-of-{len(self._parts):05d}.parquet"
            path.replace(self.folder / name)
            self.files[name] = sha256


def write_table(folder: Path, name: str, table: pa.Table) -> dict[str, str]:
    """Write one table in shards.

    Returns:
        File names with their sha256; empty when the table has no rows (an empty split breaks its
        config in ``datasets``, so it is not written).
    """
    with TableWriter(folder, name, table.schema) as writer:
        writer.write(table)
    return writer.files


def batch_of(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """A record batch from row tuples in the order of the schema's columns."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(c, t) for c, t in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def table_of(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """A table from row tuples in the order of the schema's columns."""
    return pa.Table.from_batches([batch_of(rows, schema)])


def shard_paths(folder: Path, name: str) -> list[Path]:
    """Shards of a table in order."""
    return sorted(folder.glob(f"{name}-?????-of-?????.parquet"))


def iter_batches(
    paths: Iterable[Path],
    columns: list[str] | None = None,
    rows: int = ROWS_PER_GROUP,
    schema: pa.Schema | None = None,
) -> Iterator[pa.RecordBatch]:
    """Record batches of at most ``rows`` rows, streamed from Parquet files in order.

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
            _require(path, columns or [], file.schema_arrow.names)
            for batch in file.iter_batches(batch_size=rows, columns=columns):
                # Parquet keeps no promise about the bytes of its strings; Python would stumble
                # over them much later, where nobody knows the file.
                batch.validate(full=True)
                if schema is not None:
                    _require_filled(path, batch, schema)
                    wanted = pa.schema([schema.field(name) for name in batch.schema.names])
                    batch = batch if batch.schema.equals(wanted) else batch.cast(wanted)
                yield batch


def read_table(paths: Iterable[Path], schema: pa.Schema) -> pa.Table:
    """Read whole Parquet files into one table of the given schema.

    Raises:
        InputError: a file is missing, is not Parquet, has other columns or types, holds text that
            is not UTF-8, or nothing where something must be.
    """
    tables = []
    for path in paths:
        # `pq.read_table` would import pandas, which takes longer than the reading.
        with parquet_errors(path), pq.ParquetFile(path) as file:
            _require(path, schema.names, file.schema_arrow.names)
            # Other columns, whatever they hold, stay on the disk.
            table = file.read(columns=schema.names).select(schema.names)
            table.validate(full=True)
            _require_filled(path, table, schema)
            tables.append(table.cast(schema))
    return pa.concat_tables(tables) if tables else schema.empty_table()


def read_schema(path: Path) -> pa.Schema:
    """The schema of a Parquet file.

    Raises:
        InputError: it is missing or is not Parquet.
    """
    with parquet_errors(path):
        return pq.read_schema(path)


def _require(path: Path, wanted: list[str], there: list[str]) -> None:
    missing = [n for n in wanted if n not in there]
    twice = next((n for n in wanted if there.count(n) > 1), None)
    if twice is not None:
        raise InputError("is there twice", path=path, field=twice, allowed=_DAMAGED)
    if missing:
        raise InputError(
            f"lacks the columns {', '.join(missing)}",
            path=path,
            allowed=f"columns: {', '.join(wanted)}",
        )


def _require_filled(path: Path, found: pa.Table | pa.RecordBatch, schema: pa.Schema) -> None:
    for name in found.schema.names:
        if not schema.field(name).nullable and found[name].null_count:
            raise InputError("is empty in some row", path=path, field=name, allowed=_DAMAGED)


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Around every read of a Parquet file.

    Raises:
        InputError: what pyarrow says of a damaged or missing file, with its name.
    """
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError, MemoryError) as error:
        raise InputError(
            f"is not a readable Parquet file ({str(error)[:120]})", path=path, allowed=_DAMAGED
        ) from error
