"""How a run keeps what it pays for, whatever happens to the store."""

import asyncio
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from msgspec.structs import asdict

from citeforge.engines.io.files import canonical_json, storage_errors
from citeforge.engines.llm.records import Call, LlmReply, Result
from citeforge.engines.llm.stores.replay import ReplayStore, exported_row
from citeforge.schemas.errors import CiteforgeError, InputError

_LARGEST_ROOM_BYTES = 256 << 20
# Of an answer beside its request and text.
_ROW_OVERHEAD_BYTES = 64 << 10


class Keeping:
    """The store of one run, and a file beside it for the answers that it does not take.

    The room of that file is taken before anything is asked: on a full disk it is what is left, and
    a disk that is full already is noticed while nothing has been paid for.

    Attributes:
        broken: why the store took no more; None while it does.
    """

    def __init__(self, store: ReplayStore, model: str, room: int) -> None:
        """Take the room for answers in flight.

        Raises:
            InputError: the disk is full already, or the folder cannot be written.
        """
        self.broken: CiteforgeError | None = None
        self._store, self._model = store, model
        self._n_kept = self._n_lost = self._end = 0
        self._turn = asyncio.Lock()
        path = store.path
        with storage_errors(path):
            self._handle, name = tempfile.mkstemp(prefix=f"{path.name}.spill.", dir=path.parent)
            self._path = Path(name)
            try:
                os.posix_fallocate(self._handle, 0, max(1, room))
            except OSError:
                self.__exit__()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Give back the room that was not used; a file without rows goes away."""
        if self._end == 0:
            self._path.unlink(missing_ok=True)
        else:
            os.ftruncate(self._handle, self._end)
        os.close(self._handle)

    async def keep(self, key: str, call: Call, result: Result) -> None:
        """Store a result; when that fails, keep it beside the store, and say so in ``broken``."""
        payload = call.payload(self._model)

        def put() -> None:
            if self.broken is not None:  # what queued behind the failure need not wait as long
                raise self.broken
            self._store.keep(key, payload, call.sample, result)

        try:
            async with self._turn:
                # Another program's lock may make us wait; replies go on arriving meanwhile.
                await asyncio.to_thread(put)
        except CiteforgeError as error:
            self.broken = self.broken or error
            if not isinstance(result, LlmReply):
                return  # it would be asked again anyhow
            line = canonical_json(asdict(exported_row(key, payload, call.sample, result))) + "\n"
            try:
                self._spill(line.encode("utf-8", "surrogatepass"))
            except InputError:
                self._n_lost += 1

    def _spill(self, line: bytes) -> None:
        """Keep one row, on the disk.

        Raises:
            InputError: it cannot be written even here.
        """
        with storage_errors(self._path):
            done = 0
            while done < len(line):
                done += os.pwrite(self._handle, line[done:], self._end + done)
            os.fsync(self._handle)
        self._end += len(line)
        self._n_kept += 1

    def error(self) -> CiteforgeError:
        """Why the run ended, and where the answers are."""
        assert self.broken is not None
        note = f"{self._n_kept:,} answers that were paid for meanwhile are kept"
        where = f"{note} in {self._path}, which the next run with this store takes in"
        if self._n_lost:
            where += f"; {self._n_lost:,} could be kept nowhere"
        return InputError(f"{self.broken}; {where}")


def room_for(calls: Iterable[Call], model: str, at_once: int) -> int:
    """Bytes that the answers of all calls in flight may need."""
    largest = 0
    for call in calls:
        size = len(canonical_json(call.payload(model)).encode("utf-8", "surrogatepass"))
        largest = max(largest, size + call.reply_bytes + _ROW_OVERHEAD_BYTES)
    return min(_LARGEST_ROOM_BYTES, at_once * largest)
