"""Files that appear under their name only when they are whole, and their hashes."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from citeforge.schemas.errors import InputError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the name ``path`` when the block ends well.

    The bytes are on the disk before the name appears, and an existing file is replaced in one
    step. On any error the temporary file is removed.

    Raises:
        InputError: the disk is full or the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise storage_error(error, path) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise storage_error(error, path) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def storage_error(error: OSError, path: Path) -> InputError:
    """Turn an operating-system error at ``path`` into one clear line."""
    if error.errno in _FULL:
        return InputError(
            f"the disk is full or a size limit is reached ({error.strerror})",
            path=path,
            allowed="free some space and run the same command with --resume",
        )
    return InputError(f"cannot be written: {error.strerror or error}", path=path)


def sync_folder(folder: Path) -> None:
    """Make renames inside ``folder`` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    with atomic_file(path) as file:
        file.write(text.encode())


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(value: Any) -> str:
    """sha256 (64 hex digits) of a JSON-serialisable value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def sha256_file(path: Path) -> str:
    """sha256 (64 hex digits) of a file's bytes.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error


def digest_folder(folder: Path) -> str:
    """sha256 over the names and sha256 of all files below a folder."""
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return digest({p.relative_to(folder).as_posix(): sha256_file(p) for p in files})


def read_json(path: Path) -> Any:
    """Parse a JSON file.

    Raises:
        InputError: it is missing, not UTF-8, or not JSON; with the line at fault.
    """
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 (byte {error.start})", path=path) from error
    except (json.JSONDecodeError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"is not JSON ({error})", path=path, line=line) from error


def remove_tree(path: Path) -> None:
    """Remove a file or folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
