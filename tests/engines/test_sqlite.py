"""Stores that several programs open, and that a killed program left."""

from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path
from threading import Barrier

import pytest

from citeforge.engines.sqlite import open_store
from citeforge.schemas.errors import InputError

OURS, SCHEMA = 0x1234, "CREATE TABLE IF NOT EXISTS t (x)"
ROUNDS = 40


def open_here(path: Path, readonly: bool = False) -> sqlite3.Connection:
    return open_store(path, OURS, 1, SCHEMA, readonly)


def open_again_and_again(folder: Path, barrier: Barrier, name: int) -> None:
    for number in range(ROUNDS):
        barrier.wait()
        try:
            connection = open_here(folder / f"{number}.db")
        except InputError:
            barrier.abort()  # the others shall not wait for this one
            raise
        connection.execute("INSERT INTO t VALUES (?)", (name,))
        connection.close()


def test_programs_may_make_a_store_at_the_same_moment(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(4)
    programs = [
        context.Process(target=open_again_and_again, args=(tmp_path, barrier, name))
        for name in range(4)
    ]
    for program in programs:
        program.start()
    for program in programs:
        program.join()
    assert [p.exitcode for p in programs] == [0, 0, 0, 0]
    for number in range(ROUNDS):
        rows = open_here(tmp_path / f"{number}.db").execute("SELECT x FROM t ORDER BY x").fetchall()
        assert rows == [(0,), (1,), (2,), (3,)]


def test_a_store_that_was_never_finished_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    left = sqlite3.connect(path)
    left.execute("PRAGMA journal_mode=WAL")  # what a kill behind this statement leaves
    left.close()
    assert path.stat().st_size > 0
    with pytest.raises(InputError, match="is empty"):
        open_here(path, readonly=True)
    open_here(path).execute("INSERT INTO t VALUES (1)")
    assert open_here(path, readonly=True).execute("SELECT x FROM t").fetchall() == [(1,)]


def test_another_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="another kind of database"):
        open_here(path)
    assert path.read_bytes() == before
