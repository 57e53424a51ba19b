"""Stores: one writer at a time, and what a killed program leaves."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from citeforge.engines.sqlite import Store
from conftest import refused


class Numbers(Store):
    APPLICATION = 0x1234
    SCHEMA = "CREATE TABLE t (x)"

    def add(self, number: int) -> None:
        self.rows("INSERT INTO t VALUES (?)", number)

    def all(self) -> list[int]:
        return [x for (x,) in self.rows("SELECT x FROM t ORDER BY x")]


PROGRAM = """
import sys
from pathlib import Path
from citeforge.engines.sqlite import Store
from citeforge import InputError

class Numbers(Store):
    APPLICATION = 0x1234
    SCHEMA = "CREATE TABLE t (x)"
"""
WRITES = f"""{PROGRAM}
with Numbers(Path(sys.argv[1])) as store:
    store.rows("INSERT INTO t VALUES (1)")
    if len(sys.argv) > 2:
        print("written", flush=True)
        sys.stdin.read()
"""


def test_the_second_writer_is_told_who_writes_and_a_reader_reads(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with subprocess.Popen(
        [sys.executable, "-c", WRITES, path, "wait"], stdin=-1, stdout=-1, text=True
    ) as writer:
        assert writer.stdout
        assert writer.stdout.readline() == "written\n"
        with refused("locked", path=path) as caught:
            Numbers(path)
        said = str(caught.value)
        assert f"is being written by process {writer.pid} on " in said
        assert " since 20" in said
        assert "wait until it has ended, or another store" in said
        with Numbers(path, readonly=True) as reader:
            assert reader.all() == [1]
        writer.kill()
        writer.wait()
    with Numbers(path) as store:  # the lock died with its process
        store.add(2)
        assert store.all() == [1, 2]
    assert list(tmp_path.iterdir()) == [path]


WRITES_IN_TURN = f"""{PROGRAM}
for number in range(20):
    while True:
        try:
            with Numbers(Path(sys.argv[1]) / f"{{number}}.db") as store:
                store.rows("INSERT INTO t VALUES (?)", int(sys.argv[2]))
            break
        except InputError as error:
            if error.code != "locked":
                raise
"""


def test_programs_that_make_a_store_at_the_same_moment_write_in_turn(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITES_IN_TURN, tmp_path]
    programs = [subprocess.Popen([*command, str(name)]) for name in range(3)]
    assert [p.wait() for p in programs] == [0, 0, 0]
    for number in range(20):
        with Numbers(tmp_path / f"{number}.db", readonly=True) as store:
            assert store.all() == [0, 1, 2]
    assert not list(tmp_path.glob("*.lock"))


def test_readers_leave_no_files_and_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Numbers(path) as store:
        store.add(1)
    (tmp_path / "s.db.lock").unlink(missing_ok=True)
    before = path.read_bytes()
    with Numbers(path, readonly=True) as reader, Numbers(path, readonly=True) as other:
        assert reader.all() == other.all() == [1]
        with refused("storage", path=path):
            reader.add(2)
    assert [p.name for p in tmp_path.iterdir()] == ["s.db"]
    assert path.read_bytes() == before


def test_a_reader_leaves_the_files_of_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Numbers(path) as store:
        store.add(1)
        with Numbers(path, readonly=True) as reader:
            assert reader.all() == [1]
        store.add(2)
        with Numbers(path, readonly=True) as reader:
            assert reader.all() == [1, 2]
    assert not list(tmp_path.glob("s.db-*"))


def test_one_process_may_open_a_store_twice(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Numbers(path) as one:
        assert one.is_first
        with Numbers(path) as two:
            assert not two.is_first
            two.add(1)
        one.add(2)
        again = subprocess.run([sys.executable, "-c", WRITES, path], capture_output=True, text=True)
        assert "is being written by" in again.stderr
        assert one.all() == [1, 2]
    assert list(tmp_path.iterdir()) == [path]


def test_a_store_that_nobody_closed_is_closed_with_its_object(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    Numbers(path).add(1)
    assert list(tmp_path.iterdir()) == [path]
    subprocess.run([sys.executable, "-c", WRITES, path], check=True)


def test_a_change_that_ends_in_an_error_is_none(tmp_path: Path) -> None:
    with Numbers(tmp_path / "s.db") as store:
        with pytest.raises(ZeroDivisionError), store.transaction() as db:
            db.execute("INSERT INTO t VALUES (1)")
            raise ZeroDivisionError
        assert store.all() == []


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.touch()
    with refused("bad-store", path=path):
        Numbers(path, readonly=True)
    Numbers(path).add(1)
    assert Numbers(path, readonly=True).all() == [1]


CALLS = (
    "write,pwrite64,fsync,fdatasync,ftruncate,fallocate,link,linkat,unlink,unlinkat,rename,"
    "fchmod,chmod,fchmodat"
)


WRITES_TRACED = f"""{PROGRAM}
import ctypes, os, time
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(0x59616D61, -1, 0, 0, 0)  # any process may trace this one
        while "TracerPid:\\t0\\n" in Path("/proc/self/status").read_text():
            time.sleep(0.001)
        time.sleep(0.01)  # until the tracer has it stopped for the first time
        with Numbers(Path(line.rstrip())) as store:
            store.rows("INSERT INTO t VALUES (1)")
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace, to die at a chosen call")
def test_a_kill_at_every_file_operation_leaves_a_store_that_opens(tmp_path: Path) -> None:
    """Each program that writes is forked from one that has done the imports."""
    words = [sys.executable, "-c", WRITES_TRACED]
    with subprocess.Popen(words, stdin=-1, stdout=-1, text=True, bufsize=1) as programs:
        assert programs.stdin
        assert programs.stdout
        for number in range(1, 120):
            folder = tmp_path / str(number)
            folder.mkdir()
            path = folder / "s.db"
            programs.stdin.write(f"{path}\n")
            child = int(programs.stdout.readline())
            what = ("-e", f"trace={CALLS}", "-e", f"inject={CALLS}:signal=SIGKILL:when={number}")
            trace = ["strace", "-qq", "-f", "-o", "/dev/null", *what, "-p", str(child)]
            if (traced := subprocess.run(trace, capture_output=True, text=True)).stderr:
                os.kill(child, signal.SIGKILL)
                pytest.fail(traced.stderr)
            code = int(programs.stdout.readline())
            if path.exists():
                with Numbers(path, readonly=True) as store:
                    assert store.all() in ([], [1])
            with Numbers(path) as store:
                numbers = store.all()
                store.add(2)
            assert list(folder.iterdir()) == [path]
            if code == 0:
                assert numbers == [1]
                assert number > 10  # the sweep has passed through all of the making
                return
            assert code == -signal.SIGKILL
            assert numbers in ([], [1])
        pytest.fail("the process never came to its end")
