"""SQLite stores: one process writes at a time, and each fault of the file gives one clear line."""

import atexit
import os
import shutil
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

from citeforge.engines.files import remove_tree, require_file, storage_errors
from citeforge.engines.folders import file_lock
from citeforge.engines.interrupts import interrupts_held
from citeforge.engines.posix import sync_folder
from citeforge.engines.shown import show_number
from citeforge.schemas.errors import InputError

BUSY_SECONDS = 30.0
_A_FEW_PAGES = 64 << 10
_OLD_STORE = "a store written by an earlier run"


class Store:
    """An SQLite file in WAL mode, written by one process at a time, read by any.

    Attributes:
        APPLICATION: ``application_id`` that tells stores of this kind from other databases.
        SCHEMA: statements that create the tables.
        VERSION: ``user_version`` of these tables.
        path: the file.
        readonly: whether it was opened to be read alone.
        is_first: whether nothing else in this process had it open for writing.
    """

    APPLICATION: ClassVar[int]
    SCHEMA: ClassVar[str]
    VERSION: ClassVar[int] = 1

    def __init__(self, path: Path, readonly: bool = False) -> None:
        """Open a store; a missing one is created, unless it is opened read-only.

        Raises:
            InputError: missing (read-only), damaged, another database, newer, locked, unwritable,
                or another process writes it; the file is untouched.
        """
        self.path, self.readonly = path, readonly
        with ExitStack() as stack, store_errors(path):
            require_file(path)  # SQLite waits for the other end of a pipe
            self.is_first = not readonly and stack.enter_context(_write_lock(path))
            if readonly and not path.exists():
                raise InputError(
                    "does not exist", path=path, allowed=_OLD_STORE, code="missing-file"
                )
            if not readonly and not (path.exists() and path.stat().st_size):
                with interrupts_held():
                    self._create()
            self._check()
            if not readonly and not os.access(path, os.W_OK):
                raise sqlite3.OperationalError("attempt to write a readonly database")
            # One thread uses it at a time, and not always the one that opened it.
            self._db = stack.enter_context(closing(_connect(path, readonly)))
            # In WAL mode, NORMAL loses nothing when the process dies, only when the machine does.
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._close = weakref.finalize(self, stack.pop_all().close)
            # At exit filelock gives up its locks, and leaves their files; this comes before that.
            atexit.register(self._close)

    def __enter__(self) -> Self:
        """Return the open SQLite store."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store's file."""
        self.close()

    def close(self) -> None:
        """Close the database file, and release the lock for writing."""
        atexit.unregister(self._close)
        self._close()

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Run an SQL statement with values; return all result rows."""
        with store_errors(self.path):
            return self._db.execute(statement, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block as one transaction: undone if the block ends in an error."""
        with store_errors(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            with self._db:
                yield self._db

    def _create(self) -> None:
        """Create an empty store under a temporary name, then rename it."""
        resolved = self.path.resolve()
        new = resolved.with_name(f".{resolved.name}.new")
        _remove_database(new)  # a killed process has left it
        try:
            with storage_errors(self.path):
                new.touch(0o600)
            with closing(_connect(new, readonly=False)) as db:
                db.executescript(self.SCHEMA)
                db.execute(f"PRAGMA application_id={self.APPLICATION}")
                db.execute(f"PRAGMA user_version={self.VERSION}")
                # Last: closing a WAL whose pages the full disk does not take is no error.
                db.execute("PRAGMA journal_mode=WAL")
            new.replace(resolved)
        finally:
            _remove_database(new)
        sync_folder(resolved.parent)

    def _check(self) -> None:
        """Check kind, version and integrity of the store's file without changing it."""
        with closing(_connect(self.path, readonly=True)) as db:
            (application,) = db.execute("PRAGMA application_id").fetchone()
            (version,) = db.execute("PRAGMA user_version").fetchone()
            (check,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if application != self.APPLICATION:
            raise InputError(
                "is another kind of database",
                path=self.path,
                allowed="a store of this kind",
                code="bad-store",
            )
        if version != self.VERSION:
            age = "a newer" if version > self.VERSION else "an older"
            raise InputError(
                f"was written by {age} citeforge (store version {version}; "
                f"this one reads {self.VERSION})",
                path=self.path,
                allowed=f"{age} citeforge, or another store",
                code="wrong-version",
            )
        if check != "ok":
            raise sqlite3.DatabaseError(check)


@contextmanager
def _write_lock(path: Path) -> Iterator[bool]:
    """Lock a store for writing; yield whether it is this process's first lock on it."""
    lock = Path(f"{path.resolve()}.lock")
    with storage_errors(path):
        lock.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(lock, path, shared=True, advice="another store") as is_first:
            yield is_first


def _remove_database(path: Path) -> None:
    """Remove a database file with its journal and WAL files."""
    for ending in ("", "-journal", "-wal", "-shm"):
        remove_tree(Path(f"{path}{ending}"))


def _connect(path: Path, readonly: bool) -> sqlite3.Connection:
    """Open an SQLite database; a read-only connection refuses to change it.

    Where files may be written beside it, it is opened for writing all the same: SQLite removes the
    ``-shm`` and ``-wal`` files with the last such connection.
    """
    resolved = path.resolve()
    is_fixed = readonly and not (
        os.access(resolved, os.W_OK) and os.access(resolved.parent, os.W_OK)
    )
    db = sqlite3.connect(
        f"{resolved.as_uri()}?mode={'ro' if is_fixed else 'rw'}", uri=True, timeout=BUSY_SECONDS,
        isolation_level=None, check_same_thread=False,
    )  # fmt: skip
    if readonly:
        db.execute("PRAGMA query_only=ON")
    return db


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors in the ``with`` block into an InputError that names the store.

    Raises:
        InputError: corrupt, locked, read-only, or the disk is full.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise InputError(
                f"is locked by another program for more than {show_number(BUSY_SECONDS, 0)} s",
                path=path,
                allowed="wait for it, or name another store",
                code="locked",
            ) from error
        if "readonly" in text:
            raise InputError(
                "is read-only",
                path=path,
                allowed="make it writable, or use replay:FILE",
                code="storage",
            ) from error
        code = getattr(error, "sqlite_errorcode", None)
        io_error = code is not None and code & 0xFF == sqlite3.SQLITE_IOERR
        # On mapped memory, SQLite reports a full disk as an I/O error.
        if "full" in text or (io_error and shutil.disk_usage(path.parent).free < _A_FEW_PAGES):
            raise InputError(
                "the disk is full", path=path, allowed="free some space", code="disk-full"
            ) from error
        if code is None:  # Python's own: a text that is not UTF-8
            raise _damaged_error(path, error) from error
        raise InputError(f"cannot be opened ({text})", path=path, code="storage") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise _damaged_error(path, error) from error


def _damaged_error(path: Path, error: Exception) -> InputError:
    """Make the error for a damaged SQLite store."""
    return InputError(
        f"is damaged, or not a store ({error})",
        path=path,
        allowed="restore a copy, or name another store; the file was not touched",
        code="bad-store",
    )
