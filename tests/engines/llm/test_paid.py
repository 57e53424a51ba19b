"""A run ends when its store cannot be written, and two runs pay once."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines import sqlite as stores
from citeforge.engines.llm.records import LlmReply, Request
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.schemas.recipes.base import RunOptions
from conftest import refused
from servers import nursery
from servers.running import Running, openai_server

pytestmark = pytest.mark.usefixtures("key")
N, AT_ONCE = 40, 16


def requests(size: int = 10) -> list[Request]:
    return [Request((("user", f"item {i} " + "x" * size),), {"max_tokens": 99}) for i in range(N)]


def complete(server: Running, path: Path, size: int = 10) -> list[Any]:
    with ReplayStore(path) as store:
        options = RunOptions(base_url=server.url, concurrency=AT_ONCE)
        return list(OpenAiLlm("m", store, options).complete(requests(size)))


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
        assert f"{AT_ONCE} replies that were under way could not be stored" in str(error)
        assert len(server.requests()) == AT_ONCE  # nothing more was asked
        results = complete(server, path)
        assert len(server.requests()) == AT_ONCE + N
    assert all(isinstance(r, LlmReply) for r in results)
    with ReplayStore(path) as store:
        assert store.tokens() == (3 * N, 4 * N)  # "item i x…", and "echo:" before it


def test_a_store_that_takes_no_more(tmp_path: Path) -> None:
    """SQLite's own limit on pages ends as a full disk does."""
    path, size = tmp_path / "s.db", 4_000
    with openai_server(tmp_path / "log") as server:
        with ReplayStore(path) as store, refused("disk-full") as caught:
            store.rows("PRAGMA max_page_count=24")
            options = RunOptions(base_url=server.url, concurrency=4)
            OpenAiLlm("m", store, options).complete(requests(size))
        assert "could not be stored" in str(caught.value)
        paid = len(server.requests())
        assert 0 < paid < N
        with ReplayStore(path) as store:
            stored = store.stats().answers
        assert paid - 4 <= stored < paid  # lost is what was under way
        assert len(complete(server, path, size)) == N
        assert len(server.requests()) == paid + N - stored


@pytest.mark.slow
def test_a_full_disk(tmp_path: Path) -> None:
    """A size limit of the system stands for the disk: the store's log grows past it."""
    path, size = tmp_path / "s.db", 20_000
    with openai_server(tmp_path / "log") as server:
        poor = nursery.fork(nursery.complete, server.url, path, requests(size), 4, 600_000)
        assert poor.returncode == 1
        assert "Traceback" not in poor.stderr
        assert "could not be stored" in poor.stderr
        paid = len(server.requests())
        assert 0 < paid < N
        with ReplayStore(path) as store:
            stored = store.stats().answers
        assert len(complete(server, path, size)) == N
        assert len(server.requests()) == paid + N - stored


@pytest.mark.slow
def test_the_second_run_on_a_store_is_told_who_asks_and_pays_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with openai_server(tmp_path / "log") as server:
        server.answer_up_to(0)
        first = nursery.start(nursery.complete, server.url, path, requests(), AT_ONCE)
        while len(server.requests()) < AT_ONCE:
            threading.Event().wait(0.01)
        again = (nursery.complete, server.url, path, requests(), AT_ONCE)
        second = nursery.fork(*again)
        assert second.returncode == 1
        assert second.stderr.startswith("locked: ")
        assert f"is being written by process {first.pid} on " in second.stderr
        assert len(server.requests()) == AT_ONCE
        server.answer_up_to(None)
        first.join()
        assert first.exitcode == 0
        assert nursery.fork(*again).returncode == 0
        assert len(server.requests()) == N
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM kept").fetchone() == (N,)
