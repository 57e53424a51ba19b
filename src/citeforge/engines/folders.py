"""Folders that appear under their name only when complete, made by one process at a time.

``OUT`` is made in ``OUT.partial`` beside it, which is locked meanwhile, and gets its name in one
rename. Locks are the operating system's: they end with their process.
"""

import errno
import json
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from citeforge.engines.files import (
    follow_link,
    read_json,
    remove_tree,
    storage_errors,
    sweep,
    write_text,
)
from citeforge.engines.interrupts import interrupts_held
from citeforge.engines.posix import sync_folder
from citeforge.schemas.errors import InputError

LOCK = "lock"
OLD = "old"
"""Earlier content of ``OUT`` while the new folder gets its name; restored if the process dies."""
PACKAGE = "package"
AMENDING = ".amending"
"""Folder inside a finished one, for files that are about to be replaced together."""
_READY = "ready"
_LOCK_SECONDS = 0.2
"""Time for which a lock file that its holder has just removed is tried again."""
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}

ForeignFiles = Callable[[Path], list[str]]
"""Lists the files of a folder that citeforge did not write; raises if it wrote none of them."""


def partial_of(out: Path) -> Path:
    """Get the path ``OUT.partial``: the working folder in which ``out`` is made.

    Of a symbolic link it is beside the folder that the link leads to.
    """
    return path_beside(follow_link(out), ".partial")


def path_beside(out: Path, ending: str) -> Path:
    """Get the path next to ``out`` whose name is that of ``out`` with an ending added.

    Raises:
        InputError: ``out`` has no name of its own.
    """
    if out.name in ("", "..", "."):
        raise InputError(
            "is not the name of a folder to make",
            path=out,
            allowed="a new name, such as out/NAME",
            code="wrong-value",
        )
    return out.with_name(out.name + ending)


def check_out(out: Path) -> None:
    """Refuse an output path that no folder can be renamed to: a mount point or file.

    Raises:
        InputError: a mount point, or a file.
    """
    is_file = out.exists() and not out.is_dir()
    for is_wrong, reason, allowed in (
        (os.path.ismount(follow_link(out)), "is a mount point", "a folder inside it"),
        (is_file, "is a file", "the name of a folder to make"),
    ):
        if is_wrong:
            raise InputError(reason, path=out, allowed=allowed, code="not-a-folder")


def is_taken(out: Path) -> bool:
    """Whether a folder exists and is not empty."""
    return out.exists() and any(out.iterdir())


@contextmanager
def file_lock(
    lock_file: Path, target: Path, wait: bool = False, shared: bool = False,
    advice: str = "another --out",
) -> Iterator[bool]:  # fmt: skip
    """Lock ``target`` by a lock file; yield whether this process held no lock on it before.

    Args:
        lock_file: file that is locked; made in an existing folder, removed afterwards.
        target: path that the user named, for the message.
        wait: wait until the other process has ended, in place of the error.
        shared: whether this process may hold it several times.
        advice: what to use in place of the target, for the message.

    Returns:
        Whether this is the process's first hold of it.

    Raises:
        InputError: another process works on it; says which.
    """
    # Through a link, in a folder of another user, we would write into its target.
    refuse_link(lock_file)
    seconds = -1 if wait else _LOCK_SECONDS
    mutex = FileLock(
        lock_file, seconds, thread_local=False, is_singleton=shared, on_acquired=_write_pid
    )
    try:
        try:
            _acquire(mutex, lock_file)
        except KeyboardInterrupt:
            _release(mutex, lock_file)
            raise
    except Timeout:
        raise InputError(
            f"is being written by {_describe_holder(lock_file)}",
            path=target,
            allowed=f"wait until it has ended, or {advice}",
            code="locked",
        ) from None
    except _UnsignedLockError:
        lock_file.unlink(missing_ok=True)
        raise
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        lock_file.unlink(missing_ok=True)  # no process can hold it
        raise InputError(
            f"is on a file system without locks ({error.strerror})",
            path=target,
            allowed=f"{advice} on a local disk; move it afterwards",
            code="storage",
        ) from error
    try:
        yield mutex.lock_counter == 1
    finally:
        _release(mutex, lock_file)


def _acquire(mutex: FileLock, lock_file: Path) -> None:
    """Acquire the mutex of a lock file by its timeout; only the pauses may be interrupted."""
    deadline = None if mutex.timeout < 0 else time.monotonic() + mutex.timeout
    while True:
        try:
            with interrupts_held():
                mutex.acquire(blocking=False)
            return
        except FileNotFoundError:
            lock_file.parent.mkdir(exist_ok=True)  # its last holder has just removed it
        except Timeout:
            if deadline is not None and time.monotonic() >= deadline:
                raise
            time.sleep(mutex.poll_interval)


def _release(mutex: FileLock, lock_file: Path) -> None:
    """Release one hold on a lock file's mutex; the last one also removes the file."""
    with interrupts_held():
        if mutex.lock_counter == 1:
            # Removed while it is held: who waits for the name finds another file, or none.
            with suppress(OSError):
                lock_file.unlink()
        if mutex.lock_counter:
            mutex.release()


class _UnsignedLockError(OSError):
    """A lock is held, but its holder could not write its name into the file (full disk)."""


def _write_pid(handle: int) -> None:
    """Write process number, host and time into a lock file."""
    since = datetime.now(UTC).isoformat(timespec="seconds")
    text = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since})
    try:
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, text.encode())
    except OSError as error:
        raise _UnsignedLockError(error.errno, error.strerror) from error


def _describe_holder(lock: Path) -> str:
    """Describe the process that holds a lock, from the content of the lock file."""
    try:
        content = read_json(lock)
        return f"process {content['pid']} on {content['host']} since {content['since']}"
    except (InputError, KeyError, TypeError):
        return "another process"  # it has the lock and did not yet say who it is


@contextmanager
def staging_directory(out: Path, allowed_names: Iterable[str] = (PACKAGE,)) -> Iterator[Path]:
    """Make and lock the folder ``OUT.partial`` for the block; refuse unknown files in it.

    A folder that was moved away and not yet replaced when its process died is put back.

    Args:
        out: final name.
        allowed_names: names that a killed citeforge process may have left in it.

    Raises:
        InputError: ``out`` cannot be made, another process makes it, or ``OUT.partial`` holds
            something that is not ours.
    """
    check_out(out)
    out = follow_link(out)
    root = partial_of(out)
    with ExitStack() as stack:
        with storage_errors(out):
            out.parent.mkdir(parents=True, exist_ok=True)
            if root.is_symlink() or (root.exists() and not root.is_dir()):
                raise InputError(
                    "is not a working folder of citeforge",
                    path=root,
                    allowed="another --out",
                    code="foreign-file",
                )
            stack.callback(_remove_if_empty, root)
            root.mkdir(exist_ok=True)
            ours = {*allowed_names, LOCK, OLD}
            strange = [p for p in root.iterdir() if p.name not in ours and not is_temporary(p)]
            if strange:
                refuse_foreign_files(root, sorted(p.name for p in strange))
            stack.enter_context(file_lock(root / LOCK, out))
            _undo_replacement(root, out)
            sweep(root)
        yield root


def _undo_replacement(working_folder: Path, out: Path) -> None:
    """Restore the output folder that a killed process moved away, unless a new one replaced it."""
    if (working_folder / OLD).exists():
        if out.exists():
            remove_tree(working_folder / OLD)
        else:
            (working_folder / OLD).rename(out)


def _remove_if_empty(working_folder: Path) -> None:
    """Remove the working folder unless something is left in it."""
    # Where it is not empty: work worth resuming, or another process has begun there.
    with suppress(OSError), interrupts_held():
        working_folder.rmdir()


def is_temporary(path: Path) -> bool:
    """Whether a file's name is that of a file still being written."""
    return path.name.startswith(".") and path.name.endswith(".tmp")


def refuse_foreign_files(folder: Path, names: list[str]) -> None:
    """Raise the error that lists ``names``: files in a folder that citeforge did not write.

    Raises:
        InputError: always; names them.
    """
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    raise InputError(
        f"contains files that citeforge did not write: {listed}",
        path=folder,
        allowed="another --out, or move these files away first",
        code="foreign-file",
    )


def files_below(folder: Path) -> Iterator[str]:
    """Yield the relative paths of all files and links below a folder, sorted."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_dir():
            yield path.relative_to(folder).as_posix()


def put_in_place(folder: Path, out: Path) -> None:
    """Rename a finished folder to its final name, replacing an older one.

    Args:
        folder: inside the working folder of ``out``, which is held.
        out: final name; of a symbolic link, the folder that it leads to is replaced.
    """
    out = follow_link(out)
    old = partial_of(out) / OLD
    with interrupts_held():
        if out.exists():
            out.rename(old)
        folder.rename(out)
    sync_folder(out.parent)
    remove_tree(old)


@contextmanager
def atomic_directory(out: Path, list_foreign_files: ForeignFiles | None = None) -> Iterator[Path]:
    """Make an empty temporary folder; it becomes ``out`` when the block ends without an error.

    A folder that is replaced steps aside for the moment of the rename; when a process dies in that
    moment, the next one that works on ``out`` puts it back.

    Args:
        out: final name.
        list_foreign_files: lists those of a folder that may be replaced; None to replace nothing.

    Raises:
        InputError: foreign files are there, or another process is making it.
    """
    with staging_directory(out) as root:
        folder = root / PACKAGE
        remove_tree(folder)
        if is_taken(out):
            if list_foreign_files is None:
                raise InputError(
                    "exists already and is not empty",
                    path=out,
                    allowed="another --out",
                    code="output-exists",
                )
            names = list_foreign_files(out)
            if names:
                refuse_foreign_files(out, names)
        try:
            with storage_errors(out):
                folder.mkdir()
            yield folder
            with storage_errors(out):
                put_in_place(folder, out)
        finally:
            remove_tree(folder)


@contextmanager
def amending(folder: Path) -> Iterator[dict[str, str]]:
    """Yield a dictionary from file name to new text; after the block, all are written together.

    The new files are written into a folder below it, which takes the name ``.amending/ready`` when
    they are whole; from then on the change is made, by the next process if need be. If the block
    ends in an error, nothing is changed.

    Raises:
        InputError: the folder cannot be written, or another process is changing it.
    """
    root = folder / AMENDING
    new = root / "new"
    files: dict[str, str] = {}
    with ExitStack() as stack:
        refuse_link(root)
        stack.enter_context(storage_errors(folder))
        stack.callback(_remove_if_empty, root)
        root.mkdir(exist_ok=True)
        stack.enter_context(file_lock(root / LOCK, folder))
        _move_amendments(folder)
        remove_tree(new)
        stack.callback(remove_tree, new)
        yield files
        for name, text in files.items():
            write_text(new / name, text)
        if files:
            with interrupts_held():
                new.rename(root / _READY)
                sync_folder(root)
                _move_amendments(folder)


def finish_amendments(folder: Path) -> None:
    """Complete a change of a folder's files that was cut off after all new files were written.

    Raises:
        InputError: the folder cannot be written.
    """
    if (folder / AMENDING / _READY).is_dir():
        with amending(folder):
            pass  # coming in finishes it


def refuse_link(path: Path) -> None:
    """Refuse a path that is a symbolic link."""
    if path.is_symlink():
        raise InputError(
            "is a symbolic link", path=path, allowed="remove the link", code="link-outside"
        )


def _move_amendments(folder: Path) -> None:
    """Move a folder's new files, if all are completely written, to their final names."""
    ready = folder / AMENDING / _READY
    refuse_link(ready)
    if ready.is_dir():
        for path in sorted(ready.iterdir()):
            path.replace(folder / path.name)
        sync_folder(folder)
        ready.rmdir()
