"""SQLite stores: one clear line for each thing that can be wrong with the file."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citeforge.schemas.errors import InputError

BUSY_SECONDS = 30.0


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
        if "full" in text:
            raise InputError("the disk is full", path=path, allowed="free some space") from error
        raise InputError(f"cannot be opened ({text})", path=path) from error
    except sqlite3.DatabaseError as error:
        raise InputError(
            f"is damaged or no store ({error})",
            path=path,
            allowed="restore a copy, or name another store; the file was not touched",
        ) from error


def open_store(
    path: Path, application: int, version: int, schema: str, readonly: bool
) -> sqlite3.Connection:
    """Open or create a store in WAL mode.

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
        is_ours = not is_new and _check_kind(path, application, version)
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
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        _use_wal(connection)
        # In WAL mode, NORMAL loses nothing when the process dies, only when the machine does.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        _create(connection, schema)
        connection.execute(f"PRAGMA application_id={application}")
        connection.execute(f"PRAGMA user_version={version}")
        connection.execute("COMMIT")
        return connection


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


def _check_kind(path: Path, application: int, version: int) -> bool:
    """Look at the file without changing it.

    Returns:
        Whether it is a store; False for a database without tables, as another program that is just
        making it, or was killed while it did, leaves it.
    """
    with path.open("rb") as file:
        if file.read(16) != b"SQLite format 3\x00":
            raise sqlite3.DatabaseError("file is not a database")
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS
    )
    try:
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
