"""Endpoints that stop working, count nothing, or say something else."""

from itertools import chain, repeat
from typing import Any

import pytest

from citeforge.engines.llm.records import LlmReply, Request
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.engines.running import doctor
from citeforge.schemas.recipes.base import RunOptions
from conftest import refused
from servers.provider import Behaviour, Provider, Sent, chat, provider, refusal

pytestmark = pytest.mark.usefixtures("key")


def ask(text: str) -> Request:
    return Request((("user", text),), {"max_tokens": 30})


def llm(server: Provider, store: ReplayStore | None = None, **options: Any) -> OpenAiLlm:
    settings = {"concurrency": 1, "max_retries": 0, "thinking_tokens": 0} | options
    return OpenAiLlm("m", store, RunOptions(base_url=server.url, **settings))


@pytest.mark.slow
def test_a_server_that_dies_ends_the_run_and_one_that_refuses_does_not() -> None:
    def answers(n: int, then: Sent) -> Behaviour:
        replies = chain(repeat(chat("fine"), n), repeat(then))
        return lambda body: next(replies)

    requests = [ask(f"{i}") for i in range(20)]
    with provider(answers(5, refusal("Overloaded", status=503))) as server:
        with refused("endpoint-failed") as caught:
            llm(server).complete(requests)
        assert len(server.bodies) == 5 + 10
    assert "the last 10 calls failed: HTTP 503: Overloaded" in str(caught.value)
    with provider(answers(5, refusal("Too long a prompt"))) as server:
        results = llm(server).complete(requests)
    assert [isinstance(r, LlmReply) for r in results] == [True] * 5 + [False] * 15


def test_a_dead_server_is_noticed_over_runs() -> None:
    """A judge that is asked about one pair at a time makes a run for each."""
    with provider(lambda body: refusal("Overloaded", status=503)) as server:
        model = llm(server)
        for i in range(9):
            model.complete([ask(f"{i}")])
        with refused("endpoint-failed"):
            model.complete([ask("9")])


def test_the_budget_holds_where_a_server_counts_no_tokens(store: ReplayStore) -> None:
    with provider(lambda body: Sent({**chat("fine").content, "usage": None})) as server:
        options = {"price": (1e6, 1e6), "max_cost": 600}
        # At most 400 + 8 and 30 tokens each; counted as 400 / 4 + 8 and 4 / 4 + 1, 110 in all:
        # two fit (110 + 438 ≤ 600), and a third does not (220 + 438 > 600).
        with refused("budget"):
            requests = [ask(f"{i}" * 400) for i in range(9)]
            llm(server, store, **options).complete(requests)
        assert len(server.bodies) == 2
    assert store.tokens() == (2 * 108, 2 * 2)


@pytest.mark.parametrize(
    "content", [b"<html>", [{"id": "m"}], {"data": [{"name": "m"}]}, {"data": None}]
)
def test_doctor_reads_odd_lists_of_models(content: Any) -> None:
    with provider(lambda body: Sent(content)) as server:
        *_, found = doctor._check_endpoint(server.url, ask_network=True)
    assert found.good is None
    assert found.text.startswith("does not answer (")
