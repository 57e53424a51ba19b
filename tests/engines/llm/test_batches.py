"""Requests in batches: each is paid once, at half the price, whatever becomes of its batch."""

import re
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.llm import batches
from citeforge.engines.llm.budget import BudgetError, total_cost
from citeforge.engines.llm.records import Failure, LlmReply, Request, Result
from citeforge.engines.llm.replay import ReplayStore, export_store
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.schemas.recipes.base import RunOptions
from conftest import Inline, refused
from servers.batch_server import BatchServer, Fate, batch_server, complete
from servers.provider import Body, Sent, chat, refusal

pytestmark = pytest.mark.usefixtures("key")
PRICE = (1e6, 1e6)  # one a token
PAID = 10 + 5  # tokens of a reply of the server


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_PAUSES", (0.0, 0.0, 0.0, 0.0))
    monkeypatch.setattr(batches, "_FIRST_POLL", 0.0)


def requests(n: int = 5, start: int = 0) -> list[Request]:
    params = {"temperature": 0.0, "max_tokens": 30}
    return [Request((("user", f"t{i}"),), params) for i in range(start, start + n)]


def llm(server: BatchServer, store: ReplayStore | None, **options: Any) -> OpenAiLlm:
    settings = {"batch": True, "price": PRICE, "max_retries": 0} | options
    return OpenAiLlm("m", store, RunOptions(base_url=server.url, **settings))


def texts(results: list[Result]) -> list[str]:
    return [r.text if isinstance(r, LlmReply) else r.reason for r in results]


def test_requests_are_asked_in_one_batch_at_half_the_price(
    store: ReplayStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with batch_server() as server:
        model = llm(server, store)
        assert texts(model.complete(requests())) == [f"echo t{i}" for i in range(5)]
        assert len(server.batches) == 1 and server.direct == []
        assert "batch batch_0 of 5 requests" in capsys.readouterr().err
        n = len(server.log)
        assert texts(model.complete(requests())) == [f"echo t{i}" for i in range(5)]
        assert len(server.log) == n  # all replies are stored
        # A direct call beside them costs the whole price.
        assert texts(llm(server, store, batch=False).complete(requests(1, 9))) == ["echo t9"]
    stats = store.stats()
    assert (stats.answers, stats.prompt_tokens, stats.completion_tokens) == (6, 60, 30)
    assert stats.batch_tokens == (50, 25)
    assert total_cost(PRICE, store.tokens(), stats.batch_tokens) == 5 * PAID / 2 + PAID
    store.close()
    assert export_store(tmp_path / "s.db", tmp_path / "s.jsonl") == 6


def test_the_plan_says_the_share_of_the_price(store: ReplayStore) -> None:
    whole = llm(BatchServer(chat, complete), store, batch=False, thinking_tokens=0)
    half = llm(BatchServer(chat, complete), store, thinking_tokens=0)
    # 5 prompts of 2 bytes and 8 tokens of overhead, and 5 replies of 30 tokens
    most = 5 * (2 + 8) + 5 * 30
    assert whole.plan(requests()).to_text_lines()[-1].endswith(f"at most {most:.4f}")
    assert (
        half.plan(requests())
        .to_text_lines()[-1]
        .endswith(f"at most {most / 2:.4f} (batches: 0.5 of --price)")
    )


def test_a_ceiling_makes_smaller_batches_and_ends_the_run(store: ReplayStore) -> None:
    bound = (2 + 8 + 30) / 2  # of one request
    with batch_server() as server:
        model = llm(server, store, thinking_tokens=0, max_cost=2 * bound)
        # Two fit; both cost 7.5, so that one more fits (15 + 20 ≤ 40), and another (22.5 + 20 > 40)
        # does not.
        with pytest.raises(BudgetError, match=re.escape("(spent 22.5000 in all runs)")):
            model.complete(requests())
        assert [len(server.lines(b)) for b in server.batches.values()] == [2, 1]
        raised = llm(server, store, thinking_tokens=0, max_cost=3 * bound)
        assert len(texts(raised.complete(requests()))) == 5
        assert [len(server.lines(b)) for b in server.batches.values()] == [2, 1, 1, 1]


@pytest.mark.slow
def test_batches_keep_to_the_limits(store: ReplayStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_REQUESTS", 2)
    with batch_server() as server:
        assert len(llm(server, store).complete(requests())) == 5
        sizes = [len(server.lines(b)) for b in server.batches.values()]
        size = len(server.files["file-0"]) // 2
        monkeypatch.setattr(batches, "MOST_BYTES", 3 * size + 1)
        monkeypatch.setattr(batches, "MOST_REQUESTS", 50_000)
        assert len(llm(server, store).complete(requests(7, 1000))) == 7
        assert [len(server.lines(b)) for b in server.batches.values()] == [*sizes, 2, 2, 2, 1]
    assert sizes == [2, 2, 1]


def expire(server: BatchServer, batch: Body) -> None:
    server.finish(batch, "expired", done=3)


def cancel(server: BatchServer, batch: Body) -> None:
    server.finish(batch, "cancelled", done=3)


@pytest.mark.parametrize(
    ("fate", "words"),
    [(expire, "could not be executed before"), (cancel, "batch batch_0 cancelled without a reply")],
)
def test_of_an_ended_batch_only_what_has_no_reply_is_asked_again(
    store: ReplayStore, fate: Fate, words: str
) -> None:
    with batch_server(fate=fate) as server:
        results = llm(server, store).complete(requests())
        # Outputs are in reverse: t4, t3 and t2 were done.
        assert texts(results) == ["exhausted", "exhausted", "echo t2", "echo t3", "echo t4"]
        assert isinstance(results[0], Failure) and words in results[0].message
        server.fate = complete
        assert texts(llm(server, store).complete(requests())) == [f"echo t{i}" for i in range(5)]
        again = [b["messages"][0]["content"] for b in server.bodies()[5:]]
        assert again == ["t0", "t1"]


def test_a_batch_that_fails_its_validation(store: ReplayStore) -> None:
    def fail(server: BatchServer, batch: Body) -> None:
        server.fail(batch, "token_limit_exceeded", "Enqueued token limit reached", line=3)

    with batch_server(fate=fail) as server:
        results = llm(server, store).complete(requests())
        assert texts(results) == ["exhausted"] * 5
        assert isinstance(results[0], Failure)
        assert results[0].message == (
            "batch batch_0 failed: line 3: Enqueued token limit reached (token_limit_exceeded)"
        )
        with refused("endpoint-failed"):  # as when the first direct calls all fail
            llm(server, store).complete(requests(12, 100))


def test_failed_lines_are_counted_and_asked_again(store: ReplayStore) -> None:
    def behave(body: Body) -> Sent:
        text = body["messages"][-1]["content"]
        if text == "t1":
            return refusal("The server had an error", "server_error", status=500)
        if text == "t2":
            return refusal("Bad words", "content_filter")
        return chat(None if text == "t3" else f"echo {text}")

    with batch_server(behave) as server:
        results = llm(server, store).complete(requests())
        assert texts(results) == ["echo t0", "exhausted", "content_filter", "empty", "echo t4"]
        assert isinstance(results[1], Failure)
        assert results[1].message == "HTTP 500: The server had an error"
        server.behave = lambda body: chat("yes")
        assert texts(llm(server, store).complete(requests()))[1:4] == ["yes"] * 3
    # The empty reply was paid for, too: 3 in the first batch, 3 in the second.
    assert sum(store.tokens()) == sum(store.tokens(in_batches=True)) == 6 * PAID


def completion_tokens_only(body: Body) -> Sent:
    if "max_tokens" in body:
        message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        return refusal(message, "unsupported_parameter", "max_tokens")
    return chat(f"echo {body['messages'][-1]['content']}")


def test_what_an_earlier_batch_was_refused_is_asked_once(store: ReplayStore) -> None:
    """With a ceiling, the earlier batch is fetched before a new one is made."""
    with batch_server(completion_tokens_only) as server:
        server.faults.append(("GET /v1/batches/batch_0$", refusal("Wrong key", status=401)))
        with refused("endpoint-refused"):
            llm(server, store, max_cost=1e6).complete(requests(2))
        done = llm(server, store, max_cost=1e6).complete(requests(2))
        assert texts(done) == ["echo t0", "echo t1"]
        assert [len(server.lines(b)) for b in server.batches.values()] == [2, 2]


def test_what_a_model_refuses_goes_into_a_second_batch(store: ReplayStore) -> None:
    with batch_server(completion_tokens_only) as server:
        assert texts(llm(server, store).complete(requests())) == [f"echo t{i}" for i in range(5)]
        assert [b.get("max_completion_tokens") for b in server.bodies()] == [None] * 5 + [4126] * 5
    assert store.stats().failures == 0


@pytest.mark.parametrize("page", [100, pytest.param(1, marks=pytest.mark.slow)])
def test_a_lost_reply_to_the_creation_makes_no_second_batch(store: ReplayStore, page: int) -> None:
    with batch_server() as server:
        server.page = page
        assert len(llm(server, store).complete(requests(2, 50))) == 2
        # The batch is made, the connection breaks, and three of four listings do not show it yet.
        server.faults.append(("POST /v1/batches$", None))
        server.late = 3
        assert len(llm(server, store).complete(requests())) == 5
        assert len(llm(server, store).complete(requests(2, 70))) == 2
        assert len(server.batches) == 3


@pytest.mark.parametrize("fault", [None, refusal("Overloaded", status=503)], ids=["made", "not"])
def test_only_the_user_says_that_a_lost_batch_was_not_made(
    store: ReplayStore, fault: Sent | None, inline: Inline
) -> None:
    """Unlisted, it is neither made anew nor asked directly; a batch that was made is found later,
    and one that was not is made when the user has said so."""
    with batch_server() as server:
        server.faults.append(("POST /v1/batches$", fault))
        server.late = 4 + 4  # looks of two runs, four each
        for _ in range(2):
            with refused("open-batch", path=server.url) as caught:
                llm(server, store).complete(requests(2))
        command = f"`citeforge llm forget {store.path} file-0`, and run again"
        assert command in str(caught.value)
        with refused("open-batch"):
            llm(server, store, batch=False).complete(requests(1))
        if fault is not None:
            with refused("unknown-name", path=store.path):
                store.forget_batch("file-1")
            told = inline("llm", "forget", store.path, "file-0")
            assert told.stdout == f"{store.path}: 2 requests will be asked again\n"
        assert texts(llm(server, store).complete(requests(2))) == ["echo t0", "echo t1"]
        assert len(server.batches) == 1 and server.direct == []
    assert sum(store.tokens()) == 2 * PAID


def test_a_ceiling_counts_batches_that_are_under_way(store: ReplayStore) -> None:
    """Its replies are fetched before anything new is asked, for they cost something."""
    bound = (2 + 8 + 30) / 2  # of one request
    with batch_server() as server:
        server.faults.append(("GET /v1/batches/batch_0$", refusal("Wrong key", status=401)))
        options = {"thinking_tokens": 0, "max_cost": 2 * bound}
        with refused("endpoint-refused"):
            llm(server, store, **options).complete(requests(2))
        with refused("open-batch"):
            llm(server, store, batch=False, **options).complete(requests(1, 9))
        # 2 · 7.5 are paid: one more fits (15 + 20 ≤ 40), and the one after it does not.
        with pytest.raises(BudgetError, match=re.escape("(spent 22.5000 in all runs)")):
            llm(server, store, **options).complete(requests(2, 9))
        assert [len(server.lines(b)) for b in server.batches.values()] == [2, 1]


def test_a_run_that_ended_in_between_finds_its_batch(store: ReplayStore) -> None:
    """Of the batch, some requests are asked no more, and others are new."""
    with batch_server() as server:
        server.faults.append(("GET /v1/batches/batch_0$", refusal("Wrong key", status=401)))
        with refused("endpoint-refused", path=server.url):
            llm(server, store).complete(requests())
        with refused("open-batch"):  # directly, they would be paid twice
            llm(server, store, batch=False).complete(requests(1, 4))
        assert server.direct == []
        assert texts(llm(server, store).complete(requests(4, 3))) == [
            *("echo t3", "echo t4", "echo t5", "echo t6")
        ]
        assert [len(server.lines(b)) for b in server.batches.values()] == [5, 2]
        # What was not asked for was stored, too.
        assert texts(llm(server, store, batch=False).complete(requests(3))) == [
            *("echo t0", "echo t1", "echo t2")
        ]
        assert server.direct == []
    assert sum(store.tokens()) == 7 * PAID


def test_a_broken_download_goes_on(store: ReplayStore) -> None:
    def garble(server: BatchServer, batch: Body) -> None:
        server.finish(batch, "completed")
        lines = server.files[batch["output_file_id"]].splitlines()
        content = [lines[0], b"<html>", b'{"custom_id": "of another"}', *lines, b""]
        server.files[batch["output_file_id"]] = b"\n".join(content)

    with batch_server(fate=garble) as server:
        server.faults.append(("GET /v1/files/.*/content$", None))
        with refused("endpoint-refused", path=server.url):
            llm(server, store).complete(requests())
        assert texts(llm(server, store).complete(requests())) == [f"echo t{i}" for i in range(5)]
        assert len(server.batches) == 1
    assert sum(store.tokens()) == 5 * PAID


def test_endpoints_without_batches(store: ReplayStore) -> None:
    with batch_server() as server:
        server.faults.append(("POST /v1/files$", refusal("Not Found", status=404)))
        with refused("endpoint-refused", path=server.url) as caught:
            llm(server, store).complete(requests())
        assert "or run without --batch" in str(caught.value)
        assert texts(llm(server, store, batch=False).complete(requests(1))) == ["echo t0"]
        full = refusal("You exceeded your current quota", "insufficient_quota", status=429)
        server.faults.append(("POST /v1/batches$", full))  # so that there is no batch
        with refused("endpoint-refused") as caught:
            llm(server, store).complete(requests(1, 5))
        assert "You exceeded your current quota" in str(caught.value)
        assert texts(llm(server, store, batch=False).complete(requests(1, 5))) == ["echo t5"]
        with refused("missing-option"):
            llm(server, None).complete(requests())


def test_an_endpoint_that_was_never_reached_is_no_batch_to_find_again(store: ReplayStore) -> None:
    options = RunOptions(base_url="http://127.0.0.1:9/v1", batch=True, max_retries=0)
    with refused("endpoint-refused") as caught:
        OpenAiLlm("m", store, options).complete(requests(1))
    assert "no batch was created: no connection to http://127.0.0.1:9/v1" in str(caught.value)
    assert "; check --base-url" in str(caught.value)
