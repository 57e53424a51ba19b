"""SQLite stores: one clear line for each thing that can be wrong with the file."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from citeforge.engines.io.files import atomic_file, sweep_once
from citeforge.schemas.errors import InputError

BUSY_SECONDS = 30.0
_A_FEW_PAGES = 64 << 10
_MODE, _WAL = slice(18, 20), b"\2\2"
"""Where the header of a database says how it is journalled (SQLite's file format, 1.3.3)."""


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one clear line.

    Raises:
        InputError: corrupt, locked, read-only, or the disk is full.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise InputError(
                f"is locked by another program for more than {BUSY_SECONDS:.0f} s",
                path=path,
                allowed="wait for it, or name another store",
            ) from error
        if "readonly" in text:
            raise InputError(
                "is read-only", path=path, allowed="make it writable, or use replay:FILE"
            ) from error
        code = getattr(error, "sqlite_errorcode", None)
        io_error = code is not None and code & 0xFF == sqlite3.SQLITE_IOERR
        if "full" in text or (io_error and _full(path)):
            raise InputError("the disk is full", path=path, allowed="free some space") from error
        if code is None:  # Python's own: a text that is not UTF-8
            raise _damaged(path, error) from error
        raise InputError(f"cannot be opened ({text})", path=path) from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError(
        f"is damaged or no store ({error})",
        path=path,
        allowed="restore a copy, or name another store; the file was not touched",
    )


def _full(path: Path) -> bool:
    """Whether nothing fits beside a file: SQLite calls that an I/O error where it maps memory."""
    return shutil.disk_usage(path.parent).free < _A_FEW_PAGES


def open_store(
    path: Path, application: int, version: int, schema: str, readonly: bool
) -> sqlite3.Connection:
    """Open or create a store in WAL mode.

    A new store appears under its name when it is whole; one that a killed program has left half
    changed is put right by the next that opens it for writing.

    Args:
        path: file.
        application: ``application_id`` that tells our stores from other databases.
        version: newest ``user_version`` that is understood.
        schema: statements that create the tables of that version.
        readonly: whether the file must exist and is never written.

    Raises:
        InputError: missing (read-only), damaged, not such a store, newer, locked, unwritable.
    """
    is_new = not path.exists() or path.stat().st_size == 0
    if is_new and readonly:
        raise InputError("does not exist", path=path, allowed="a store written by an earlier run")
    with store_errors(path):
        if not path.exists():
            _make(path, application, version, schema)
            is_new = False
        elif not readonly:
            sweep_once(path.parent)  # whoever linked the store here may have died right after
        is_ours = not is_new and _check_kind(path, application, version, readonly)
        if readonly and not is_ours:
            raise InputError("is empty", path=path, allowed="a store written by an earlier run")
        if readonly:
            connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS
            )
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return connection
        if path.exists() and not os.access(path, os.W_OK):
            raise sqlite3.OperationalError("attempt to write a readonly database")
        path.parent.mkdir(parents=True, exist_ok=True)
        # One thread uses it at a time, and not always the one that opened it.
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        _use_wal(connection)
        # In WAL mode, NORMAL loses nothing when the process dies, only when the machine does.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        _create(connection, schema)
        connection.execute(f"PRAGMA application_id={application}")
        connection.execute(f"PRAGMA user_version={version}")
        connection.execute("COMMIT")
        return connection


def _make(path: Path, application: int, version: int, schema: str) -> None:
    """Make an empty store beside its name and link it there; one that has appeared stands.

    SQLite itself makes a database in steps: killed between two of them, it leaves a file that can
    be opened for writing only.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as memory:
        _create(memory, schema)
        memory.execute(f"PRAGMA application_id={application}")
        memory.execute(f"PRAGMA user_version={version}")
        content = bytearray(memory.serialize())
    content[_MODE] = _WAL
    with atomic_file(path, exclusive=True, mode=0o600) as file:
        file.write(content)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode. SQLite does not wait for locks there, as it does everywhere else, so that
    two programs that make a store together would get in each other's way."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _create(connection: sqlite3.Connection, schema: str) -> None:
    # `executescript` would commit first; the statements belong into the open transaction.
    for statement in schema.split(";"):
        if statement.strip():
            connection.execute(statement)


def _roll_back(path: Path, application: int, readonly: bool) -> None:
    """Let SQLite undo what a killed program has left half written.

    Raises:
        InputError: the file is another program's, or is opened for reading.
    """
    with path.open("rb") as file:
        found = int.from_bytes(file.read(72)[68:72], "big")
    if found not in (0, application):
        raise InputError("is another kind of database", path=path, allowed="a store of this kind")
    if readonly:
        raise InputError(
            "was left by a program that was killed while it wrote",
            path=path,
            allowed="run the command that writes it again; nothing that it finished is lost",
        )
    uri = f"{path.resolve().as_uri()}?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _check_kind(path: Path, application: int, version: int, readonly: bool) -> bool:
    """Look at the file without changing it, unless it waits to be rolled back.

    Returns:
        Whether it is a store; False for a database without tables, as another program that is just
        making it, or was killed while it did, leaves it.
    """
    with path.open("rb") as file:
        if file.read(16) != b"SQLite format 3\x00":
            raise sqlite3.DatabaseError("file is not a database")
    uri = f"{path.resolve().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)
    try:
        try:
            connection.execute("PRAGMA application_id").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
                raise
            _roll_back(path, application, readonly)
        (found_application,) = connection.execute("PRAGMA application_id").fetchone()
        (found_version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (check,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    finally:
        connection.close()
    if not found_application and not tables:
        return False
    if found_application != application:
        raise InputError("is another kind of database", path=path, allowed="a store of this kind")
    if found_version > version:
        raise InputError(
            f"was written by a newer citeforge (store version {found_version}; "
            f"this one reads up to {version})",
            path=path,
            allowed="a newer citeforge, or another store",
        )
    if check != "ok":
        raise sqlite3.DatabaseError(check)
    return True
