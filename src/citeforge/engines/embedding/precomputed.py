"""Vectors that were made elsewhere: NumPy or Parquet files, or a folder of them.

Each row is checked (numbers, a direction, the passage it is of) before anything is built on it.
Files are streamed: memory does not grow with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.engines.embedding.vectors import VectorShard, keep_shard
from citeforge.engines.io.files import digest, digest_folder, sha256_file
from citeforge.engines.io.progress import Advance
from citeforge.engines.io.tables import iter_batches, parquet_errors, read_schema
from citeforge.schemas.errors import InputError

ALLOWED = "FILE.npy (rows × values, floats), FILE.parquet (_id, vector), or a folder of one kind"
_COLUMNS = ("vector", "embedding")
_INFINITE = np.uint16(0x7C00)
"""Exponent bits of a float16; all of them are set in infinities and NaN (IEEE 754)."""


@dataclass(frozen=True)
class NpyFile:
    """A matrix in NumPy's format.

    Attributes:
        path: the file.
        rows: vectors in it.
        dimension: values a vector.
        dtype: of the values.
        offset: bytes before the first value.
    """

    path: Path
    rows: int
    dimension: int
    dtype: np.dtype[Any]
    offset: int


@dataclass(frozen=True)
class PrecomputedVectors:
    """Vectors on disk.

    Attributes:
        path: as the user named it.
        files: the files in order.
        dimension: values a vector.
        sha256: of the file, or of the folder's files.
    """

    path: Path
    files: Sequence[Path]
    dimension: int
    sha256: str

    @property
    def has_ids(self) -> bool:
        """Whether rows say what they are of."""
        return self.files[0].suffix == ".parquet"


def open_vectors(path: Path) -> PrecomputedVectors:
    """Look at vectors.

    Raises:
        InputError: it does not exist, holds none, files of several kinds, no matrix of floats, or
            several dimensions.
    """
    if not path.exists():
        raise InputError("does not exist", path=path, allowed=ALLOWED)
    files = [path]
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.suffix in (".npy", ".parquet"))
    if not files or len({p.suffix for p in files}) > 1:
        raise InputError("holds no vectors, or files of two kinds", path=path, allowed=ALLOWED)
    if files[0].suffix not in (".npy", ".parquet"):
        raise InputError("is neither .npy nor .parquet", path=path, allowed=ALLOWED)
    dimensions = [_dimension(p) for p in files]
    for file, (one, other) in zip(files[1:], pairwise(dimensions), strict=True):
        if one != other:
            raise InputError(f"has {other} values a vector, and the file before {one}", path=file)
    whole = digest_folder(path) if path.is_dir() else sha256_file(path)
    return PrecomputedVectors(path, files, dimensions[0], whole)


def open_both(passages: Path, queries: Path) -> tuple[PrecomputedVectors, PrecomputedVectors]:
    """Vectors of passages and of queries.

    Raises:
        InputError: as for :func:`open_vectors`, or they have not one dimension.
    """
    both = open_vectors(passages), open_vectors(queries)
    one, other = (vectors.dimension for vectors in both)
    if one != other:
        raise InputError(
            f"has {other} values a vector, {passages} {one}",
            path=queries,
            allowed="both by the same model",
        )
    return both


def _dimension(path: Path) -> int:
    if path.suffix == ".npy":
        return npy_file(path).dimension
    schema = read_schema(path)
    column = _column(schema, path)
    kind = schema.field(column).type
    if "_id" not in schema.names:
        raise InputError("lacks the column _id", path=path, allowed=ALLOWED)
    ids = schema.field("_id").type
    if pa.types.is_nested(ids):
        raise InputError(f"is of type {ids}", path=path, field="_id", allowed="texts")
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size)
    for batch in iter_batches([path], [column], rows=1):
        first = batch[column][0].as_py()
        if not first:
            raise InputError(
                "is empty", path=path, line=1, field=column, allowed="lists of floats, in each row"
            )
        return len(first)
    raise InputError("has no rows", path=path, allowed=ALLOWED)


def _column(schema: pa.Schema, path: Path) -> str:
    for name in _COLUMNS:
        if name in schema.names:
            kind = schema.field(name).type
            lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
            if any(is_of(kind) for is_of in lists) and pa.types.is_floating(kind.value_type):
                return name
            raise InputError(f"is of type {kind}", path=path, field=name, allowed="lists of floats")
    raise InputError("lacks the column vector", path=path, allowed=ALLOWED)


def npy_file(path: Path) -> NpyFile:
    """What the head of a .npy file says. Objects in it are never loaded.

    Raises:
        InputError: it is not of that format, holds no matrix of floats, or was cut short.
    """
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0
            if version != (1, 0):
                read = np.lib.format.read_array_header_2_0
            shape, by_columns, dtype = read(file)
            offset = file.tell()
    # NumPy hands the head to Python's own parser, which ends in errors of its own.
    except (OSError, ValueError, TokenError, MemoryError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:120]
        raise InputError(f"is no .npy file ({reason})", path=path, allowed=ALLOWED) from error
    is_float = np.issubdtype(dtype, np.floating) and dtype.itemsize <= 8
    is_matrix = len(shape) == 2 and all(type(n) is int and n > 0 for n in shape)
    if not is_matrix or not is_float or by_columns:
        order = ", in the order of columns" if by_columns else ""
        raise InputError(
            f"holds {dtype} of shape {shape}{order}",
            path=path,
            allowed="a matrix of float16, float32 or float64, one row a passage (C order)",
        )
    expected = offset + shape[0] * shape[1] * dtype.itemsize
    if path.stat().st_size != expected:
        raise InputError(
            f"has {path.stat().st_size:,} bytes, and its head says {expected:,}", path=path
        )
    return NpyFile(path, shape[0], shape[1], dtype, offset)


def passage_shards(
    source: PrecomputedVectors, ids: Iterator[pa.Array], total: int, folder: Path, advance: Advance
) -> list[VectorShard]:
    """Vectors of a corpus as shards.

    float16 in a .npy file is taken where it lies; all else is written as float16.

    Args:
        source: the vectors.
        ids: of the passages, in order, in the pieces that make a shard each.
        total: number of passages.
        folder: for shards that are written.
        advance: told the number of vectors checked.

    Raises:
        InputError: another number of vectors than passages, another order or other ids, a number
            that is not finite, or a vector without a direction; names the row and the passage.
    """
    _require_size(source, total)
    shards: list[VectorShard] = []
    rows = _Rows(source)
    for number, names in enumerate(ids):
        start = rows.at
        vectors, their = rows.take(len(names))
        if their is not None and not their.equals(names):
            _refuse_ids(source, start, their, names)
        _check(source, vectors, start, names)
        key = digest({"given": source.sha256, "rows": [start, rows.at]})
        place = rows.place(start, len(names), key)
        if place is None:
            made_from: dict[str, object] = {"given": source.sha256}
            path = folder / f"passages-{number:05d}.f16"
            place = keep_shard(path, _unit(vectors), key, made_from)
        shards.append(place)
        advance(len(names))
    return shards


def query_rows(
    source: PrecomputedVectors, all_ids: Sequence[str], ids: Sequence[str]
) -> npt.NDArray[Any]:
    """Unit vectors of some queries, float32.

    Args:
        source: the vectors: with ids in any order, or without in the order of ``all_ids``.
        all_ids: queries of the source.
        ids: those of the build.

    Raises:
        InputError: as for :func:`passage_shards`; or a query has none, or two.
    """
    if not source.has_ids:
        _require_size(source, len(all_ids))
    rows = _Rows(source)
    count = len(all_ids) if not source.has_ids else _length(source)
    vectors, names = rows.take(count)
    listed = list(all_ids) if names is None else names.to_pylist()
    where = {name: row for row, name in enumerate(listed)}
    if len(where) < len(listed):
        raise InputError("names a query twice", path=source.path, field="_id")
    missing = [name for name in ids if name not in where]
    if missing:
        raise InputError(
            f"has no vector of the query {missing[0]!r}", path=source.path, allowed="one a query"
        )
    ordered = vectors[[where[name] for name in ids]]
    _check(source, ordered, None, pa.array(ids, pa.string()))
    return _unit(ordered)


def _require_size(source: PrecomputedVectors, total: int) -> None:
    rows = _length(source)
    if rows != total:
        raise InputError(
            f"has {rows:,} vectors, and there are {total:,} texts",
            path=source.path,
            allowed="one vector each, in their order",
        )


def _length(source: PrecomputedVectors) -> int:
    if not source.has_ids:
        return sum(npy_file(p).rows for p in source.files)
    import pyarrow.parquet as pq

    rows = 0
    for path in source.files:
        with parquet_errors(path):
            rows += pq.read_metadata(path).num_rows
    return rows


def _refuse_ids(source: PrecomputedVectors, start: int, theirs: pa.Array, ours: pa.Array) -> None:
    for row, (their, our) in enumerate(zip(theirs.to_pylist(), ours.to_pylist(), strict=True)):
        if their != our:
            raise InputError(
                f"has the vector of {their!r} where the corpus has {our!r}",
                path=source.path,
                line=start + row + 1,
                field="_id",
                allowed="the passages of this corpus, in its order",
            )


def _check(
    source: PrecomputedVectors, vectors: npt.NDArray[Any], start: int | None, names: pa.Array
) -> None:
    if vectors.dtype == np.float16:
        bits = vectors.view(np.uint16)
        bad = ((bits & _INFINITE) == _INFINITE).any(axis=1)
        empty = ~((bits << 1).any(axis=1))
    else:
        bad = ~np.isfinite(vectors).all(axis=1)
        empty = ~vectors.any(axis=1)
    for rows, what in ((bad, "holds NaN or an infinity"), (empty, "is all zeros")):
        if rows.any():
            row = int(np.flatnonzero(rows)[0])
            raise InputError(
                f"the vector of {names[row].as_py()!r} {what}",
                path=source.path,
                line=None if start is None else start + row + 1,
                allowed="finite numbers, not all of them zero",
            )


def _unit(vectors: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    wide: npt.NDArray[np.float64] = vectors.astype(np.float64)
    # By a power of two, which changes no digit: squares of 1e200 and of 1e-200 are no numbers.
    wide = np.ldexp(wide, -np.frexp(np.abs(wide).max(axis=1, keepdims=True))[1])
    wide /= np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    rows: npt.NDArray[np.float32] = wide.astype(np.float32)
    return rows


class _Rows:
    """Reads rows of all files one after another."""

    def __init__(self, source: PrecomputedVectors) -> None:
        self.at = 0
        self._source = source
        self._npy = [] if source.has_ids else [npy_file(p) for p in source.files]
        self._batches = self._tables() if source.has_ids else iter(())
        self._rest: list[pa.RecordBatch] = []

    def take(self, n: int) -> tuple[npt.NDArray[Any], pa.Array | None]:
        """The next n vectors, and their ids where they have some."""
        if self._source.has_ids:
            return self._from_tables(n)
        pieces = [_read(file, first, count) for file, first, count in self._spans(self.at, n)]
        self.at += n
        return (pieces[0] if len(pieces) == 1 else np.concatenate(pieces)), None

    def _spans(self, start: int, n: int) -> Iterator[tuple[NpyFile, int, int]]:
        before = 0
        for file in self._npy:
            first, last = max(start - before, 0), min(start + n - before, file.rows)
            if first < last:
                yield file, first, last - first
            before += file.rows

    def place(self, start: int, n: int, key: str) -> VectorShard | None:
        """Rows where they lie, if they can be read there: float16, in one file."""
        spans = list(self._spans(start, n))
        if len(spans) != 1 or spans[0][0].dtype != np.dtype("<f2"):
            return None
        file, first, _ = spans[0]
        offset = file.offset + 2 * first * file.dimension
        return VectorShard(file.path, n, file.dimension, key, offset)

    def _tables(self) -> Iterator[pa.RecordBatch]:
        for path in self._source.files:
            names = ["_id", _column(read_schema(path), path)]
            for batch in iter_batches([path], names, rows=1 << 12):
                columns = [batch["_id"].cast(pa.string()), batch[names[1]]]
                yield pa.RecordBatch.from_arrays(columns, ["_id", "vector"])

    def _from_tables(self, n: int) -> tuple[npt.NDArray[Any], pa.Array]:
        while sum(b.num_rows for b in self._rest) < n:
            self._rest.append(next(self._batches))
        table = pa.Table.from_batches(self._rest).combine_chunks()
        head = table.slice(0, n)
        self._rest = table.slice(n).to_batches()
        vectors = np.concatenate(
            [self._matrix(chunk, self.at) for chunk in head["vector"].chunks]
            or [np.empty((0, self._source.dimension), np.float32)]
        )
        self.at += n
        return vectors, pa.concat_arrays(head["_id"].chunks)

    def _matrix(self, lists: pa.Array, start: int) -> npt.NDArray[Any]:
        dimension = self._source.dimension
        flat = lists.flatten()
        lengths = lists.value_lengths() if not pa.types.is_fixed_size_list(lists.type) else None
        odd = lists.null_count or flat.null_count or len(flat) != len(lists) * dimension
        if odd or (lengths is not None and lengths.unique().to_pylist() not in ([], [dimension])):
            sizes = [None if v is None else len(v) for v in lists.to_pylist()]
            row = next((i for i, size in enumerate(sizes) if size != dimension), 0)
            raise InputError(
                f"has {sizes[row]} values, or nothing among them, and others have {dimension}",
                path=self._source.path,
                line=start + row + 1,
                field="vector",
            )
        values: npt.NDArray[Any] = flat.to_numpy(zero_copy_only=False)
        return values.reshape(len(lists), dimension)


def _read(file: NpyFile, first: int, rows: int) -> npt.NDArray[Any]:
    size = rows * file.dimension
    with file.path.open("rb") as handle:
        handle.seek(file.offset + first * file.dimension * file.dtype.itemsize)
        values: npt.NDArray[Any] = np.fromfile(handle, file.dtype, size)
    if len(values) != size:
        raise InputError("was cut short while it was read", path=file.path)
    matrix: npt.NDArray[Any] = values.reshape(rows, file.dimension)
    return matrix
