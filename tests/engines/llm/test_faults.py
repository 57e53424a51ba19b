"""The client under faults, and under SIGKILL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from citeforge.engines.llm.client import OpenAiLlm
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.rate import RetryPolicy
from citeforge.engines.llm.records import Answer, Failure, Request
from citeforge.engines.llm.store import ReplayStore
from servers.running import Running, openai_server


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.mark.parametrize("seed", range(20))
def test_every_item_ends_in_one_answer_or_one_failure(tmp_path: Path, seed: int) -> None:
    """500 calls, 200 at a time; three of ten replies are 429, 5xx, cut, hanging or garbage."""
    requests = [Request((("user", f"item {i} of {seed}"),)) for i in range(500)]
    retry = RetryPolicy(attempts=3, throttled_attempts=30, base=0.005, cap=0.02)
    with (
        openai_server(tmp_path / "log", seed=seed, faults=0.3) as server,
        ReplayStore(tmp_path / "s.db") as store,
    ):
        options = ClientOptions(server.url, concurrency=200, timeout=2.0, retry=retry)
        results = OpenAiLlm("m", store, options).complete(requests)
        faults = Counter(r["fault"] for r in server.requests())
    assert len(results) == 500
    stored = {r.key("m"): store_row(tmp_path, r) for r in requests}
    for request, result in zip(requests, results, strict=True):
        answer, failure = stored[request.key("m")]
        assert (answer is None) != (failure is None)
        if isinstance(result, Answer):
            assert answer == result
            assert result.text == f"echo: {request.messages[0][1]}"
        else:
            assert isinstance(result, Failure)
            assert failure == result.kind == "exhausted"
    n_failed = sum(isinstance(r, Failure) for r in results)
    # 3 tries fail together with probability under 0.3³ = 2.7 %: 13.5 of 500 expected at most.
    assert n_failed < 45
    assert set(faults) > {"429", "429s", "429d", "500", "cut", "hang", "garbage", "close"}


def store_row(tmp_path: Path, request: Request) -> tuple[Answer | None, str | None]:
    import sqlite3

    with ReplayStore(tmp_path / "s.db", readonly=True) as store:
        answer = store.get(request.key("m"))
    connection = sqlite3.connect(tmp_path / "s.db")
    row = connection.execute(
        "SELECT kind FROM failures WHERE key = ?", (request.key("m"),)
    ).fetchone()
    connection.close()
    return answer, None if row is None else row[0]


# Forks one client at a time from a process that has imported everything; each is a real process.
NURSERY = """
import os, sys
from pathlib import Path
import openai, openai.resources.chat.completions
from citeforge.engines.llm.client import OpenAiLlm
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.records import Request
from citeforge.engines.llm.store import ReplayStore
for line in sys.stdin:
    url, path, n = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if child == 0:
        requests = [Request((("user", f"item {i}"),)) for i in range(int(n))]
        with ReplayStore(Path(path)) as store:
            OpenAiLlm("m", store, ClientOptions(url, concurrency=8)).complete(requests)
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

N_ITEMS = 80
CONCURRENCY = 8


class Clients:
    """Runs clients and kills them after so many requests have arrived."""

    def __init__(self, server: Running) -> None:
        self.server = server
        self.process = subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, store: Path, kill_after: int | None) -> int:
        assert self.process.stdin
        assert self.process.stdout
        before = len(self.server.requests())
        # However late the kill, the client gets no further.
        self.server.answer_up_to(None if kill_after is None else before + kill_after)
        self.process.stdin.write(f"{self.server.url}\t{store}\t{N_ITEMS}\n")
        self.process.stdin.flush()
        child = int(self.process.stdout.readline())
        while kill_after is not None:
            if len(self.server.requests()) - before >= kill_after:
                os.kill(child, signal.SIGKILL)
                break
            time.sleep(0.001)
        code = int(self.process.stdout.readline())
        self.server.answer_up_to(None)
        return code

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def answered(store: Path) -> dict[str, str]:
    """Text of every stored answer by key."""
    if not store.exists():
        return {}
    with ReplayStore(store, readonly=True) as opened:
        return {row["key"]: row["answer"]["text"] for row in opened.export()}


def test_killed_clients_repeat_at_most_what_was_in_flight(tmp_path: Path) -> None:
    kills = 0
    with openai_server(tmp_path / "log", latency=0.01) as server:
        clients = Clients(server)
        try:
            calm = tmp_path / "calm.db"
            assert clients.run(calm, None) == 0
            expected = answered(calm)
            assert len(expected) == N_ITEMS
            for chain in range(6):
                store = tmp_path / f"torn-{chain}.db"
                for step in range(9):
                    before, sent = answered(store), len(server.requests())
                    # Between 1 and 8 requests more each time; 9 × 8 < 80, so work is left.
                    code = clients.run(store, kill_after=1 + (3 * chain + 5 * step) % 8)
                    assert code == -signal.SIGKILL
                    kills += 1
                    after = answered(store)
                    assert before.items() <= after.items()
                    asked = len(server.requests()) - sent
                    # What was asked in this run is stored, or was in flight when it died.
                    assert asked - (len(after) - len(before)) <= CONCURRENCY
                before, sent = answered(store), len(server.requests())
                assert clients.run(store, None) == 0
                # No answer that was stored is asked for again.
                assert len(server.requests()) - sent == N_ITEMS - len(before)
                assert answered(store) == expected
        finally:
            clients.close()
    assert kills >= 50
