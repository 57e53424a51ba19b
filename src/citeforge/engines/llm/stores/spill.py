"""Where paid answers go when their store cannot be written: a file that the next run takes in."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.io.files import canonical_json, storage_error
from citeforge.engines.llm.records import Call
from citeforge.schemas.errors import InputError

_MOST = 256 << 20
_FIXED = 64 << 10


class Spill:
    """A file beside a store whose room is taken before anything is asked.

    On a full disk that room is what is left, and a disk that is full already is noticed while
    nothing has been paid for. The owner holds a lock on its file; :func:`leftovers` passes by files
    whose owner lives.
    """

    def __init__(self, store: Path, room: int) -> None:
        """Take the room.

        Raises:
            InputError: the disk is full, or the folder cannot be written.
        """
        self.path = store.with_name(f"{store.name}.spill.{os.getpid()}")
        self.kept = self._end = 0
        try:
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise storage_error(error, self.path) from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            self._end = os.fstat(self._handle).st_size
            os.posix_fallocate(self._handle, self._end, max(1, room))
        except OSError as error:
            self.close()
            raise storage_error(error, self.path) from error

    def write(self, row: dict[str, Any]) -> None:
        """Keep one row, on the disk.

        Raises:
            InputError: it cannot be written even here.
        """
        line = (canonical_json(row) + "\n").encode("utf-8", "surrogatepass")
        try:
            done = 0
            while done < len(line):
                done += os.pwrite(self._handle, line[done:], self._end + done)
            os.fsync(self._handle)
        except OSError as error:
            raise storage_error(error, self.path) from error
        self._end += len(line)
        self.kept += 1

    def close(self) -> None:
        """Give back what was not used; a file without rows goes away."""
        if self._end == 0:
            self.path.unlink(missing_ok=True)
        else:
            os.ftruncate(self._handle, self._end)
        os.close(self._handle)


def room_for(calls: Iterable[Call], model: str, at_once: int) -> int:
    """Bytes that the answers of all calls in flight may need."""
    largest = 0
    for call in calls:
        size = len(canonical_json(call.payload(model)).encode("utf-8", "surrogatepass"))
        largest = max(largest, size + call.reply_bytes + _FIXED)
    return min(_MOST, at_once * largest)


@contextlib.contextmanager
def leftovers(store: Path) -> Iterator[list[dict[str, Any]]]:
    """Rows that earlier runs could not store; their files are removed when the block ends well.

    Raises:
        InputError: such a file cannot be read or holds something else.
    """
    held: list[tuple[Path, int]] = []
    rows: list[dict[str, Any]] = []
    try:
        for path in sorted(store.parent.glob(f"{_escaped(store.name)}.spill.*")):
            try:
                handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                continue  # another run has just taken it in
            except OSError as error:
                raise storage_error(error, path) from error
            held.append((path, handle))
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(held.pop()[1])
                continue  # its owner lives
            rows += _rows(path, handle)
        yield rows
        for path, _ in held:
            path.unlink(missing_ok=True)
    finally:
        for _, handle in held:
            os.close(handle)


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _rows(path: Path, handle: int) -> Iterator[dict[str, Any]]:
    with open(handle, "rb", closefd=False) as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return  # room that was not used, or a row that a dying process did not finish
            try:
                row = msgspec.json.decode(line, type=dict[str, Any])
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise InputError(
                    f"is not a kept answer ({error})",
                    path=path,
                    line=number,
                    allowed="what an earlier run wrote here; remove the file to do without it",
                ) from error
            yield row
