"""Redirects are refused with both hosts named: the other server is never asked."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from citeforge.engines.llm import batches
from citeforge.engines.llm.records import Failure, Request
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.llm.transport import list_models
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.engines.models.served import ServedEmbedder, ServedPerplexity
from citeforge.schemas.errors import CiteforgeError
from citeforge.schemas.recipes.base import RunOptions
from conftest import Inline
from servers.batch_server import batch_server
from servers.bytes_server import redirect, serving
from servers.provider import Sent

pytestmark = pytest.mark.usefixtures("key")
STATUSES = ("301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent")
HELLO = [Request((("user", "hello"),), {"temperature": 0.0, "max_tokens": 9})]


def chat(options: RunOptions) -> str:
    (result,) = OpenAiLlm("m", None, options).complete(HELLO)
    assert isinstance(result, Failure)
    return result.message


def embed(options: RunOptions) -> str:
    return error_of(lambda: ServedEmbedder("m", None, None, options).encode(["text"], "passage"))


def perplexity(options: RunOptions) -> str:
    return error_of(lambda: ServedPerplexity("m", None, options).compute(["text"]))


def models(options: RunOptions) -> str:
    return error_of(lambda: asyncio.run(list_models(options)))


def error_of(run: Callable[[], object]) -> str:
    with pytest.raises(CiteforgeError) as caught:
        run()
    return str(caught.value)


CLIENTS = {"chat": chat, "embeddings": embed, "completions": perplexity, "models": models}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("status", STATUSES)
def test_no_client_follows_a_redirect(client: str, status: str) -> None:
    with serving(redirect("/never")) as other:
        place = f"http://me:pass-word-1@localhost:{other.host.split(':')[1]}/v1?key=abcdef123456"
        with serving(redirect(place, status)) as server:
            options = RunOptions(base_url=f"http://{server.host}/v1", max_retries=3)
            message = CLIENTS[client](options)
            assert len(server.requests) == 1
        assert other.requests == []
    assert f"http://{server.host}/v1/" in message
    assert f"redirects to 'http://localhost:{other.host.split(':')[1]}/v1'" in message
    assert "pass-word" not in message and "abcdef" not in message


@pytest.mark.parametrize("place", ["/v1/other", "https:///", "http://[::1", "file:///etc/passwd"])
def test_a_redirect_within_a_host_or_to_no_address(place: str) -> None:
    with serving(redirect(place)) as server:
        message = chat(RunOptions(base_url=f"http://{server.host}/v1", max_retries=3))
        assert len(server.requests) == 1
    assert f"http://{server.host}/v1/chat/completions redirects to " in message


@pytest.mark.parametrize(
    "request_line", ["POST .*/files", "POST .*/batches", "GET .*/batches/", "GET .*/files/"]
)
def test_no_request_of_a_batch_follows_a_redirect(
    request_line: str, store: ReplayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_PAUSES", (0.0,))
    monkeypatch.setattr(batches, "_FIRST_POLL", 0.0)
    with serving(redirect("/never")) as other, batch_server() as server:
        moved = Sent({}, 307, {"Location": other.url})
        server.faults = [(request_line, moved), ("GET .*/batches[?]", moved)]
        options = RunOptions(base_url=server.url, batch=True, max_retries=0)
        message = error_of(lambda: OpenAiLlm("m", store, options).complete(HELLO))
        assert other.requests == []
    assert f"redirects to '{other.url}'" in message
    assert server.url in message


def test_a_judge_and_its_report(package: Path, tmp_path: Path, inline: Inline) -> None:
    inline.ok("run", "top-1", "--benchmark", package, "--out", tmp_path / "top.jsonl")
    with serving(redirect("/never")) as other, serving(redirect(other.url)) as server:
        done = inline(
            "score", tmp_path / "top.jsonl", "--benchmark", package, "--judge", "openai:m",
            "--measures", "ALCE.CitRec", "--base-url", f"http://{server.host}/v1",
            "--max-retries", "0",
        )  # fmt: skip
        assert other.requests == []
    assert done.returncode != 0
    assert server.host in done.stderr and other.host in done.stderr
