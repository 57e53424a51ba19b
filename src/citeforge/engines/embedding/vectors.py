"""Vectors on disk: float16 shards, each with a marker that says what it was made from."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.engines.embedding.embedder import Embedder, FailedShard, Kind, Vectors
from citeforge.engines.io.files import (
    canonical_json,
    digest,
    read_json,
    sha256_file,
    write_bytes,
    write_text,
)
from citeforge.engines.io.progress import Advance
from citeforge.engines.io.tables import regroup
from citeforge.schemas.errors import FailuresError, InputError

SHARD_ROWS = 8192
PLURALS: dict[Kind, str] = {"passage": "passages", "query": "queries"}
"""First part of the names of shards."""


@dataclass(frozen=True)
class VectorShard:
    """Consecutive vectors in one file.

    Attributes:
        path: raw little-endian float16 values, row after row.
        rows: number of vectors.
        dimension: values a vector.
        key: digest of texts, embedder and format that the vectors were made from.
        offset: bytes before the first value.
    """

    path: Path
    rows: int
    dimension: int
    key: str
    offset: int = 0

    def read(self, rows: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.float16]:
        """All vectors, or some of them alone; shape (n rows, dimension).

        Raises:
            InputError: the file is shorter than it was.
        """
        shape = (self.rows, self.dimension)
        try:
            if rows is not None:
                return np.asarray(np.memmap(self.path, "<f2", "r", self.offset, shape)[rows])
            n_values = self.rows * self.dimension
            return np.fromfile(self.path, "<f2", n_values, offset=self.offset).reshape(shape)
        except ValueError as error:  # the shape, or the map, would end behind the file
            raise InputError(
                "was cut short while it was read", path=self.path, code="truncated-file"
            ) from error


def digest_texts(texts: pa.Array) -> str:
    """sha256 of a string array's values (lengths and bytes), without a Python object each."""
    fresh = pa.concat_arrays([texts.cast(pa.large_string())])
    _, offsets, data = fresh.buffers()
    ends = np.frombuffer(offsets, np.int64, len(fresh) + 1, fresh.offset * 8)
    sha = hashlib.sha256(np.diff(ends).astype("<i8").tobytes())
    if data is not None:
        sha.update(memoryview(data)[ends[0] : ends[-1]])
    return sha.hexdigest()


def ensure_shards(
    folder: Path,
    name: str,
    shards_of_texts: Iterable[pa.Array],
    embedder: Embedder,
    kind: Kind,
    advance: Advance,
    share: Callable[[int], bool] | None = None,
) -> list[VectorShard]:
    """Embed what is not embedded yet.

    A shard that is there is taken only if its marker names the same texts, embedder and
    configuration and its bytes have the marker's digest; else that shard is made again.

    Args:
        folder: where the shards live.
        name: first part of their file names.
        shards_of_texts: string arrays, one a shard, cut at fixed places by the caller.
        embedder: called only for missing shards.
        kind: whether the texts are queries or passages.
        advance: told the number of texts done.
        share: tells by the number of a shard whether it is wanted; None for all. The others are
            for other processes to embed.

    Returns:
        The shards wanted, in order.

    Raises:
        FailuresError: workers of a cluster fail on some; all others are kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    recipe = _recipe(embedder.fingerprint(), kind)
    shards: dict[int, VectorShard] = {}
    missing: list[_Missing] = []

    def to_embed() -> Iterator[pa.Array]:
        start = 0
        for number, texts in enumerate(shards_of_texts):
            if share is None or share(number):
                key, path = _key(recipe, texts), _path(folder, name, number)
                try:
                    shards[number] = _stored(path, key, recipe)
                    advance(len(texts))
                except InputError:
                    missing.append(_Missing(number, path, key, start, len(texts)))
                    yield texts
            start += len(texts)

    lost: list[tuple[_Missing, FailedShard]] = []
    for index, vectors in _embedded(embedder, to_embed(), kind, advance):
        place = missing[index]
        if isinstance(vectors, FailedShard):
            lost.append((place, vectors))
        else:
            shards[place.number] = _write(place.path, vectors, place.key, recipe)
    if lost:
        raise _failure(lost, len(shards))
    return [shards[number] for number in sorted(shards)]


class _Missing(NamedTuple):
    """A shard that is to be made."""

    number: int
    path: Path
    key: str
    start: int
    rows: int


def _embedded(
    embedder: Embedder, pieces: Iterator[pa.Array], kind: Kind, advance: Advance
) -> Iterator[tuple[int, Vectors | FailedShard]]:
    """(index, vectors) of each piece: in order here, as they come where many are done at once."""
    many = getattr(embedder, "encode_each", None)
    if many is not None:
        for index, vectors in many(pieces, kind):
            yield index, vectors
            if not isinstance(vectors, FailedShard):
                advance(len(vectors))
        return
    watched = getattr(embedder, "encode_watched", None)
    for index, texts in enumerate(pieces):
        if watched is not None:  # a shard may take minutes
            yield index, watched(texts.to_pylist(), kind, advance)
        else:
            yield index, embedder.encode(texts.to_pylist(), kind)
            advance(len(texts))


def _failure(lost: list[tuple[_Missing, FailedShard]], n_made: int) -> FailuresError:
    place, why = min(lost)
    rows = f"texts {place.start + 1:,} to {place.start + place.rows:,}"
    names = ", ".join(sorted(p.path.name for p, _ in lost)[:5])
    return FailuresError(
        f"{len(lost):,} shards have no vectors ({names}), {n_made:,} are kept. "
        f"{place.path.name} ({rows}): {why}. Run again with --resume",
        code="counted-failures",
    )


def require_shards(
    folder: Path,
    name: str,
    shards_of_texts: Iterable[pa.Array],
    fingerprint: dict[str, Any],
    kind: Kind,
    advance: Advance,
) -> list[VectorShard]:
    """Shards that others embedded, all of them.

    Args:
        folder: where they live.
        name: first part of their file names.
        shards_of_texts: as :func:`ensure_shards` was given them.
        fingerprint: of the embedder.
        kind: whether the texts are queries or passages.
        advance: told the number of texts done.

    Raises:
        InputError: one is missing, is damaged, or is of other texts or another model.
    """
    recipe = _recipe(fingerprint, kind)
    shards = []
    for number, texts in enumerate(shards_of_texts):
        shards.append(_stored(_path(folder, name, number), _key(recipe, texts), recipe))
        advance(len(texts))
    return shards


def _recipe(fingerprint: dict[str, Any], kind: Kind) -> dict[str, object]:
    return {"embedder": fingerprint, "kind": kind, "format": "float16/1"}


def _key(recipe: dict[str, object], texts: pa.Array) -> str:
    return digest({"recipe": recipe, "texts": digest_texts(texts), "rows": len(texts)})


def _path(folder: Path, name: str, number: int) -> Path:
    return folder / f"{name}-{number:05d}.f16"


def _stored(path: Path, key: str, recipe: dict[str, object]) -> VectorShard:
    """A shard that was made before.

    Raises:
        InputError: it is missing, damaged, or made of something else.
    """
    marker = path.with_suffix(".json")
    again = "with the options of this build"
    if not (path.is_file() and marker.is_file()):
        allowed = f"`shard embed --shard` of every share, {again}"
        raise InputError("is missing", path=path, allowed=allowed, code="missing-file")
    reason, code = "is damaged", "hash-mismatch"  # a damaged marker vouches for nothing
    with suppress(InputError, KeyError, TypeError, ValueError):
        content = read_json(marker)
        if canonical_json(content["recipe"]) != canonical_json(recipe):
            reason, code = "was made by another model", "recipe-changed"
        elif content["sha256"] == sha256_file(path):
            if content["key"] == key:
                return VectorShard(path, int(content["rows"]), int(content["dimension"]), key)
            reason, code = "contains vectors of other texts", "input-changed"
    allowed = f"the `shard embed --shard` that made it, run again {again}"
    raise InputError(reason, path=path, allowed=allowed, code=code)


def keep_shard(
    path: Path, vectors: npt.NDArray[np.float32], key: str, recipe: dict[str, object]
) -> VectorShard:
    """The shard at ``path``, written unless it is there with this key."""
    try:
        return _stored(path, key, recipe)
    except InputError:
        return _write(path, vectors, key, recipe)


def _write(
    path: Path, vectors: npt.NDArray[np.float32], key: str, recipe: dict[str, object]
) -> VectorShard:
    content = vectors.astype("<f2").tobytes()
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
    return VectorShard(path, rows, dimension, key)


def iter_blocks(shards: Sequence[VectorShard], block_rows: int) -> Iterator[Vectors]:
    """Unit vectors, renormalised after float16 rounding, in blocks of at most ``block_rows``."""
    for pieces in regroup((shard.read() for shard in shards), block_rows):
        yield unit_rows(np.concatenate(pieces, dtype=np.float32))


def unit_vectors(shards: Sequence[VectorShard]) -> Vectors:
    """All unit vectors of shards, which are few."""
    return unit_rows(np.concatenate([shard.read() for shard in shards], dtype=np.float32))


def unit_rows(block: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The same rows, in place, each with length 1; a row of zeros stays."""
    norms = np.sqrt(np.einsum("ij,ij->i", block, block))
    norms[norms == 0] = 1
    block /= norms[:, None]
    return block


def gather(
    shards: Sequence[VectorShard], positions: npt.NDArray[np.int64]
) -> npt.NDArray[np.float16]:
    """Vectors at sorted positions, shape (n positions, dimension); one shard is held at a time."""
    pieces = []
    start = at = 0
    for shard in shards:
        end = int(np.searchsorted(positions, start + shard.rows))
        if end > at:
            pieces.append(shard.read(positions[at:end] - start))
        start, at = start + shard.rows, end
    dimension = shards[0].dimension if shards else 0
    return np.concatenate(pieces) if pieces else np.empty((0, dimension), np.float16)
