"""Files that appear under their name only when complete; hashes of files; JSON documents."""

import codecs
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

import msgspec
from filelock import lock_descriptor

from citeforge.engines.interrupts import interrupts_held
from citeforge.engines.json_errors import json_error
from citeforge.engines.jsonlines import require_unique_names
from citeforge.engines.pipes import readable_path
from citeforge.engines.posix import IS_POSIX, remove_open, rename_new, sync_folder
from citeforge.schemas.errors import InputError, read_error

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
TEMPORARY = ".citeforge.tmp"
"""Ending of the names of temporary files."""
_JSON_BYTE = re.compile(r"\(byte (\d+)\)$")


@contextmanager
def atomic_file(path: Path, exclusive: bool = False, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Open a temporary file that is renamed to ``path`` when the block ends without an error.

    The bytes are on the disk before the name appears, and an existing file is replaced in one
    step. On any error the temporary file is removed; what killed processes left in the folder is
    swept away.

    Args:
        path: final name; of a symbolic link, the file that it leads to is replaced.
        exclusive: keep a file that has appeared there meanwhile, and drop this one.
        mode: permissions of the file, from its first byte; the system takes the umask off them.

    Raises:
        InputError: the disk is full, the folder cannot be written, or ``path`` is a pipe or device.
    """
    with storage_errors(path):
        path = require_file(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep_once(path.parent.resolve())
    temporary: Path | None = None
    try:
        with storage_errors(path):
            with interrupts_held():
                handle, temporary = make_temporary(path, mode)
                opened = os.fdopen(handle, "wb")
            with opened as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                # Closing ends the lock, and a sweep would remove the file: it is renamed before.
                if IS_POSIX:
                    _rename(temporary, path, exclusive)
            if not IS_POSIX:
                _rename(temporary, path, exclusive)
            sync_folder(path.parent)
    except BaseException:
        with interrupts_held():
            if temporary is not None:
                temporary.unlink(missing_ok=True)
        raise


def require_file(path: Path) -> Path:
    """Get the path to write a file at, links followed; refuse folders, pipes and devices.

    Raises:
        InputError: it is a folder, a pipe or a device, which no file can replace.
    """
    # The system opens a link such as /dev/stdout that leads to no path.
    if not path.exists() or path.is_file():
        return follow_link(path)
    is_folder = path.is_dir()
    raise InputError(
        f"is a {'folder' if is_folder else 'pipe or device'}",
        path=path,
        allowed="the name of a file"
        + ("" if is_folder else ", which you can copy there afterwards"),
        code="not-a-file",
    )


def follow_link(path: Path) -> Path:
    """Return the path that a symbolic link leads to; other paths are returned as they are.

    Raises:
        InputError: it leads to itself.
    """
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise InputError(
            "is a symbolic link that leads to itself", path=path, allowed="remove the link",
            code="storage"
        )  # fmt: skip
    return target


def require_writable(*paths: Path) -> None:
    """Raise an error if files cannot be written at these paths, before costly work (tries each).

    Raises:
        InputError: one cannot be written: a full disk, a read-only folder, or a folder there.
    """
    for path in paths:
        with storage_errors(path):
            target = require_file(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = make_temporary(target, 0o600)
            os.close(handle)
            temporary.unlink()


def _rename(temporary: Path, path: Path, exclusive: bool) -> None:
    """Rename a temporary file to ``path``; with ``exclusive`` keep a file that is already there."""
    if exclusive:
        rename_new(temporary, path)
    else:
        temporary.replace(path)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn each OSError in the ``with`` block into an InputError that explains it in one line.

    Raises:
        InputError: the disk is full, or the file cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise storage_error(error, path) from error


def make_temporary(path: Path, mode: int) -> tuple[int, Path]:
    """Make a locked temporary file beside ``path``: (open file descriptor, its path).

    Args:
        path: final path of the file.
        mode: permissions of the file.

    Returns:
        (open file descriptor, path of the temporary file).
    """
    while True:
        # Not the whole name: a long one would get too long.
        name = path.parent / f".{path.name[:40]}.{secrets.token_hex(8)}{TEMPORARY}"
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        with suppress(OSError):  # a file system without locks has no sweeps either
            lock_descriptor(handle)  # waits for somebody who looks whether it is held
        if name.exists():
            return handle, name
        os.close(handle)  # swept before it was held


@cache
def _sweep_once(folder: Path) -> None:
    """Remove the temporary files of dead processes from a folder, once per process."""
    sweep(folder)


def sweep(folder: Path) -> None:
    """Remove the temporary files in a folder whose writing processes are dead."""
    for path in folder.glob(f".*{TEMPORARY}"):
        try:
            handle = os.open(path, os.O_RDWR)
        except OSError:
            continue  # gone by now, or another user's
        is_dead = False
        with suppress(OSError):  # without locks a dead writer cannot be told from a living one
            is_dead = lock_descriptor(handle, blocking=False)
        if is_dead:
            with suppress(OSError):
                remove_open(path, handle)
        else:
            os.close(handle)


def storage_error(error: OSError, path: Path | str | None) -> InputError:
    """Make the error that describes an operating system's error at ``path`` in one line."""
    if error.errno in _FULL:
        return InputError(
            f"the disk is full or a size limit is reached ({error.strerror})",
            path=path,
            allowed="free some space and run the same command again",
            code="disk-full",
        )
    if error.errno == errno.ENOENT:
        return InputError("does not exist", path=error.filename or path, code="missing-file")
    return InputError(
        f"cannot be written: {error.strerror or error}",
        path=path,
        allowed="a place that you may write to",
        code="storage",
    )


def write_bytes(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file atomically, with the permissions ``mode``."""
    with atomic_file(path, mode=mode) as file:
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8 atomically: it appears complete or not at all."""
    write_bytes(path, text.encode())


def canonical_json(value: Any) -> str:
    """Write a value as JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(value: Any) -> str:
    """Compute the sha256 (64 hex digits) of a value written as canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def sha256_file(path: Path) -> str:
    """Compute the sha256 (64 hex digits) of a file's bytes.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        with readable_path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise read_error(error, path) from error


def digest_path(path: Path) -> str:
    """Compute the sha256 of a file's bytes, or the one over all files of a folder."""
    return digest_folder(path) if path.is_dir() else sha256_file(path)


def digest_folder(folder: Path) -> str:
    """Compute a sha256 over names and contents of all files below a folder, except hidden ones."""
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    visible = [n for n in names if not n.startswith(".") and "/." not in n]
    return digest({n: sha256_file(folder / n) for n in visible})


def read_json(path: Path) -> Any:
    """Parse a JSON file (RFC 8259: no NaN, no lone surrogates, no repeated names).

    Raises:
        InputError: it is missing, not UTF-8, or not JSON; with the line at fault.
    """
    try:
        content = readable_path(path).read_bytes()
    except OSError as error:
        raise read_error(error, path) from error
    return parse_json(content.removeprefix(codecs.BOM_UTF8), path)


def parse_json(content: bytes, path: Path) -> Any:
    """Parse the bytes of a JSON file; errors name the file and the line.

    Raises:
        InputError: it is not UTF-8, or not JSON; with the line at fault.
    """
    try:
        content.decode()
        value = msgspec.json.decode(content)
        require_unique_names(content, path)
        return value
    except UnicodeDecodeError as error:
        raise InputError(
            f"is not UTF-8 (byte {error.start})",
            path=path,
            line=content.count(b"\n", 0, error.start) + 1,
            code="bad-encoding",
        ) from error
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        at = _JSON_BYTE.search(str(error))
        line = content.count(b"\n", 0, int(at[1])) + 1 if at else None
        if not content.strip():
            raise InputError(
                "is empty; expected JSON", path=path, line=line, code="bad-json"
            ) from error
        raise json_error(content, error, path, line, "is not JSON", None) from error


def remove_tree(path: Path) -> None:
    """Remove a file, or a folder with its content; do nothing if it does not exist."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
