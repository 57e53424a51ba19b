"""What was paid for is kept when the store cannot be written, and two runs pay once."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from citeforge.engines.io import sqlite as stores
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.records import LlmReply, Request
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.llm.writers import OpenAiLlm
from conftest import refused
from servers.running import Running, openai_server

pytestmark = pytest.mark.usefixtures("key")
N, AT_ONCE = 40, 16


def requests(size: int = 10) -> list[Request]:
    return [Request((("user", f"item {i} " + "x" * size),), {"max_tokens": 99}) for i in range(N)]


def complete(server: Running, path: Path, size: int = 10) -> list[Any]:
    with ReplayStore(path) as store:
        options = ClientOptions(server.url, concurrency=AT_ONCE)
        return list(OpenAiLlm("m", store, options).complete(requests(size)))


def kept_of(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if ".spill." in p.name or p.suffix == ".lock")


def test_a_locked_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen answers are on their way when another program locks the store for good."""
    monkeypatch.setattr(stores, "BUSY_SECONDS", 0.3)
    path = tmp_path / "s.db"
    caught: list[Exception] = []

    def run(server: Running) -> None:
        with refused("locked") as error:
            complete(server, path)
        caught.append(error.value)

    with openai_server(tmp_path / "log") as server:
        server.answer_up_to(0)
        thread = threading.Thread(target=run, args=(server,))
        thread.start()
        while len(server.requests()) < AT_ONCE:
            threading.Event().wait(0.01)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            server.answer_up_to(None)
            thread.join()
        (error,) = caught
        assert f"{AT_ONCE} paid answers are kept in" in str(error)
        assert len(server.requests()) == AT_ONCE  # nothing more was asked
        assert len(kept_of(tmp_path)) == 1
        results = complete(server, path)
        assert len(server.requests()) == N  # none of the sixteen a second time
    assert all(isinstance(r, LlmReply) for r in results)
    assert kept_of(tmp_path) == []
    with ReplayStore(path) as store:
        prompt, completion = store.tokens()
    assert (prompt, completion) == (3 * N, 4 * N)  # "item i x…", and "echo:" before it


CHILD = """
import resource, sys
from pathlib import Path
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.records import Request
from citeforge.engines.llm.replay import ReplayStore
from citeforge import InputError
url, path, limit, size, n, at_once = sys.argv[1:]
if int(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
asked = [Request((("user", f"item {i} " + "x" * int(size)),), {"max_tokens": 99})
         for i in range(int(n))]
try:
    with ReplayStore(Path(path)) as store:
        OpenAiLlm("m", store, ClientOptions(url, concurrency=int(at_once))).complete(asked)
except InputError as error:
    sys.exit(f"{error.code}: {error}")
"""


def child(server: Running, path: Path, limit: int, size: int) -> subprocess.CompletedProcess[str]:
    words = [server.url, path, limit, size, N, 4]
    return subprocess.run(
        [sys.executable, "-c", CHILD, *map(str, words)], capture_output=True, text=True
    )


def full_disk_story(server: Running, path: Path, limit: int, size: int) -> str:
    """Runs on a disk with too little room; then with enough. Returns what was said."""
    poor = child(server, path, limit, size)
    assert poor.returncode == 1
    assert "Traceback" not in poor.stderr
    paid = len(server.requests())
    assert 0 < paid < N
    return poor.stderr


def test_a_store_that_takes_no_more(tmp_path: Path) -> None:
    """SQLite's own limit on pages ends as a full disk does."""
    path, size = tmp_path / "s.db", 4_000
    with openai_server(tmp_path / "log") as server:
        with ReplayStore(path) as store, refused("disk-full") as caught:
            store.rows("PRAGMA max_page_count=24")
            options = ClientOptions(server.url, concurrency=4)
            OpenAiLlm("m", store, options).complete(requests(size))
        assert "paid answers are kept in" in str(caught.value)
        paid = len(server.requests())
        assert 0 < paid < N
        with ReplayStore(path) as store:
            assert store.stats().answers == paid  # stored, or imported just now
        assert kept_of(tmp_path) == []
        assert len(complete(server, path, size)) == N
        assert len(server.requests()) == N


@pytest.mark.slow
def test_a_full_disk(tmp_path: Path) -> None:
    """A size limit of the system stands for the disk: the store's log grows past it."""
    path, size = tmp_path / "s.db", 20_000
    with openai_server(tmp_path / "log") as server:
        said = full_disk_story(server, path, 600_000, size)
        assert "are kept in" in said
        paid = len(server.requests())
        with ReplayStore(path) as store:
            assert store.stats().answers == paid  # stored, or taken in just now
        assert kept_of(tmp_path) == []
        assert len(complete(server, path, size)) == N
        assert len(server.requests()) == N


@pytest.mark.slow
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1200k", "tmpfs", disk], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("no right to mount a small disk")
    try:
        size = 20_000
        with openai_server(tmp_path / "log") as server:
            said = full_disk_story(server, disk / "s.db", 0, size)
            assert said.startswith("disk-full: ")
            assert "are kept in" in said
            assert "are lost" not in said
            paid = len(server.requests())
            subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
            assert len(complete(server, disk / "s.db", size)) == N
            assert len(server.requests()) == N > paid
            with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
                while filler.write(b"x" * 4096):
                    pass
            # Full before it begins: nothing is asked.
            more = [Request((("user", "y" * 200_000 + str(i)),)) for i in range(16)]
            with refused("disk-full"), ReplayStore(disk / "s.db") as store:
                OpenAiLlm("m", store, ClientOptions(server.url)).complete(more)
            assert len(server.requests()) == N
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.slow
def test_the_second_run_on_a_store_is_told_who_asks_and_pays_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with openai_server(tmp_path / "log") as server:
        server.answer_up_to(0)
        words = [server.url, path, 0, 10, N, AT_ONCE]
        first = subprocess.Popen([sys.executable, "-c", CHILD, *map(str, words)])
        while len(server.requests()) < AT_ONCE:
            threading.Event().wait(0.01)
        second = child(server, path, 0, 10)
        assert second.returncode == 1
        assert second.stderr.startswith("locked: ")
        assert f"is being written by process {first.pid} on " in second.stderr
        assert len(server.requests()) == AT_ONCE
        server.answer_up_to(None)
        assert first.wait() == 0
        assert child(server, path, 0, 10).returncode == 0
        assert len(server.requests()) == N
    assert kept_of(tmp_path) == []
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM usage").fetchone() == (N,)


@pytest.mark.slow
def test_what_a_dead_run_was_asking_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with openai_server(tmp_path / "log") as server:
        server.answer_up_to(0)
        words = [server.url, path, 0, 10, N, AT_ONCE]
        dead = subprocess.Popen([sys.executable, "-c", CHILD, *map(str, words)])
        while len(server.requests()) < AT_ONCE:
            threading.Event().wait(0.01)
        dead.kill()
        dead.wait()
        server.answer_up_to(None)
        assert len(kept_of(tmp_path)) == 2  # its lock, and the room that it took
        assert len(complete(server, path)) == N
    assert kept_of(tmp_path) == []


def test_what_a_dead_run_leaves_is_imported_and_a_foreign_row_is_refused(tmp_path: Path) -> None:
    from citeforge.engines.llm.replay import exported_row

    request = requests()[0]
    row = asdict(
        exported_row(request.key("m"), request.payload("m"), 0, LlmReply("yes", 1, 2, "m"))
    )
    spill = tmp_path / f"s.db.spill.{os.getpid()}"
    spill.write_bytes(json.dumps(row).encode() + b"\n" + json.dumps(row).encode()[:40] + b"\0" * 99)
    (tmp_path / "s.db.spill.1").write_bytes(b"\0" * 99)  # room that nothing was written to
    (tmp_path / "s.db.lock").touch()
    with ReplayStore(tmp_path / "s.db") as store:
        assert store.get(request.key("m")) == LlmReply("yes", 1, 2, "m")
        assert store.tokens() == (1, 2)
    assert kept_of(tmp_path) == []
    spill.write_bytes(json.dumps({**row, "key": "0" * 64}).encode() + b"\n")
    with refused("hash-mismatch", path=spill, line=1, field="key"):
        ReplayStore(tmp_path / "s.db")
    assert spill.exists()
