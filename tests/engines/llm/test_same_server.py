"""Replies and verdicts of another server under the same model's name."""

import json
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.judge.records import Pair, Verdict
from citeforge.engines.judge.session import JudgeSession, VerdictStore
from citeforge.engines.llm.addresses import server_address
from citeforge.engines.llm.records import LlmReply, Request, Result
from citeforge.engines.llm.replay import ReplayStore, export_store, import_store
from citeforge.engines.llm.writers import OpenAiLlm, ReplayLlm
from citeforge.engines.running.names import make_judge
from citeforge.schemas.recipes.base import RunOptions
from conftest import Inline, refused
from servers.provider import Provider, chat, provider

pytestmark = pytest.mark.usefixtures("key")
REQUEST = Request((("user", "x"),))
PAIR = Pair("It opened in 1964.", "It opened in 1964.")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://Host:80/v1/", "http://host/v1"),
        ("https://host:443/v1", "https://host/v1"),
        ("http://host:443/v1", "http://host:443/v1"),
        ("https://name:word@Host:8000/A/v1?key=secret#x", "https://host:8000/A/v1"),
        (None, "https://api.openai.com/v1"),
    ],
)
def test_addresses_are_stored_without_secrets(
    url: str | None, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert server_address(RunOptions(base_url=url)) == address


def ask(server: Provider, store: Path, **more: Any) -> list[Result]:
    with ReplayStore(store) as opened:
        return OpenAiLlm("m", opened, RunOptions(base_url=server.url, **more)).complete([REQUEST])


def test_replies_of_another_server_are_refused_until_it_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with provider(lambda body: chat("one")) as one, provider(lambda body: chat("two")) as two:
        (reply,) = ask(one, path)
        assert isinstance(reply, LlmReply)
        with refused("other-server", path=path) as caught:
            ask(two, path)
        assert one.url in str(caught.value)
        assert two.url in str(caught.value)
        assert "--same-server" in str(caught.value)
        with ReplayStore(path, readonly=True) as store:
            planned = OpenAiLlm("m", store, RunOptions(base_url=two.url))
            with refused("other-server"):
                planned.plan([REQUEST])
            assert store.stats().servers == {one.url: 1}
        # Other requests may go to another server.
        with ReplayStore(path) as store:
            other = OpenAiLlm("m", store, RunOptions(base_url=two.url))
            (second,) = other.complete([Request((("user", "y"),))])
            assert isinstance(second, LlmReply)
            assert second.text == "two"
        assert ask(two, path, same_server=True) == [reply]
        assert ask(two, path) == [reply]  # it is recorded
        assert (len(one.bodies), len(two.bodies)) == (1, 1)
        with provider(lambda body: chat("three")) as three, refused("other-server"):
            ask(three, path)
        assert ReplayLlm(path).complete([REQUEST]) == [reply]
        # The addresses go with the replies.
        assert export_store(path, tmp_path / "e.jsonl") == 2
        assert import_store(tmp_path / "t.db", tmp_path / "e.jsonl") == (2, 0)
        with refused("other-server"):
            ask(two, tmp_path / "t.db")


def test_replies_of_an_unknown_server_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with provider(lambda body: chat("one")) as one, provider(lambda body: chat("two")) as two:
        ask(one, path)
        export_store(path, tmp_path / "e.jsonl")
        row = json.loads((tmp_path / "e.jsonl").read_text())
        assert row.pop("server") == one.url
        (tmp_path / "e.jsonl").write_text(json.dumps(row) + "\n")
        import_store(tmp_path / "t.db", tmp_path / "e.jsonl")
        (reply,) = ask(two, tmp_path / "t.db")
        assert isinstance(reply, LlmReply)
        assert reply.text == "one"
        assert not two.bodies


def test_verdicts_of_another_server_are_refused_until_it_is_the_same(tmp_path: Path) -> None:
    def judge(server: Provider, **more: Any) -> JudgeSession:
        made = make_judge("openai:m", run=RunOptions(base_url=server.url, **more))
        return JudgeSession(made, store)

    def verdict(value: str) -> Any:
        return lambda body: chat(f'{{"entailed": {value}}}')

    with (
        provider(verdict("true")) as yes,
        provider(verdict("false")) as no,
        VerdictStore(tmp_path / "v.db") as store,
    ):
        assert judge(yes).ask([PAIR]) == {PAIR: Verdict(True)}
        for call in (judge(no).ask, judge(no).plan):
            with refused("other-server", path=tmp_path / "v.db"):
                call([PAIR])
        assert judge(no, same_server=True).ask([PAIR]) == {PAIR: Verdict(True)}
        assert judge(no).ask([PAIR]) == {PAIR: Verdict(True)}
        assert not no.bodies
        # A judge without a server has no address.
        lexical = JudgeSession(make_judge("lexical"), store)
        lexical.ask([PAIR])
        assert store.stats().servers == {yes.url: 1}


def test_commands_stop_and_take_the_option(inline: Inline, tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('{"query_id": "q1", "prompt": "x"}\n')
    with provider(lambda body: chat("one")) as one, provider(lambda body: chat("two")) as two:
        args = ("llm", "run", "p.jsonl", "--llm", "openai:m", "--store", "s.db")
        assert inline(*args, "--base-url", one.url, "--out", "a.jsonl").returncode == 0
        for more in ((), ("--dry-run",)):
            done = inline(*args, "--base-url", two.url, "--out", "b.jsonl", *more)
            assert (done.returncode, done.code) == (1, "other-server")
        taken = inline(*args, "--base-url", two.url, "--out", "b.jsonl", "--same-server")
        assert taken.returncode == 0
        assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "b.jsonl").read_text()
        stats = inline("llm", "stats", "s.db").stdout
        assert f"from {one.url} 1\n" in stats
