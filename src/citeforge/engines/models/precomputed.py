"""Vectors that the user computed: NumPy or Parquet files, or a folder of them.

Each row is checked (numbers, a direction, the passage it is of) before anything is built on it.
Files are streamed: memory does not grow with them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.files import digest, digest_path
from citeforge.engines.models.vectors import SUFFIX, VectorShard, keep_shard
from citeforge.engines.progress import Advance
from citeforge.engines.tables import count_rows, iter_batches, read_schema
from citeforge.schemas.errors import InputError

ALLOWED = "FILE.npy (rows × values, floats), FILE.parquet (_id, vector), or a folder of one kind"
_COLUMNS = ("vector", "embedding")
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_BATCH_ROWS = 1 << 12
Matrix = npt.NDArray[Any]


@dataclass(frozen=True)
class PrecomputedVectors:
    """Files with vectors that the user computed.

    Attributes:
        path: as the user named it.
        files: the files in order.
        rows: vectors in all of them.
        dimension: values per vector.
        sha256: hash of the file, or of the folder's files.
    """

    path: Path
    files: Sequence[Path]
    rows: int
    dimension: int
    sha256: str

    @property
    def has_ids(self) -> bool:
        """Whether each vector has its text's id (Parquet); NumPy rows are matched by order."""
        return self.files[0].suffix == ".parquet"

    def require_rows(self, total: int) -> None:
        """Refuse files that do not have exactly ``total`` vectors.

        Raises:
            InputError: another number.
        """
        if self.rows != total:
            raise InputError(
                f"has {self.rows:,} vectors for {total:,} texts",
                path=self.path,
                allowed="one vector each, in their order",
                code="bad-vectors",
            )


def open_vectors(path: Path) -> PrecomputedVectors:
    """Open files of vectors: read their shapes, and compute their hash.

    Raises:
        InputError: it does not exist, holds none, files of several kinds, no matrix of floats, or
            several dimensions.
    """
    if not path.exists():
        raise InputError("does not exist", path=path, allowed=ALLOWED, code="missing-file")
    files = [path]
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.suffix in _SHAPES)
    kinds = {p.suffix for p in files}
    if len(kinds) != 1:
        raise InputError(
            "contains no vectors, or files of two kinds",
            path=path,
            allowed=ALLOWED,
            code="bad-vectors",
        )
    if not kinds <= _SHAPES.keys():
        raise InputError(
            "is neither a .npy nor a .parquet file", path=path, allowed=ALLOWED, code="bad-vectors"
        )
    total = dimension = 0
    for file in files:
        rows, width = _SHAPES[file.suffix](file)
        if total and width != dimension:
            raise InputError(
                f"has {width} values per vector; the file before has {dimension}",
                path=file,
                code="bad-vectors",
            )
        total, dimension = total + rows, width
    return PrecomputedVectors(path, files, total, dimension, digest_path(path))


def open_both(passages: Path, queries: Path) -> tuple[PrecomputedVectors, PrecomputedVectors]:
    """Open precomputed vectors: (of passages, of queries); refuse unequal dimensions.

    Returns:
        (vectors of passages, vectors of queries).

    Raises:
        InputError: as for :func:`open_vectors`, or they have not one dimension.
    """
    both = open_vectors(passages), open_vectors(queries)
    one, other = (vectors.dimension for vectors in both)
    if one != other:
        raise InputError(
            f"has {other} values per vector; {passages} has {one}",
            path=queries,
            allowed="vectors of queries and passages by the same model",
            code="bad-vectors",
        )
    return both


def _table_shape(path: Path) -> tuple[int, int]:
    """Read (number of rows, dimension) of a Parquet file of vectors."""
    n_rows = count_rows([path])
    column, schema = _vector_column(path)
    if "_id" not in schema.names:
        raise InputError(
            "is missing", path=path, field="_id", allowed=ALLOWED, code="missing-field"
        )
    ids, kind = schema.field("_id").type, schema.field(column).type
    if pa.types.is_nested(ids):
        raise InputError(
            f"is of type {ids}", path=path, field="_id", allowed="texts", code="wrong-type"
        )
    if pa.types.is_fixed_size_list(kind) and n_rows:
        return n_rows, int(kind.list_size)
    for batch in iter_batches([path], [column], rows=1):
        if first := batch[column][0].as_py():
            return n_rows, len(first)
        raise InputError(
            "is empty",
            path=path,
            line=1,
            field=column,
            allowed="lists of floats, in each row",
            code="bad-vectors",
        )
    raise InputError("has no rows", path=path, allowed=ALLOWED, code="bad-vectors")


def _vector_column(path: Path) -> tuple[str, pa.Schema]:
    """Find the column with the vectors in a Parquet file: (name, schema of the file)."""
    schema = read_schema(path)
    name = next((n for n in _COLUMNS if n in schema.names), None)
    if name is None:
        raise InputError(
            "is missing", path=path, field="vector", allowed=ALLOWED, code="missing-field"
        )
    kind = schema.field(name).type
    if not (any(is_of(kind) for is_of in _LISTS) and pa.types.is_floating(kind.value_type)):
        raise InputError(
            f"is of type {kind}",
            path=path,
            field=name,
            allowed="lists of floats",
            code="wrong-type",
        )
    return name, schema


def _open_npy(path: Path) -> np.memmap[Any, Any]:
    """Map the matrix of a .npy file into memory; refuse what is no matrix of floats.

    Raises:
        InputError: it is not of that format, holds no matrix of floats, or was cut short.
    """
    try:
        matrix = np.lib.format.open_memmap(path, "r")
    # NumPy hands the head to Python's own parser, which ends in errors of its own.
    except (OSError, ValueError, TypeError, TokenError, MemoryError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:120]
        raise InputError(
            f"truncated or damaged .npy file ({reason})",
            path=path,
            allowed=ALLOWED,
            code="bad-vectors",
        ) from error
    dtype, is_matrix = matrix.dtype, matrix.ndim == 2 and matrix.size > 0
    is_float = np.issubdtype(dtype, np.floating) and dtype.itemsize <= 8
    if not (is_matrix and is_float and matrix.flags.c_contiguous):
        order = "" if matrix.flags.c_contiguous else ", in the order of columns"
        raise InputError(
            f"contains {dtype} of shape {matrix.shape}{order}",
            path=path,
            allowed="a matrix of float16, float32 or float64, one row per passage (C order)",
            code="bad-vectors",
        )
    size, expected = path.stat().st_size, matrix.offset + matrix.nbytes
    if size != expected:
        raise InputError(
            f"has {size:,} bytes; its header declares {expected:,}", path=path, code="bad-vectors"
        )
    return matrix


_SHAPES = {".npy": lambda path: _open_npy(path).shape, ".parquet": _table_shape}


def passage_shards(
    source: PrecomputedVectors,
    ids: Iterator[pa.Array],
    n_passages: int,
    folder: Path,
    advance: Advance,
) -> list[VectorShard]:
    """Check a corpus's vectors against its passages; return shards (written ones in ``folder``).

    float16 and float32 in a .npy file are taken where they lie; all else is written as float32.

    Args:
        source: the vectors.
        ids: passage ids in order, one array per shard.
        n_passages: number of passages.
        folder: for shards that are written.
        advance: called with the number of vectors checked.

    Raises:
        InputError: another number of vectors than passages, another order or other ids, a number
            that is not finite, or a vector without a direction; names the row and the passage.
    """
    source.require_rows(n_passages)
    shards: list[VectorShard] = []
    rows = _Rows(source)
    start = 0
    for number, names in enumerate(ids):
        n = len(names)
        theirs, vectors = rows.read_rows(n)
        if source.has_ids and not theirs.equals(names):
            _raise_id_mismatch(source, start, theirs, names)
        _check_vectors(source, vectors, start, names)
        key = digest({"given": source.sha256, "rows": [start, start + n]})
        path = folder / f"passages-{number:05d}{SUFFIX}"
        shards.append(
            _map_npy(source, start, n, key) or keep_shard(path, _scale(vectors), key, source.sha256)
        )
        start += n
        advance(n)
    return shards


def query_rows(source: PrecomputedVectors, source_ids: Sequence[str], ids: Sequence[str]) -> Matrix:
    """Read the unit vectors of the queries ``ids`` in float32, in that order, from the source.

    Args:
        source: the vectors: with ids in any order, or without in the order of ``source_ids``.
        source_ids: queries of the source.
        ids: queries of the build.

    Raises:
        InputError: as for :func:`passage_shards`; or a query has none, or two.
    """
    if not source.has_ids:
        source.require_rows(len(source_ids))
    names, vectors = _Rows(source).read_rows(source.rows)
    if source.has_ids:
        source_ids = names.to_pylist()
    row_of = {name: row for row, name in enumerate(source_ids)}
    if len(row_of) < len(source_ids):
        raise InputError("has a query twice", path=source.path, field="_id", code="duplicate-id")
    missing = [name for name in ids if name not in row_of]
    if missing:
        raise InputError(
            f"has no vector for the query {missing[0]!r}",
            path=source.path,
            allowed="one per query",
            code="bad-vectors",
        )
    ordered = vectors[[row_of[name] for name in ids]]
    _check_vectors(source, ordered, None, pa.array(ids, pa.string()))
    return _scale(ordered)


def _raise_id_mismatch(
    source: PrecomputedVectors, start: int, file_ids: pa.Array, corpus_ids: pa.Array
) -> None:
    """Raise an error that names the first row of the files whose id differs from the corpus's.

    Args:
        source: the files, for the error.
        start: number of rows before these.
        file_ids: ids in the files.
        corpus_ids: ids of the corpus.
    """
    pairs = enumerate(zip(file_ids.to_pylist(), corpus_ids.to_pylist(), strict=True), start + 1)
    line, their, our = next((line, their, our) for line, (their, our) in pairs if their != our)
    raise InputError(
        f"has the vector of {their!r} where the corpus has {our!r}",
        path=source.path,
        line=line,
        field="_id",
        allowed="the passages of this corpus, in its order",
        code="bad-vectors",
    )


def _check_vectors(
    source: PrecomputedVectors, vectors: Matrix, start: int | None, ids: pa.Array
) -> None:
    """Raise an error if a vector is all zeros, or has NaN or infinity; name the first such one.

    Args:
        source: the files, for errors.
        vectors: a row per text.
        start: number of files' rows before the first one; None for rows that were sorted.
        ids: ids of the texts.
    """
    bad, empty = ~np.isfinite(vectors).all(axis=1), ~vectors.any(axis=1)
    for rows, what in ((bad, "contains NaN or an infinity"), (empty, "is all zeros")):
        if rows.any():
            row = int(np.flatnonzero(rows)[0])
            raise InputError(
                f"the vector of {ids[row].as_py()!r} {what}",
                path=source.path,
                line=None if start is None else start + row + 1,
                allowed="finite numbers, not all of them zero",
                code="bad-vectors",
            )


def _scale(vectors: Matrix) -> npt.NDArray[np.float32]:
    """Scale vectors to length 1, without overflow, as float32."""
    wide: npt.NDArray[np.float64] = vectors.astype(np.float64)
    # By a power of two, which changes no digit: squares of 1e200 and of 1e-200 are no numbers.
    wide = np.ldexp(wide, -np.frexp(np.abs(wide).max(axis=1, keepdims=True))[1])
    wide /= np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    rows: npt.NDArray[np.float32] = wide.astype(np.float32)
    return rows


class _Rows:
    """Reads the rows of all files one after another: ids (if any) and vectors."""

    def __init__(self, source: PrecomputedVectors) -> None:
        """Prepare to read the vectors in order, from the first row of the first file."""
        self._rows_left = _read_batches(source)
        self._ids, self._vectors = pa.nulls(0, pa.string()), np.empty((0, source.dimension))

    def read_rows(self, n: int) -> tuple[pa.Array, Matrix]:
        """Read the next n rows of a source of vectors: (ids, vectors)."""
        ids, pieces = [], []
        while n:
            if not len(self._ids):
                self._ids, self._vectors = next(self._rows_left)
            ids.append(self._ids[:n])
            pieces.append(self._vectors[:n])
            self._ids, self._vectors = self._ids[n:], self._vectors[n:]
            n -= len(ids[-1])
        return pa.concat_arrays(ids), np.concatenate(pieces)


def _read_batches(source: PrecomputedVectors) -> Iterator[tuple[pa.Array, Matrix]]:
    """Yield (ids, vectors) of all vector files in batches; the ids of .npy files are nulls."""
    n_before = 0
    for path in source.files:
        if source.has_ids:
            for batch in iter_batches([path], ["_id", _vector_column(path)[0]], rows=_BATCH_ROWS):
                yield batch[0].cast(pa.string()), _to_matrix(source, batch[1], n_before)
                n_before += len(batch)
            continue
        matrix = _open_npy(path)
        for start in range(0, len(matrix), _BATCH_ROWS):
            shape = min(_BATCH_ROWS, len(matrix) - start), source.dimension
            # Not by the map itself: what it holds would count as memory of this process.
            at, n_values = matrix.offset + start * matrix.strides[0], shape[0] * shape[1]
            values: Matrix = np.fromfile(path, matrix.dtype, n_values, offset=at)
            if len(values) != n_values:
                raise InputError(
                    "was cut short while it was read", path=path, code="truncated-file"
                )
            yield pa.nulls(shape[0], pa.string()), values.reshape(shape)


def _to_matrix(source: PrecomputedVectors, lists: pa.Array, n_rows_before: int) -> Matrix:
    """Convert Arrow lists of numbers to a matrix; errors name the row of a null or odd length.

    Args:
        source: the files, for the dimension and for errors.
        lists: a list per row.
        n_rows_before: number of rows before them, for errors.
    """
    lists = lists.cast(pa.list_(pa.float64()))
    n, dimension = len(lists), source.dimension
    sizes = pc.list_value_length(lists).to_pylist()
    if lists.flatten().null_count or sizes.count(dimension) < n:
        rows = enumerate(lists.to_pylist())
        row = next(i for i, r in rows if r is None or None in r or len(r) != dimension)
        raise InputError(
            f"has {sizes[row]} values, or an empty one; others have {dimension}",
            path=source.path,
            line=n_rows_before + row + 1,
            field="vector",
            code="bad-vectors",
        )
    values: Matrix = lists.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(n, dimension)


def _map_npy(source: PrecomputedVectors, first_row: int, n: int, key: str) -> VectorShard | None:
    """Make a shard of n rows from ``first_row`` of .npy files, not copied; None if impossible.

    Args:
        source: the files.
        first_row: number of rows before the shard, over all files.
        n: number of its rows.
        key: digest that names its content.
    """
    for path in source.files if not source.has_ids else ():
        matrix = _open_npy(path)
        if first_row >= 0 and first_row + n <= len(matrix) and matrix.dtype.str in ("<f2", "<f4"):
            at = matrix.offset + first_row * matrix.strides[0]
            return VectorShard(path, n, source.dimension, key, at, matrix.dtype.str)
        first_row -= len(matrix)
    return None
