"""The client under faults, and under SIGKILL."""

import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from citeforge.engines.llm import transport
from citeforge.engines.llm.records import Failure, LlmReply, Request
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.schemas.recipes.base import RunOptions
from conftest import sampled
from patience import patience
from servers import nursery
from servers.running import Running, openai_server

pytestmark = pytest.mark.usefixtures("key")
SLOW = pytest.mark.slow
QUICK_FAULTS = ("429s", "429d", "429", "500", "503", "cut", "garbage", "close", "408")
"""All that do not need a timeout to be noticed: a busy machine must not add any."""


def expected_end(faults: list[str | None], max_retries: int) -> str:
    """How a request ends that met these faults, by the policy's own words."""
    assert all(faults[:-1]), "it was asked again after an answer"
    if faults[-1] is None:
        return "answer"
    assert len(faults) == 1 + max_retries, f"given up with tries left: {faults}"
    return "exhausted"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("seed", "n"), [(0, 120), *(pytest.param(s, 500, marks=SLOW) for s in sampled(range(20), 10))]
)
def test_every_item_ends_in_one_answer_or_one_failure(tmp_path: Path, seed: int, n: int) -> None:
    """Hundreds of calls at a time; three of ten replies are 429, 5xx, cut or garbage. The faults
    that the server met each request with say how it has to end. `make exhaustive`: 20 seeds."""
    requests = [Request((("user", f"item {i} of {seed}"),)) for i in range(n)]
    retries = 2
    with (
        openai_server(tmp_path / "log", seed=seed, faults=0.3, kinds=QUICK_FAULTS) as server,
        ReplayStore(tmp_path / "s.db") as store,
    ):
        # Nothing hangs here, so that no timeout may pass, however slow the machine is.
        options = RunOptions(
            base_url=server.url, concurrency=200, timeout=3600.0, max_retries=retries
        )
        results = OpenAiLlm("m", store, options).complete(requests)
        log = server.requests()
    assert len(results) == n
    met: dict[str, list[str | None]] = {}
    for row in log:
        met.setdefault(row["text"], []).append(row["fault"])
    ends = Counter()
    stored = store_rows(tmp_path, requests)
    for request, result, (answer, failure) in zip(requests, results, stored, strict=True):
        assert (answer is None) != (failure is None)
        text = request.messages[0][1]
        end = expected_end(met[text], retries)
        ends[end] += 1
        if isinstance(result, LlmReply):
            assert end == "answer"
            assert answer == result
            assert result.text == f"echo: {text}"
        else:
            assert isinstance(result, Failure)
            assert failure == result.reason == end
    assert ends["answer"] and ends["exhausted"]
    assert {r["fault"] for r in log} == {None, *QUICK_FAULTS}


def test_hanging_calls_are_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first try of every request is never answered: each is asked again, and answered. A slow
    machine makes further tries time out, which changes nothing that is said here."""
    monkeypatch.setattr(transport, "_TRIES_IN_SILENCE", 1000)
    requests = [Request((("user", f"item {i}"),)) for i in range(40)]
    with (
        openai_server(tmp_path / "log", faults=1.0, kinds=("hang",), first_only=True) as server,
        ReplayStore(tmp_path / "s.db") as store,
    ):
        options = RunOptions(
            base_url=server.url, concurrency=40, timeout=patience(0.3), max_retries=1000
        )
        results = OpenAiLlm("m", store, options).complete(requests)
        tries = Counter(r["text"] for r in server.requests())
        hanging = Counter(r["text"] for r in server.requests() if r["fault"] == "hang")
    texts = [r.messages[0][1] for r in requests]
    assert [r.text for r in results if isinstance(r, LlmReply)] == [f"echo: {t}" for t in texts]
    assert hanging == Counter(texts)
    assert all(tries[t] >= 2 for t in texts)


@pytest.mark.parametrize(("retries", "tries"), [(1, 2), (12, 3)])
def test_calls_that_always_hang_are_given_up(tmp_path: Path, retries: int, tries: int) -> None:
    """Each try may be billed, so that silence is not waited for twelve times."""
    timeout = patience(0.1)
    with openai_server(tmp_path / "log", faults=1.0, kinds=("hang",)) as server:
        options = RunOptions(base_url=server.url, timeout=timeout, max_retries=retries)
        (result,) = OpenAiLlm("m", None, options).complete([Request((("user", "x"),))])
        assert len(server.requests()) == tries
    assert isinstance(result, Failure)
    assert result.message.startswith(f"no answer within {timeout:g} s; ")


def store_rows(
    tmp_path: Path, requests: Sequence[Request]
) -> list[tuple[LlmReply | None, str | None]]:
    """What the store holds of each request: an answer, the kind of a failure."""
    keys = [request.key("m") for request in requests]
    with ReplayStore(tmp_path / "s.db", readonly=True) as store:
        answers = [store.get(key) for key in keys]
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        reasons = "SELECT asked, json_extract(content, '$.reason') FROM kept WHERE kind = 'failure'"
        failed = dict(connection.execute(reasons))
    return [(answer, failed.get(key)) for key, answer in zip(keys, answers, strict=True)]


N_ITEMS = 80
CONCURRENCY = 8


def run_client(server: Running, store: Path, kill_after: int | None = None) -> int:
    """Run a client in a process of its own, killed after so many requests; its exit code."""
    before = len(server.requests())
    # However late the kill, the client gets no further.
    server.answer_up_to(None if kill_after is None else before + kill_after)
    requests = [Request((("user", f"item {i}"),)) for i in range(N_ITEMS)]
    client = nursery.start(nursery.complete, server.url, store, requests, CONCURRENCY)
    while kill_after is not None:
        if len(server.requests()) - before >= kill_after:
            client.kill()
            break
        time.sleep(0.001)
    client.join()
    server.answer_up_to(None)
    return client.exitcode or 0


def answered(store: Path) -> dict[str, str]:
    """Text of every stored answer by key."""
    if not store.exists():
        return {}
    with ReplayStore(store, readonly=True) as opened:
        return {row.key: row.answer.text for row in opened.export()}


@pytest.mark.slow
@pytest.mark.sampled
def test_killed_clients_repeat_at_most_what_was_in_flight(tmp_path: Path) -> None:
    """Chains of nine kills, at other requests each: three of them, six in `make exhaustive`."""
    chains = sampled(range(6))
    kills = 0
    with openai_server(tmp_path / "log", latency=0.01) as server:
        calm = tmp_path / "calm.db"
        assert run_client(server, calm) == 0
        expected = answered(calm)
        assert len(expected) == N_ITEMS
        for chain in chains:
            store = tmp_path / f"torn-{chain}.db"
            for step in range(9):
                before, sent = answered(store), len(server.requests())
                # Between 1 and 8 requests more each time; 9 × 8 < 80, so work is left.
                code = run_client(server, store, kill_after=1 + (3 * chain + 5 * step) % 8)
                assert code == -signal.SIGKILL
                kills += 1
                after = answered(store)
                assert before.items() <= after.items()
                asked = len(server.requests()) - sent
                # What was asked in this run is stored, or was in flight when it died.
                assert asked - (len(after) - len(before)) <= CONCURRENCY
            before, sent = answered(store), len(server.requests())
            assert run_client(server, store) == 0
            # No answer that was stored is asked for again.
            assert len(server.requests()) - sent == N_ITEMS - len(before)
            assert answered(store) == expected
    assert kills == 9 * len(chains)
