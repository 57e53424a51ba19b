"""Vectors kept in the user's cache folder: another build embeds new texts alone.

Below the folder there is one folder for everything that vectors depend on, by the rule of
:func:`~citeforge.engines.models.embedder.vectors_depend_on`. Each process appends blocks of vectors
to a file of its own there, so that no file has two writers and nothing is locked. A block that was
cut off, as by a killed process, is not read; one with other bytes than were written is reported,
and its file is removed.
"""

import hashlib
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct

import numpy as np
import numpy.typing as npt
from platformdirs import user_cache_path

from citeforge.engines.plugins import warn
from citeforge.schemas.recipes.base import RunOptions

VARIABLE = "CITEFORGE_CACHE"
"""Environment variable that names the cache folder, or is OFF."""
OFF = "off"
SUFFIX = ".blocks"
_HEAD = Struct("<8sII32s")
"""Head of a block: _MAGIC, number of vectors, values per vector, sha256 of all else."""
_MAGIC = b"vectors\n"
_DIGEST_BYTES = 16
_DIGEST = np.dtype(f"S{_DIGEST_BYTES}")
_LARGEST_FILE = 64 << 20
"""Bytes after which a process begins another file: whole files are removed when space runs out."""
GIGABYTE = 10**9

Digests = npt.NDArray[np.bytes_]
Places = npt.NDArray[np.int64]
"""Positions of vectors among those of all blocks, or of texts."""


def cache_folder(run: RunOptions) -> Path | None:
    """Get the cache folder of the run options, CITEFORGE_CACHE or the system; None if it is off."""
    named = os.environ.get(VARIABLE)
    if run.no_cache or (run.cache is None and named == OFF):
        return None
    return run.cache or (Path(named) if named else user_cache_path("citeforge", appauthor=False))


def open_cache(run: RunOptions) -> "VectorCache | None":
    """Open the cache of vectors that the run options choose; None if it is off."""
    folder = cache_folder(run)
    if folder is None:
        return None
    return VectorCache(folder / "vectors", int(run.cache_size * GIGABYTE))


def digest_each(texts: Sequence[str]) -> Digests:
    """Compute a digest of 16 bytes for each text."""
    digests = (
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
        for text in texts
    )
    return np.frombuffer(b"".join(digests), _DIGEST)


@dataclass(eq=False)
class VectorCache:
    """Folder of vectors with a size limit; what was used longest ago is removed first.

    Attributes:
        root: the folder.
        limit: bytes of all files in it.
    """

    root: Path
    limit: int
    _used: set[Path] = field(default_factory=set, init=False)
    _fails: bool = field(default=False, init=False)

    def open(self, name: str, dtype: str) -> "CachedVectors":
        """Open the cached vectors of one model, in the folder ``name`` of the cache.

        Args:
            name: of their folder, from everything that the vectors depend on.
            dtype: NumPy's name of the floats.
        """
        return CachedVectors(self, self.root / name, np.dtype(dtype))

    def size(self) -> int:
        """Get the total bytes of all files in the cache of vectors."""
        return sum(size for _, size, _ in self._files())

    def use(self, path: Path) -> None:
        """Mark a cache file as used by this process, so that it is not removed to make room."""
        if path not in self._used:
            self._used.add(path)
            with suppress(OSError):  # in a read-only folder the time of the last use stays
                os.utime(path)

    def make_room(self, size: int) -> bool:
        """Remove the files used longest ago to fit ``size`` bytes; return whether they fit.

        Files that this process used stay: a corpus larger than the limit would otherwise remove
        its own beginning, and the next build would find nothing of it.

        Returns:
            Whether it fits in; if not, nothing is removed.
        """
        files = sorted(self._files())
        free = self.limit - sum(taken for _, taken, _ in files)
        oldest = []
        for _, taken, path in files:
            if free >= size:
                break
            if path not in self._used:
                oldest.append(path)
                free += taken
        if free < size:
            warn(
                f"{self.root}: full of vectors in use; further ones are not kept for other builds "
                f"(--cache-size is {self.limit / GIGABYTE:g} GB)"
            )
            return False
        for path in oldest:
            with suppress(OSError):  # removed by another process, or in use under Windows
                path.unlink()
        return True

    def give_up(self, path: Path, error: OSError) -> None:
        """Warn that vectors cannot be cached, and cache none from then on."""
        self._fails = True
        warn(
            f"{path}: vectors are not kept for other builds ({error.strerror or error}); "
            "--cache names another folder, --no-cache none"
        )

    @property
    def accepts(self) -> bool:
        """Whether vectors can still be cached: no write has failed."""
        return not self._fails

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        """Yield (time of the last use, bytes, path) of all files in the cache of vectors."""
        for path in self.root.glob(f"*/*{SUFFIX}"):
            with suppress(OSError):  # another process has just removed it
                found = path.stat()
                yield found.st_mtime, found.st_size, path


@dataclass(frozen=True)
class _Block:
    """Place of some vectors in a file.

    Attributes:
        path: the file.
        start: position of the block's head.
        rows: number of vectors.
        dimension: values per vector.
    """

    path: Path
    start: int
    rows: int
    dimension: int


class CachedVectors:
    """Vectors of one model by digests of texts, in the cache folder."""

    def __init__(self, cache: VectorCache, folder: Path, dtype: np.dtype[np.floating]) -> None:
        """Set the cache folder of a model's vectors; it is read at the first look-up.

        Args:
            cache: cache that the folder is part of.
            folder: folder of these vectors.
            dtype: type of their numbers.
        """
        self._cache, self._folder, self._dtype = cache, folder, dtype
        self._own: Path | None = None
        self._damaged: set[Path] = set()
        self._checked: set[_Block] = set()
        self._read_to: dict[Path, int] = {}
        self._blocks: list[_Block] = []
        self._n_read = 0
        self._runs: list[tuple[Digests, Places]] = []

    def find(self, digests: Digests) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.floating]]:
        """Look texts up by digest: (whether each has a vector, matrix with one row per text).

        Args:
            digests: digests of the texts.

        Returns:
            (whether each text has a vector, matrix with a row per text: those of texts without a
            vector are undefined).
        """
        self._read_new_blocks()
        known = np.zeros(len(digests), np.bool_)
        vectors = np.empty((len(digests), 0), self._dtype)
        starts = np.cumsum([0, *(block.rows for block in self._blocks)])
        for number, wanted, places in self._locate(digests, starts):
            block = self._blocks[number]
            if not vectors.shape[1]:
                vectors = np.empty((len(digests), block.dimension), self._dtype)
            if block.dimension != vectors.shape[1]:
                continue
            found = self._read_rows(block, places - starts[number])
            if found is not None:
                vectors[wanted] = found
                known[wanted] = True
        return known, vectors

    def keep(self, digests: Digests, vectors: npt.NDArray[np.floating]) -> None:
        """Append vectors to the cache as one block, if there is room; warn once if it fails.

        Args:
            digests: digests of the texts.
            vectors: a row per text, in this cache's type of numbers.
        """
        if not (self._cache.accepts and len(digests) and np.isfinite(vectors).all()):
            return
        rows, dimension = vectors.shape
        body = digests.tobytes() + vectors.tobytes()
        head = _HEAD.pack(_MAGIC, rows, dimension, _checksum(rows, dimension, body))
        try:
            if self._cache.make_room(len(head) + len(body)):
                own, self._own = self._choose_file(), None
                with own.open("ab") as file:
                    file.write(head + body)
                # After an error or an interrupt the file may end in a part of this block: nothing
                # is appended to it again.
                self._own = own
        except OSError as error:
            self._cache.give_up(self._folder, error)

    def _choose_file(self) -> Path:
        """Choose the cache file that this process appends to; a new one if missing or large."""
        own = self._own
        if own is None or not own.exists() or own.stat().st_size >= _LARGEST_FILE:
            self._folder.mkdir(parents=True, exist_ok=True)
            own = self._own = self._folder / f"{secrets.token_hex(8)}{SUFFIX}"
            self._cache.use(own)
        return own

    def _read_new_blocks(self) -> None:
        """Read the digests of blocks that were appended since the last look-up, by any process."""
        digests: list[Digests] = []
        first = self._n_read
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            if path not in self._damaged:
                digests += self._read_heads(path)
        if not digests:
            return
        run = _sorted_run(np.concatenate(digests), np.arange(first, self._n_read))
        # Runs at least double in length, so that few have to be searched.
        while self._runs and len(self._runs[-1][0]) <= 2 * len(run[0]):
            keys, places = self._runs.pop()
            run = _sorted_run(np.concatenate([keys, run[0]]), np.concatenate([places, run[1]]))
        self._runs.append(run)

    def _read_heads(self, path: Path) -> Iterator[Digests]:
        """Yield the text digests of a file's complete blocks, from where the last read ended."""
        start = self._read_to.get(path, 0)
        with suppress(OSError), path.open("rb") as file:  # removed meanwhile, or not readable
            size = os.fstat(file.fileno()).st_size
            while start + _HEAD.size <= size:
                file.seek(start)
                magic, rows, dimension, _ = _HEAD.unpack(file.read(_HEAD.size))
                if magic != _MAGIC or not rows or not dimension:
                    self._drop_damaged(path)
                    return
                end = start + _HEAD.size + rows * (_DIGEST_BYTES + dimension * self._dtype.itemsize)
                if end > size:  # still being written, or its process was killed
                    break
                yield np.frombuffer(file.read(rows * _DIGEST_BYTES), _DIGEST)
                self._n_read += rows
                self._blocks.append(_Block(path, start, rows, dimension))
                start = end
        self._read_to[path] = start

    def _locate(
        self, digests: Digests, block_starts: Places
    ) -> Iterator[tuple[int, Places, Places]]:
        """Yield (block number, text indices, vector positions) of the texts whose vectors it has.

        Args:
            digests: digests of the texts.
            block_starts: number of vectors before each block.

        Yields:
            (number of the block, indices of the texts, positions among the vectors of all blocks).
        """
        place_of = np.full(len(digests), -1, np.int64)
        for keys, places in self._runs:
            at = np.minimum(np.searchsorted(keys, digests), len(keys) - 1)
            place_of = np.where(keys[at] == digests, places[at], place_of)
        wanted = np.flatnonzero(place_of >= 0)
        places = place_of[wanted]
        numbers = np.searchsorted(block_starts, places, side="right") - 1
        for number in np.unique(numbers).tolist():
            mine = numbers == number
            yield number, wanted[mine], places[mine]

    def _read_rows(self, block: _Block, rows: Places) -> npt.NDArray[np.floating] | None:
        """Read some vectors of a block; None if it is gone, or is not as it was written.

        A block is read whole and checked the first time alone: texts in another order than that of
        the build that kept them would read every block for every batch.
        """
        if block not in self._checked:
            whole = self._read_block(block)
            return None if whole is None else whole[rows]
        width = block.dimension * self._dtype.itemsize
        first = block.start + _HEAD.size + block.rows * _DIGEST_BYTES
        content = bytearray()
        with suppress(OSError), block.path.open("rb") as file:  # removed meanwhile
            for row in rows.tolist():
                file.seek(first + row * width)
                content += file.read(width)
        if len(content) != len(rows) * width:
            return None
        return np.frombuffer(content, self._dtype).reshape(len(rows), block.dimension)

    def _read_block(self, block: _Block) -> npt.NDArray[np.floating] | None:
        """Read and check all vectors of a block; None if it is gone, or not as it was written."""
        size = block.rows * (_DIGEST_BYTES + block.dimension * self._dtype.itemsize)
        try:
            with block.path.open("rb") as file:
                file.seek(block.start)
                head, body = file.read(_HEAD.size), file.read(size)
        except OSError:  # removed by another process to make room
            return None
        *_, checksum = _HEAD.unpack(head) if len(head) == _HEAD.size else (b"",)
        if checksum != _checksum(block.rows, block.dimension, body):
            self._drop_damaged(block.path)
            return None
        self._cache.use(block.path)
        self._checked.add(block)
        vectors = np.frombuffer(body, self._dtype, offset=block.rows * _DIGEST_BYTES)
        return vectors.reshape(block.rows, block.dimension)

    def _drop_damaged(self, path: Path) -> None:
        """Warn of a damaged cache file, and remove it if possible."""
        warn(f"{path}: damaged since it was written; its vectors are computed again")
        self._damaged.add(path)
        with suppress(OSError):
            path.unlink()


def _sorted_run(digests: Digests, positions: Places) -> tuple[Digests, Places]:
    """Sort digests of texts, and the positions of their vectors with them."""
    order = np.argsort(digests, kind="stable")
    return digests[order], positions[order]


def _checksum(n_rows: int, dimension: int, content: bytes) -> bytes:
    """Compute the sha256 of a block of cached vectors: its shape and its bytes."""
    return hashlib.sha256(f"{n_rows}x{dimension}".encode() + content).digest()
