"""Progress of a command, in a file beside what it makes, so that ``citeforge view`` shows it.

The file is a temporary one (:mod:`citeforge.engines.files`): locked while its command works, and
swept away with the others if that is killed. Windows locks its first byte, which no other process
can read then: the text starts after it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread

import msgspec
from filelock import lock_descriptor

from citeforge.engines.files import TEMPORARY, make_temporary, sweep
from citeforge.engines.jsonlines import UNREADABLE
from citeforge.engines.posix import open_regular, remove_open
from citeforge.engines.progress import Stage, stage_watcher

_MARK = "progress."
PATTERN = f".{_MARK}*{TEMPORARY}"
"""Pattern of the names of progress files."""
_LOCKED = b" "
"""Bytes before the text, which are never read."""
_INTERVAL = 0.5
"""Seconds between two looks of the thread that writes the file."""


class Work(msgspec.Struct, frozen=True):
    """What a command makes, and how far it is.

    Attributes:
        command: ``run``, ``score`` or ``build``.
        out: name of the file or folder that it makes.
        stage: its last stage; None before the first.
    """

    command: str
    out: str
    stage: Stage | None = None


class _ProgressFile:
    """Keeps the last stage of a command in its progress file, written by a thread of its own."""

    def __init__(self, command: str, out: Path) -> None:
        """Create the progress file of a command, and start the thread that writes it."""
        self._work = Work(command, out.name)
        self._is_new, self._lock, self._over = True, Lock(), Event()
        sweep(out.parent)  # a build writes no other file there, and its killed runs left theirs
        self._handle, self._path = make_temporary(out.with_name(f"{_MARK}{out.name}"), 0o600)
        self._thread = Thread(target=self._write_regularly, daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # no more threads
            remove_open(self._path, self._handle)
            raise OSError(str(error)) from error

    def set_stage(self, stage: Stage) -> None:
        """Store the state of the step under way, which the thread writes to the progress file."""
        with self._lock:
            self._work, self._is_new = msgspec.structs.replace(self._work, stage=stage), True

    def _write_regularly(self) -> None:
        """Write changed progress to the file until the command ends; ignore a full disk."""
        while True:
            with self._lock:
                work, is_new, self._is_new = self._work, self._is_new, False
            if is_new:
                with suppress(OSError):
                    os.lseek(self._handle, 0, os.SEEK_SET)
                    content = _LOCKED + msgspec.json.encode(work)
                    os.truncate(self._handle, os.write(self._handle, content))
            if self._over.wait(_INTERVAL):
                return

    def end(self) -> None:
        """Stop the thread, and remove the progress file."""
        self._over.set()
        self._thread.join()
        with suppress(OSError):  # Windows keeps a file that is being read; the next sweep takes it
            remove_open(self._path, self._handle)


@contextmanager
def progress_file(command: str, out: Path | None) -> Iterator[None]:
    """Keep the progress of a block's work in a file beside ``out``, removed at its end.

    Args:
        command: name of the command, for readers.
        out: what it makes; None, or a path whose folder cannot be written, for no such file.
    """
    try:
        file = None if out is None else _ProgressFile(command, out)
    except OSError:  # whatever is wrong is said where the result is written
        file = None
    if file is None:
        yield
        return
    token = stage_watcher.set(file.set_stage)
    try:
        yield
    finally:
        stage_watcher.reset(token)
        file.end()


def read_progress(path: Path) -> Work | None:
    """Read a progress file; None if its command has ended, or it cannot be read just now."""
    if path.is_symlink() or not path.is_file():  # opening a pipe would wait for its writer
        return None
    try:
        handle = open_regular(path)
    except OSError:
        return None
    try:
        with suppress(OSError):  # without locks a dead command cannot be told from a living one
            if lock_descriptor(handle, blocking=False):
                return None
        os.lseek(handle, len(_LOCKED), os.SEEK_SET)
        return msgspec.json.decode(os.read(handle, 1 << 16), type=Work)
    except (OSError, *UNREADABLE):
        return None
    finally:
        os.close(handle)
