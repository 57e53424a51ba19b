"""Pipes and standard input as files: each is copied once, and then read as often as needed."""

import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from citeforge.schemas.errors import InputError, read_error

STDIN = "-"
"""Name of standard input on a command line; a file of this name is ``./-``."""
LARGEST_PIPE = 1 << 32
"""Bytes that a pipe may give, as its copy needs room on the disk."""
_PIECE = 1 << 20
SAVE = "save it to a file, and name that"
"""Advice where a pipe cannot be read."""


class _Copies:
    """Copies of the pipes that a command has read.

    Attributes:
        folder: folder of the copies; None outside of a block of :func:`pipes_copied`.
        paths: copy of each pipe, by its name.
    """

    folder: Path | None = None
    paths: dict[str, Path] = {}


@contextmanager
def pipes_copied() -> Iterator[None]:
    """Copy the pipes that the block reads, and standard input, to files; remove these after it.

    A block inside another one shares its copies, which are removed at the end of the outer one.
    """
    if _Copies.folder is not None:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="citeforge-") as folder:
        _Copies.folder, _Copies.paths = Path(folder), {}
        try:
            yield
        finally:
            _Copies.folder, _Copies.paths = None, {}


def is_pipe(path: Path) -> bool:
    """Whether a path is standard input, a pipe or a device, which can be read only once."""
    if str(path) == STDIN:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False  # a missing file is an error where it is opened
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def readable_path(path: Path) -> Path:
    """Get the path to open for reading: a pipe's copy (also standard input's), else ``path``.

    Raises:
        InputError: the pipe cannot be read or copied, or gives too much; or standard input is a
            terminal.
    """
    if not is_pipe(path):
        return path
    if _Copies.folder is None:
        raise InputError(
            "is a pipe, which can be read only once", path=path, allowed=SAVE, code="not-a-file"
        )
    name = str(path)
    if name not in _Copies.paths:
        copy = _Copies.folder / str(len(_Copies.paths))
        try:
            with _open_pipe(path) as pipe, copy.open("wb") as file:
                _copy(path, pipe, file)
        except OSError as error:
            raise read_error(error, path) from error
        _Copies.paths[name] = copy
    return _Copies.paths[name]


@contextmanager
def _open_pipe(path: Path) -> Iterator[IO[bytes]]:
    """Open a pipe, or standard input, for reading; refuse a terminal.

    Raises:
        InputError: nothing would ever end what a terminal gives.
    """
    if str(path) == STDIN:
        _refuse_terminal(path, sys.stdin.buffer)
        yield sys.stdin.buffer
        return
    with path.open("rb") as pipe:
        _refuse_terminal(path, pipe)
        yield pipe


def _refuse_terminal(path: Path, pipe: IO[bytes]) -> None:
    """Raise an error if a stream is a terminal.

    Raises:
        InputError: it is one.
    """
    if pipe.isatty():
        raise InputError(
            "is a terminal", path=path, allowed="a file, or a pipe: cat FILE | citeforge …",
            code="not-a-file",
        )  # fmt: skip


def _copy(path: Path, pipe: IO[bytes], file: IO[bytes]) -> None:
    """Copy what a pipe gives into a file.

    Raises:
        InputError: it gives more than ``LARGEST_PIPE`` bytes.
    """
    size = 0
    while piece := pipe.read(_PIECE):
        size += len(piece)
        if size > LARGEST_PIPE:
            raise InputError(
                f"is a pipe that gives more than {LARGEST_PIPE >> 20:,} MiB", path=path,
                allowed=SAVE, code="too-large",
            )  # fmt: skip
        file.write(piece)
