"""Which requests a run is asking just now, so that runs beside it on one store do not pay too."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from citeforge.engines.io.files import storage_error

_TAKEN = {errno.EAGAIN, errno.EACCES}


class Claims:
    """A lock for each request: one byte of a file beside the store, at a place that its key gives.

    The system frees the locks of a process that dies, however it dies. Locks are those of the
    process: two runs inside one process do not see each other's.
    """

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(f"{store.name}.claims")
        self._handle: int | None = None

    def take(self, key: str) -> bool:
        """Claim a request; False when another process holds it.

        Raises:
            InputError: the file of claims cannot be made or locked.
        """
        while True:
            handle = self._opened()
            try:
                fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(key))
            except OSError as error:
                if error.errno in _TAKEN:
                    return False
                raise storage_error(error, self._path) from error
            if self._is_current(handle):
                return True
            # The last one to leave has removed the file since it was opened.
            self._close()

    def release(self, key: str) -> None:
        """Give a claim back."""
        if self._handle is not None:
            fcntl.lockf(self._handle, fcntl.LOCK_UN, 1, _place(key))

    def close(self) -> None:
        """Give everything back; the last process to leave removes the file."""
        if self._handle is None:
            return
        try:
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._is_current(self._handle):
                self._path.unlink(missing_ok=True)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise storage_error(error, self._path) from error
        finally:
            self._close()

    def _opened(self) -> int:
        if self._handle is None:
            try:
                self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise storage_error(error, self._path) from error
        return self._handle

    def _is_current(self, handle: int) -> bool:
        try:
            return self._path.stat().st_ino == os.fstat(handle).st_ino
        except FileNotFoundError:
            return False

    def _close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _place(key: str) -> int:
    """Byte of a key (hex digits): 60 bits, so that two keys do not share one."""
    return int(key[:15], 16)
