"""Where paid answers go when their store cannot be written: a file that the next run takes in."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.io.files import canonical_json, storage_errors
from citeforge.engines.llm.records import Call
from citeforge.schemas.errors import InputError

_MOST = 256 << 20
_FIXED = 64 << 10


class ExportedRow(msgspec.Struct, forbid_unknown_fields=True):
    """An answer with its request, as a line of an exported store and of a spill."""

    key: str
    payload: dict[str, Any]
    sample: int
    answer: dict[str, Any]
    created: float


class Spill:
    """A file beside a store whose room is taken before anything is asked.

    On a full disk that room is what is left, and a disk that is full already is noticed while
    nothing has been paid for.
    """

    def __init__(self, store: Path, room: int) -> None:
        """Take the room.

        Raises:
            InputError: the disk is full, or the folder cannot be written.
        """
        self.rows = self._end = 0
        with storage_errors(store):
            self._handle, name = tempfile.mkstemp(prefix=f"{store.name}.spill.", dir=store.parent)
            self.path = Path(name)
            try:
                os.posix_fallocate(self._handle, 0, max(1, room))
            except OSError:
                self.close()
                raise

    def write(self, row: ExportedRow) -> None:
        """Keep one row, on the disk.

        Raises:
            InputError: it cannot be written even here.
        """
        line = (canonical_json(msgspec.structs.asdict(row)) + "\n").encode("utf-8", "surrogatepass")
        with storage_errors(self.path):
            done = 0
            while done < len(line):
                done += os.pwrite(self._handle, line[done:], self._end + done)
            os.fsync(self._handle)
        self._end += len(line)
        self.rows += 1

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


def spills(store: Path) -> list[Path]:
    """Files that earlier runs with a store have left beside it."""
    return sorted(store.parent.glob(f"{glob.escape(store.name)}.spill.*"))


def spilled_rows(path: Path) -> Iterator[ExportedRow]:
    """Rows of such a file.

    Raises:
        InputError: it cannot be read or holds something else.
    """
    with storage_errors(path), path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return  # room that was not used, or a row that a dying process did not finish
            try:
                row = msgspec.json.decode(line, type=ExportedRow)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise InputError(
                    f"is not a kept answer ({error})",
                    path=path,
                    line=number,
                    allowed="what an earlier run wrote here; remove the file to do without it",
                ) from error
            yield row
