"""Vectors on disk: shards, each with a marker file that says what it was made from."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.engines.files import (
    canonical_json,
    digest,
    read_json,
    sha256_file,
    write_bytes,
    write_text,
)
from citeforge.engines.ledger import current_ledger
from citeforge.engines.models.embedder import (
    Distributed,
    Embedder,
    Role,
    Vectors,
    Watchable,
    vectors_depend_on,
)
from citeforge.engines.progress import Advance
from citeforge.engines.tables import regroup
from citeforge.schemas.errors import InputError

SHARD_ROWS = 8192
SUFFIX = ".vectors"


@dataclass(frozen=True)
class VectorShard:
    """Consecutive vectors in one file.

    Attributes:
        path: raw little-endian floats, row after row.
        rows: number of vectors.
        dimension: values per vector.
        key: digest of texts, embedder and format that the vectors were made from.
        offset: bytes before the first value.
        dtype: NumPy's name of the floats.
    """

    path: Path
    rows: int
    dimension: int
    key: str
    offset: int = 0
    dtype: str = "<f4"

    def read(self, rows: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.floating]:
        """Read all vectors of the shard, or those at some rows; shape (n rows, dimension).

        Raises:
            InputError: the file is shorter than it was.
        """
        shape = (self.rows, self.dimension)
        try:
            if rows is not None:
                return np.asarray(np.memmap(self.path, self.dtype, "r", self.offset, shape)[rows])
            n_values = self.rows * self.dimension
            return np.fromfile(self.path, self.dtype, n_values, offset=self.offset).reshape(shape)
        except ValueError as error:  # the shape, or the map, would end behind the file
            raise InputError(
                "was cut short while it was read", path=self.path, code="truncated-file"
            ) from error


def digest_texts(texts: pa.Array) -> str:
    """Compute the sha256 of a string array, from the lengths and bytes of its texts."""
    fresh = pa.concat_arrays([texts.cast(pa.large_string())])
    _, offsets, data = fresh.buffers()
    ends = np.frombuffer(offsets, np.int64, len(fresh) + 1, fresh.offset * 8)
    sha = hashlib.sha256(np.diff(ends).astype("<i8").tobytes())
    if data is not None:
        sha.update(memoryview(data)[ends[0] : ends[-1]])
    return sha.hexdigest()


def ensure_shards(
    folder: Path,
    file_prefix: str,
    shards_of_texts: Iterable[pa.Array],
    embedder: Embedder,
    kind: Role,
    advance: Advance,
    describe_text: Callable[[int], str] = str,
) -> list[VectorShard]:
    """Embed the texts that have no vectors in a folder yet; return all shards of vectors in order.

    A shard that is there is taken only if its marker names the same texts, embedder and
    configuration and its bytes have the marker's digest; else that shard is made again.

    Args:
        folder: folder of the shards.
        file_prefix: first part of their file names.
        shards_of_texts: string arrays, one per shard, cut at fixed rows by the caller.
        embedder: called only for missing shards.
        kind: whether the texts are queries or passages.
        advance: called with the number of texts done.
        describe_text: names the text at a position, for errors.

    Returns:
        The shards, in order.

    Raises:
        InputError: the model gives a vector without a direction.
        CiteforgeError: the embedder fails; what is done is kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    fingerprint = embedder.fingerprint()
    recipe = vectors_depend_on(fingerprint, kind)
    shards: dict[int, VectorShard] = {}
    missing: list[tuple[int, Path, str, int]] = []  # number, file, key, first text

    def to_embed() -> Iterator[pa.Array]:
        """Yield the texts whose shard of vectors is missing, and collect the stored shards."""
        start = 0
        for number, texts in enumerate(shards_of_texts):
            path = folder / f"{file_prefix}-{number:05d}{SUFFIX}"
            key = digest({"recipe": recipe, "texts": digest_texts(texts), "rows": len(texts)})
            if (stored := _read_stored(path, key)) is not None:
                shards[number] = stored
                advance(len(texts))
            else:
                missing.append((number, path, key, start))
                yield texts
            start += len(texts)

    for index, vectors in _embed_each(embedder, to_embed(), kind, advance):
        number, path, key, start = missing[index]
        _refuse_bad_vectors(vectors, start, kind, describe_text, fingerprint)
        shards[number] = _write(path, vectors, key, recipe)
    return [shards[number] for number in sorted(shards)]


def _embed_each(
    embedder: Embedder, pieces: Iterator[pa.Array], kind: Role, advance: Advance
) -> Iterator[tuple[int, Vectors]]:
    """Embed arrays of queries or passages; yield (index of the array, vectors) as each is done.

    Args:
        embedder: the embedder; a distributed one gets all pieces at once.
        pieces: arrays of texts.
        kind: whether they are queries or passages.
        advance: takes the number of texts done.
    """
    if isinstance(embedder, Distributed):
        for index, vectors in embedder.encode_each(pieces, kind):
            yield index, vectors
            advance(len(vectors))
        return
    for index, texts in enumerate(pieces):
        if isinstance(embedder, Watchable):  # a shard may take minutes
            yield index, embedder.encode_watched(texts.to_pylist(), kind, advance)
        else:
            yield index, embedder.encode(texts.to_pylist(), kind)
            advance(len(texts))


def _refuse_bad_vectors(
    vectors: Vectors,
    start: int,
    kind: Role,
    describe_text: Callable[[int], str],
    fingerprint: dict[str, Any],
) -> None:
    """Raise an error if a text's vector is all zeros, NaN or infinite; name the first such text.

    Args:
        vectors: a row per text.
        start: number of texts before the first one.
        kind: whether they are queries or passages.
        describe_text: names the text at a position.
        fingerprint: description of the embedder, for the error.
    """
    sums = np.abs(vectors).sum(axis=1, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(sums) | (sums == 0))
    if len(bad):
        row = int(bad[0])
        what = "a vector of zeros" if sums[row] == 0 else "a vector with NaN or an infinity"
        raise InputError(
            f"gives {kind} {describe_text(start + row)!r} {what} "
            f"({len(bad)} of {len(vectors)} here)",
            path=str(fingerprint["name"]),
            allowed="another --embedder, or --compute fp32; or fix that text",
            code="bad-vectors",
        )


def _read_stored(path: Path, key: str) -> VectorShard | None:
    """Read a stored shard of vectors; None if it is missing, damaged or has another key."""
    with suppress(InputError, KeyError, TypeError, ValueError):
        content = read_json(path.with_suffix(".json"))
        if content["key"] == key and content["sha256"] == sha256_file(path):
            rows, dimension = int(content["rows"]), int(content["dimension"])
            return VectorShard(path, rows, dimension, key, dtype=str(content["recipe"]["format"]))
    return None


def keep_shard(
    path: Path, vectors: npt.NDArray[np.float32], key: str, source_sha256: str
) -> VectorShard:
    """Store a user's vectors as a shard, unless one with this key is stored; return the shard."""
    return _read_stored(path, key) or _write(
        path, vectors, key, {"given": source_sha256, "format": "<f4"}
    )


def _write(
    path: Path, vectors: npt.NDArray[np.floating], key: str, recipe: dict[str, object]
) -> VectorShard:
    """Write a shard of vectors, and a marker file with its key and recipe (model, format).

    Args:
        path: file of the vectors.
        vectors: a row per text.
        key: digest of recipe and texts, by which a later run recognises the shard.
        recipe: embedder, kind of texts and number format.
    """
    dtype = str(recipe["format"])
    content = vectors.astype(dtype).tobytes()
    write_bytes(path, content)
    rows, dimension = vectors.shape
    marker = {
        "key": key,
        "rows": rows,
        "dimension": dimension,
        "sha256": hashlib.sha256(content).hexdigest(),
        "recipe": recipe,
    }
    # The marker comes last: a shard without one is not complete.
    write_text(path.with_suffix(".json"), canonical_json(marker) + "\n")
    current_ledger().keep("vector shard", path.parent)
    return VectorShard(path, rows, dimension, key, dtype=dtype)


def iter_blocks(shards: Sequence[VectorShard], block_rows: int) -> Iterator[Vectors]:
    """Stream the unit vectors of shards in float32, in blocks of at most ``block_rows``."""
    for pieces in regroup((shard.read() for shard in shards), block_rows):
        yield unit_rows(np.concatenate(pieces, dtype=np.float32, casting="same_kind"))


def unit_vectors(shards: Sequence[VectorShard]) -> Vectors:
    """Read the unit vectors of all shards into memory."""
    return np.concatenate(list(iter_blocks(shards, SHARD_ROWS)))


def unit_rows(block: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Scale the rows of a block to length 1, in place; rows of zeros stay."""
    # In float32 the squares of given vectors may be infinite, or zero.
    norms = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))
    norms[norms == 0] = 1
    block /= norms[:, None]
    return block


def gather(
    shards: Sequence[VectorShard], positions: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Read the vectors at sorted positions in all shards, in float64, one shard at a time.

    Args:
        shards: vectors of the corpus, in order.
        positions: rows over all shards, sorted.
    """
    dimension = shards[0].dimension if shards else 0
    vectors = np.empty((len(positions), dimension))
    start = at = 0
    for shard in shards:
        end = int(np.searchsorted(positions, start + shard.rows))
        if end > at:
            vectors[at:end] = shard.read(positions[at:end] - start)
        start, at = start + shard.rows, end
    return vectors
