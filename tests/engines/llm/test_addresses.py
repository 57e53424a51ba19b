"""Addresses of endpoints: queries, resources, and proxies of the environment."""

from pathlib import Path

import pytest

from citeforge.engines.llm.addresses import Access, require_access
from citeforge.engines.llm.records import LlmReply, Request
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.schemas.recipes.base import RunOptions
from conftest import Inline, refused
from servers.provider import chat, provider

pytestmark = pytest.mark.usefixtures("key")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def access(url: str) -> Access:
    return require_access(RunOptions(base_url=url))


def test_the_query_of_an_address_goes_with_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    azure = access("https://x.example/openai/deployments/d/?api-version=2026-01-01&a=")
    assert azure.url == "https://x.example/openai/deployments/d/"
    assert azure.query == {"api-version": "2026-01-01", "a": ""}
    assert azure.headers == {"api-key": key}
    plain = access("https://x.example/v1#part")
    assert (plain.url, plain.query, plain.headers) == ("https://x.example/v1", {}, {})
    with provider(lambda body: chat("fine")) as server:
        (reply,) = OpenAiLlm(
            "m", None, RunOptions(base_url=f"{server.url}?api-version=1")
        ).complete([Request((("user", "x"),))])
        assert server.paths == ["/v1/chat/completions?api-version=1"]
    assert isinstance(reply, LlmReply)


@pytest.mark.parametrize(
    "ending", ["/chat/completions", "/chat/completions/", "/completions", "/embeddings",
               "/responses?api-version=1"],
)  # fmt: skip
def test_the_address_of_one_resource_is_refused_with_the_part_before_it(ending: str) -> None:
    with refused("bad-option", allowed="the part before it: https://x.example/v1"):
        access(f"https://user:word@x.example/v1{ending}")


def test_commands_name_the_variable(
    tmp_path: Path, inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = tmp_path / "p.jsonl"
    prompts.write_text('{"query_id": "q1", "prompt": "x"}\n')
    monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:1080")
    with provider(lambda body: chat("fine")) as server:
        args = ("llm", "run", prompts, "--llm", "openai:m", "--base-url", server.url)
        done = inline(*args, "--out", tmp_path / "a.jsonl")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "ALL_PROXY" in done.stderr
        assert "NO_PROXY=127.0.0.1" in done.stderr
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert inline(*args, "--out", tmp_path / "a.jsonl").returncode == 0
