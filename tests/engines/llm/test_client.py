"""The client against a scripted server: answers, failures, budget, secrets."""

from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.llm.budget import Bound
from citeforge.engines.llm.records import Failure, LlmReply, Request
from citeforge.engines.llm.replay import ReplayStore, SentRequest
from citeforge.engines.llm.writers import OpenAiLlm, ReplayLlm, TemplateWriter, require_askable
from citeforge.engines.running.names import make_llm
from citeforge.schemas.recipes.base import RunOptions
from conftest import refused
from servers.running import Running, openai_server

pytestmark = pytest.mark.usefixtures("key")
KEY = "sk-test-0123456789abcdef"


def ask(text: str, sample: int = 0, **params: Any) -> Request:
    return Request((("user", text),), params, sample)


def llm(server: Running, store: ReplayStore | None = None, **options: Any) -> OpenAiLlm:
    return OpenAiLlm("m", store, RunOptions(base_url=server.url, **options))


def test_answers_in_order_and_nothing_asked_twice(server: Running, store: ReplayStore) -> None:
    requests = [ask(f"text {i % 7}", max_tokens=9) for i in range(20)]
    first = llm(server, store).complete(requests)
    assert [r.text for r in first if isinstance(r, LlmReply)] == [
        f"echo: text {i % 7}" for i in range(20)
    ]
    assert len(server.requests()) == 7
    assert llm(server, store).complete(requests) == first
    assert len(server.requests()) == 7
    # Another parameter, model or sample is another request.
    llm(server, store).complete([ask("text 0", max_tokens=10), ask("text 0", 1, max_tokens=9)])
    assert len(server.requests()) == 9
    assert store.tokens() == (2 * 9, 3 * 9)


def test_logprobs(server: Running, store: ReplayStore) -> None:
    for _ in range(2):  # from the server, then from the store
        (answer,) = llm(server, store).complete([ask("a b", logprobs=True)])
        assert isinstance(answer, LlmReply)
        assert answer.logprobs is not None
        assert [(t.token, t.logprob) for t in answer.logprobs] == [
            ("echo:", -0.5),
            ("a", -0.5),
            ("b", -0.5),
        ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("#length", "truncated"),
        ("#empty", "empty"),
        ("#nochoice", "empty"),
        ("#filter", "content_filter"),
        ("#refuse", "unparsable"),
    ],
)
def test_a_200_without_a_whole_answer_is_a_failure(
    server: Running, store: ReplayStore, text: str, kind: str
) -> None:
    good, bad = llm(server, store).complete([ask("fine"), ask(text)])
    assert isinstance(good, LlmReply)
    assert isinstance(bad, Failure)
    if kind == "unparsable":
        # Retried like a broken connection, then given up.
        assert bad.reason == "exhausted"
        assert bad.message == "HTTP 502: bad (sent as HTTP 200)"
    else:
        assert bad.reason == kind
    assert store.stats().failures == 1
    # Failures are never replayed as answers: the request is sent again.
    before = len(server.requests())
    llm(server, store).complete([ask("fine"), ask(text)])
    assert len(server.requests()) > before


def test_where_no_text_is_needed_empty_and_cut_replies_are_answers(
    server: Running, store: ReplayStore, tmp_path: Path
) -> None:
    """A system under test says what it says; it is asked once, and a replay says the same."""
    texts = ["fine", "cut #length", "#empty", "#filter", "#nochoice", "#refusal"]
    requests = [Request((("user", t),), needs_text=False) for t in texts]
    results = llm(server, store).complete(requests)
    fine, cut, empty, withheld, nothing, refused = results
    assert isinstance(fine, LlmReply)
    assert fine.finish_reason is None
    assert isinstance(cut, LlmReply)
    assert (cut.text, cut.finish_reason) == ("echo: cut #length", "length")
    assert isinstance(empty, LlmReply)
    assert (empty.text, empty.finish_reason) == ("", None)
    assert isinstance(refused, LlmReply)
    assert (refused.text, refused.finish_reason) == ("I will not say.", "refused")
    assert [r.reason for r in (withheld, nothing) if isinstance(r, Failure)] == [
        "content_filter",
        "empty",
    ]
    before = len(server.requests())
    assert llm(server, store).complete(requests[:3]) == [fine, cut, empty]
    assert len(server.requests()) == before
    # Whoever needs a text gets the failure that such a reply is for him.
    needy = [Request(r.messages) for r in (*requests[1:3], requests[5])]
    result = llm(server, store).complete(needy)
    reasons = [r.reason for r in result if isinstance(r, Failure)]
    assert reasons == ["truncated", "empty", "empty"]
    store.close()
    rows = [r for r in requests if r.messages[0][1] not in ("#filter", "#nochoice")]
    assert ReplayLlm(tmp_path / "s.db").complete(rows) == [fine, cut, empty, refused]
    assert [type(r) for r in ReplayLlm(tmp_path / "s.db").complete(needy)] == [Failure] * 3


def test_paid_tokens_of_failures_count(server: Running, store: ReplayStore) -> None:
    llm(server, store).complete([ask("three words #length")])
    assert store.tokens() == (3, 4)


def test_plan_sends_nothing_and_counts(server: Running, store: ReplayStore) -> None:
    requests = [ask("x" * 400, max_tokens=50), ask("y" * 400, max_tokens=50)]
    llm(server, store).complete(requests[:1])
    sent = len(server.requests())
    plan = llm(server, store, price=(1.0, 2.0)).plan([*requests, *requests])
    assert (plan.requests, plan.stored) == (2, 1)
    assert plan.about == Bound(1, 400 // 4 + 8, 50)
    assert plan.most == Bound(1, 400 + 8, 50, 4096)  # a token per byte, and room for thoughts
    assert plan.about.cost((1.0, 2.0)) == (108 * 1.0 + 50 * 2.0) / 1e6
    assert plan.most.cost((1.0, 2.0)) == (408 * 1.0 + (50 + 4096) * 2.0) / 1e6
    assert plan.most.without_thoughts() == Bound(1, 408, 50)
    assert plan.to_text_lines()[-1].endswith("at most 0.0005, with thoughts 0.0087")
    tried = llm(server, store).plan(requests, requests[:1], tries=3)
    # The open one three times, the stored one twice more, and what may follow three times.
    assert (tried.about.calls, tried.most.calls) == (1, 3 + 2 + 3)
    assert len(server.requests()) == sent


def test_max_cost_is_never_passed_and_totals_survive(server: Running, tmp_path: Path) -> None:
    requests = [ask(f"word {i}", max_tokens=20) for i in range(50)]
    price = (1e6, 1e6)  # one unit a token
    limit = 200.0
    spent = 0
    for _ in range(3):  # each run goes on with the totals of those before
        with ReplayStore(tmp_path / "s.db") as store:
            with refused("budget"):
                options = {"price": price, "max_cost": limit, "thinking_tokens": 0}
                llm(server, store, concurrency=8, **options).complete(requests)
            total = sum(store.tokens())
            assert spent <= total <= limit
            spent = total
    assert spent > limit / 2  # 5 tokens a call, upper bound 34: it came close
    with ReplayStore(tmp_path / "s.db") as store:
        results = llm(server, store, price=price, max_cost=1e9).complete(requests)
    assert all(isinstance(r, LlmReply) for r in results)
    assert len(server.requests()) == 50


def test_max_cost_needs_price_and_limits(server: Running, store: ReplayStore) -> None:
    cases = [({}, "--price IN,OUT"), ({"price": (1, 1)}, "--store FILE")]
    for options, missing in cases:
        with refused("missing-option") as caught:
            llm(server, max_cost=1.0, **options).complete([ask("x")])
        assert f"--max-cost requires {missing}" in str(caught.value)
    with refused("missing-option"):
        llm(server, store, max_cost=1.0, price=(1, 1)).complete([ask("x")])
    assert server.requests() == []


def test_a_wrong_key_stops_at_once_and_is_never_shown(tmp_path: Path) -> None:
    requests = [ask(f"{i}") for i in range(100)]
    with openai_server(tmp_path / "log", key="another") as server:
        with ReplayStore(tmp_path / "s.db") as store, refused("endpoint-refused") as caught:
            llm(server, store, concurrency=4).complete(requests)
        assert "Incorrect API key provided: [key]" in str(caught.value)
        assert KEY not in str(caught.value)
        assert len(server.requests()) <= 8
    for path in tmp_path.iterdir():
        assert KEY.encode() not in path.read_bytes()


@pytest.mark.parametrize("retries", [0, 6])
def test_an_endpoint_that_is_down_ends_the_run_at_its_first_call(retries: int) -> None:
    options = RunOptions(base_url="http://127.0.0.1:9/v1", max_retries=retries)
    with refused("endpoint-failed", path=options.base_url) as caught:
        OpenAiLlm("m", None, options).complete([ask(f"{i}") for i in range(100)])
    assert f"the first call failed: no connection to {options.base_url}: " in str(caught.value)
    assert "; check --base-url (or OPENAI_BASE_URL), and that the server runs" in str(caught.value)


def test_an_unknown_model(tmp_path: Path) -> None:
    with openai_server(tmp_path / "log", models=["other"]) as server:
        with refused("endpoint-failed") as caught:
            llm(server, concurrency=4).complete([ask(f"{i}") for i in range(100)])
        assert "HTTP 404" in str(caught.value)
        assert "`m` does not exist" in str(caught.value)
        assert len(server.requests()) < 20


def test_no_key_for_the_real_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with refused("missing-key"):
        OpenAiLlm("m").complete([ask("x")])


def test_without_a_key_only_a_model_with_stored_replies_may_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ReplayStore(tmp_path / "s.db")
    model = OpenAiLlm("m", store)
    require_askable(model)
    monkeypatch.delenv("OPENAI_API_KEY")
    with refused("missing-key"):
        require_askable(None, model)
    with openai_server(tmp_path / "log") as server:
        llm(server, store=store).complete([ask("x")])
    require_askable(None, model)
    with refused("missing-key"):
        require_askable(OpenAiLlm("other", store))


@pytest.mark.slow
def test_calls_that_are_throttled_get_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that lets 40 requests through per second: all get there, with few refusals."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.25)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 1.0)
    with openai_server(tmp_path / "log", limit=40) as server:
        results = llm(server, concurrency=32).complete([ask(f"{i}") for i in range(60)])
        assert all(isinstance(r, LlmReply) for r in results)
        # 32 calls that did not wait would be refused many times for each answer; how often these
        # are depends on how slow the machine is.
        assert len(server.requests()) < 10 * 60


def test_replay_asks_nobody_and_names_what_is_missing(
    server: Running, store: ReplayStore, tmp_path: Path
) -> None:
    requests = [ask(f"text {i}") for i in range(5)]
    first = llm(server, store).complete(requests)
    replay = make_llm(f"replay:{tmp_path / 's.db'}")
    assert replay.complete(requests) == first
    assert replay.identity() == {"name": "openai:m"}
    with refused("not-stored", path=tmp_path / "s.db") as caught:
        replay.complete([*requests, ask("new")])
    assert "has no reply of m to 1 request (first: 'new'…)" in str(caught.value)


def test_replay_of_several_models_wants_one_named(tmp_path: Path) -> None:
    with ReplayStore(tmp_path / "s.db") as store:
        for model in ("a", "b"):
            request = ask("x")
            sent = SentRequest(request.key(model), request.payload(model), 0)
            store.keep(sent, LlmReply(f"by {model}"))
    with refused("missing-option", path=tmp_path / "s.db") as caught:
        ReplayLlm(tmp_path / "s.db")
    assert "2 models (a, b)" in str(caught.value)
    (answer,) = make_llm(f"replay:{tmp_path / 's.db'}#b").complete([ask("x")])
    assert isinstance(answer, LlmReply)
    assert answer.text == "by b"


def test_the_template_writer() -> None:
    writer = TemplateWriter({"greet": "Hello {{ name }}."})
    request = Request((("user", "x"),), task="greet", values={"name": "Io"})
    (answer,) = writer.complete([request])
    assert isinstance(answer, LlmReply)
    assert answer.text == "Hello Io."
    assert writer.identity()["name"] == "template"
    assert writer.identity() != TemplateWriter({"greet": "Hi {{ name }}."}).identity()
    with refused("unknown-name", value="other", known=["greet"]):
        writer.complete([Request((), task="other")])
    with refused("bad-template", path="greet"):
        writer.complete([Request((), task="greet")])


def test_wrong_names() -> None:
    for name in ("openai:", "gpt", "replay:"):
        with refused("unknown-name"):
            make_llm(name)
    with refused("unknown-name"):
        make_llm("template")


def test_request_keys_depend_on_the_whole_payload() -> None:
    base = ask("x", temperature=0.5)
    others = [
        ask("y", temperature=0.5),
        ask("x", temperature=0.6),
        ask("x", 1, temperature=0.5),
        Request((("system", "x"),), {"temperature": 0.5}),
    ]
    assert len({r.key("m") for r in [base, *others]}) == 5
    assert base.key("m") != base.key("n")
    # What a template needs is not sent and does not change the key.
    assert Request(base.messages, base.params, 0, "t", {"a": 1}).key("m") == base.key("m")
