"""Stores that several programs open, and that a killed program left."""

from __future__ import annotations

import multiprocessing
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from threading import Barrier

import pytest

from citeforge.engines.io import sqlite
from citeforge.engines.io.sqlite import open_store
from citeforge.schemas.errors import InputError
from patience import patience

OURS, SCHEMA = 0x1234, "CREATE TABLE IF NOT EXISTS t (x)"
ROUNDS = 40


def open_here(path: Path, readonly: bool = False) -> sqlite3.Connection:
    return open_store(path, OURS, 1, SCHEMA, readonly)


def open_again_and_again(folder: Path, barrier: Barrier, name: int) -> None:
    sqlite.BUSY_SECONDS = patience(30)
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


DIES = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
if sys.argv[2] == "theirs":
    db.execute("PRAGMA application_id=99")
db.execute("CREATE TABLE z (x)")
db.execute("DROP TABLE z")
db.execute("PRAGMA cache_size=1")
db.execute("BEGIN")
db.execute("CREATE TABLE a (x)")
db.executemany("INSERT INTO a VALUES (?)", [("x" * 500,)] * 200)  # more than the cache holds
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_while_writing(path: Path, whose: str) -> None:
    """A database that a killed process has left with a journal to roll back."""
    code = subprocess.run([sys.executable, "-c", DIES, str(path), whose], check=False).returncode
    assert code == -signal.SIGKILL
    assert path.with_name(f"{path.name}-journal").stat().st_size > 0


def test_a_journal_that_a_killed_program_left_is_rolled_back(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    killed_while_writing(path, "ours")
    with pytest.raises(InputError, match="killed while it wrote"):
        open_here(path, readonly=True)
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as before:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            before.execute("SELECT * FROM a").fetchone()
        before.rollback()
    opened = open_here(path)
    opened.execute("INSERT INTO t VALUES (1)")
    assert opened.execute("SELECT name FROM sqlite_master").fetchall() == [("t",)]
    opened.close()
    killed_while_writing(tmp_path / "t.db", "theirs")
    content = (tmp_path / "t.db").read_bytes()
    with pytest.raises(InputError, match="another kind of database"):
        open_here(tmp_path / "t.db")
    assert (tmp_path / "t.db").read_bytes() == content


MAKES = """
import sys
from pathlib import Path
from citeforge.engines.io.sqlite import open_store
db = open_store(Path(sys.argv[1]), 0x1234, 1, "CREATE TABLE IF NOT EXISTS t (x)", False)
db.execute("INSERT INTO t VALUES (1)")
db.close()
"""
CALLS = (
    "write,pwrite64,fsync,fdatasync,ftruncate,fallocate,link,linkat,unlink,unlinkat,rename,"
    "fchmod,chmod,fchmodat"
)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace, to die at a chosen call")
def test_a_kill_at_every_file_operation_leaves_a_store_that_opens(tmp_path: Path) -> None:
    for number in range(1, 80):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "s.db"
        code = subprocess.run(
            [
                *("strace", "-qq", "-f", "-o", "/dev/null", "-e", f"trace={CALLS}"),
                *("-e", f"inject={CALLS}:signal=SIGKILL:when={number}"),
                *(sys.executable, "-B", "-c", MAKES, str(path)),
            ],
            check=False,
        ).returncode
        opened = open_here(path)
        rows = opened.execute("SELECT x FROM t").fetchall()
        opened.execute("INSERT INTO t VALUES (2)")
        opened.close()
        assert open_here(path, readonly=True).execute("SELECT max(x) FROM t").fetchone() == (2,)
        if code == 0:
            assert rows == [(1,)]
            assert number > 10  # the sweep has passed through all of the making
            return
        assert code in (-signal.SIGKILL, 128 + signal.SIGKILL)
        assert rows in ([], [(1,)])
    pytest.fail("the process never came to its end")


DIES_AFTER_THE_LINK = """
import os, signal, sys
from pathlib import Path
from citeforge.engines.io.sqlite import open_store

def stop(event, args):
    if event == "os.remove" and str(args[0]).endswith(".tmp"):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(stop)
open_store(Path(sys.argv[1]), 0x1234, 1, "CREATE TABLE IF NOT EXISTS t (x)", False)
"""


def test_what_a_program_left_that_died_after_it_linked_the_store_is_swept(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    died = subprocess.run([sys.executable, "-c", DIES_AFTER_THE_LINK, path], check=False)
    assert died.returncode == -signal.SIGKILL
    assert [p.suffix for p in tmp_path.iterdir() if p != path] == [".tmp"]
    open_here(path).close()
    assert list(tmp_path.iterdir()) == [path]
