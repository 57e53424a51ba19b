"""Servers of other providers: parameters that they refuse, and replies that they word their way."""

from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.keys import KEY_VARIABLE
from citeforge.engines.llm.records import Failure, LlmReply, Request, signature_name
from citeforge.engines.llm.replay import ReplayStore, export_store, import_store
from citeforge.engines.llm.writers import OpenAiLlm, ReplayLlm
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.command_options import PromptingOptions
from citeforge.systems.prompt_files import PromptRow, make_requests
from conftest import refused
from servers.provider import (
    Behaviour,
    Body,
    Provider,
    Sent,
    chat,
    packed,
    provider,
    refusal,
)

pytestmark = pytest.mark.usefixtures("key")
ROOM = 4096
FORMAT = {"type": "json_schema", "json_schema": {"name": "v", "schema": {"type": "object"}}}


def ask(text: str = "x", messages: tuple[tuple[str, str], ...] = (), **params: Any) -> Request:
    return Request(messages or (("user", text),), {"temperature": 0.0, "max_tokens": 30} | params)


def llm(server: Provider, store: ReplayStore | None = None, **options: Any) -> OpenAiLlm:
    return OpenAiLlm("m", store, RunOptions(base_url=server.url, max_retries=2, **options))


def answer(behave: Behaviour, request: Request | None = None, **options: Any) -> LlmReply:
    with provider(behave) as server:
        (reply,) = llm(server, **options).complete([request or ask()])
    assert isinstance(reply, LlmReply), reply
    return reply


def failure(behave: Behaviour, request: Request | None = None, **options: Any) -> Failure:
    with provider(behave) as server:
        (result,) = llm(server, **options).complete([request or ask()])
    assert isinstance(result, Failure), result
    return result


# --- 1. parameters that are refused -------------------------------------------------------------


def reasoning(body: Body) -> Sent:
    """OpenAI's o-series and gpt-5."""
    if "max_tokens" in body:
        return refusal(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            *("unsupported_parameter", "max_tokens"),
        )
    if body.get("temperature", 1) != 1:
        return refusal(
            "Unsupported value: 'temperature' does not support 0.0 with this model. "
            "Only the default (1) value is supported.",
            *("unsupported_value", "temperature"),
        )
    return chat(f"echo {body['messages'][-1]['content']}")


@pytest.mark.slow
def test_what_a_model_refuses_is_left_out_once_per_model(
    store: ReplayStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requests = [ask(f"t{i}") for i in range(30)]
    with provider(reasoning) as server:
        model = llm(server, store, concurrency=1)
        replies = model.complete(requests)
        assert len(server.bodies) == 30 + 2  # one refusal per parameter
        assert [r.text for r in replies if isinstance(r, LlmReply)] == [
            f"echo t{i}" for i in range(30)
        ]
        last = {"model": "m", "messages": [{"role": "user", "content": "t29"}]}
        assert server.bodies[-1] == {**last, "max_completion_tokens": 30 + ROOM}
        said = capsys.readouterr().err
        assert "openai:m does not take max_tokens; sends max_completion_tokens instead" in said
        assert "openai:m does not take temperature; sends nothing instead" in said
        # Found again as it was asked, though another request was sent.
        assert llm(server, store).complete(requests) == replies
        assert len(server.bodies) == 32
    (row,) = [r for r in store.export() if r.payload["messages"][0]["content"] == "t29"]
    assert row.payload == {**last, "max_completion_tokens": 30 + ROOM}
    assert row.asked == {"max_completion_tokens": None, "max_tokens": 30, "temperature": 0.0}
    store.close()
    assert ReplayLlm(tmp_path / "s.db").complete(requests) == replies
    assert export_store(tmp_path / "s.db", tmp_path / "s.jsonl") == 30
    assert import_store(tmp_path / "t.db", tmp_path / "s.jsonl") == (30, 0)
    assert ReplayLlm(tmp_path / "t.db").complete(requests) == replies


def test_concurrent_refusals_are_adapted_to(store: ReplayStore) -> None:
    with provider(reasoning) as server:
        replies = llm(server, store).complete([ask(f"t{i}") for i in range(40)])
    assert all(isinstance(r, LlmReply) for r in replies)


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ('Unknown name "{}": Cannot find field.', 400),  # Gemini
        ("property '{}' is unsupported", 400),  # Groq
        ("`{}` is deprecated for this model.", 400),  # Anthropic
        ("{} is not allowed for this model", 422),  # Mistral
    ],
)
@pytest.mark.parametrize("name", ["temperature", "top_p", "stop", "logprobs"])
def test_other_wordings_and_parameters(name: str, message: str, status: int) -> None:
    def behave(body: Body) -> Sent:
        return refusal(message.format(name), status=status) if name in body else chat("fine")

    request = ask(top_p=0.5, stop=["X"], logprobs=True)
    assert answer(behave, request).text == "fine"


def test_a_prompt_that_does_not_fit_is_no_refusal_of_a_parameter() -> None:
    def behave(body: Body) -> Sent:
        return refusal(
            "This model's maximum context length is 512 tokens. However, you requested 900 tokens",
            *("context_length_exceeded", "messages"),
        )

    result = failure(behave, thinking_tokens=0)
    assert result.reason == "refused"
    assert "maximum context length is 512" in result.message


def test_room_for_thoughts_is_halved_until_the_server_takes_it() -> None:
    def behave(body: Body) -> Sent:  # vLLM
        if (n := body["max_tokens"]) > 1500:
            return refusal(f"'max_tokens' or 'max_completion_tokens' is too large: {n}.")
        return chat(str(n))

    assert answer(behave).text == str(30 + ROOM // 4)  # 30 + 1024; 30 + 2048 is too large


def server_error(message: str) -> Sent:
    """llama-cpp-python's error for all that it does not take."""
    words = {"message": message, "type": "internal_server_error", "param": None, "code": None}
    return Sent({"error": words}, 500)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("response_format", "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', "
         "'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\", 'input': "
         "'json_schema', 'ctx': {'expected': \"'text' or 'json_object'\"}}"),
        ("logprobs", "logprobs is not supported for models created with logits_all=False"),
    ],
)  # fmt: skip
def test_a_refusal_with_status_500_is_adapted_to_and_not_tried_again(
    name: str, message: str
) -> None:
    def behave(body: Body) -> Sent:
        refused = body.get(name) in (FORMAT, True)
        return server_error(message) if refused else chat(str(body.get(name)))

    with provider(behave) as server:
        request = ask(response_format=FORMAT, logprobs=True)
        (reply,) = llm(server).complete([request])
        assert len(server.bodies) == 2
    assert isinstance(reply, LlmReply), reply
    assert reply.text == {"response_format": "{'type': 'json_object'}", "logprobs": "None"}[name]


@pytest.mark.parametrize(
    "message",
    [
        "input (600 tokens) is too large to process. increase the physical batch size (current "
        "batch size: 512)",  # llama-server, of embeddings
        "Requested tokens (600) exceed batch size of 512",  # llama-cpp-python, likewise
        "Llama model must be created with embedding=True to call this method",
    ],
)
def test_what_cannot_pass_is_sent_once_whatever_the_status(message: str) -> None:
    with provider(lambda body: server_error(message)) as server:
        (result,) = llm(server, thinking_tokens=0).complete([ask()])
        assert len(server.bodies) == 1
    assert isinstance(result, Failure)
    assert result.message == f"HTTP 400: {message} (sent as HTTP 500)"


def test_an_error_of_the_server_itself_is_tried_again() -> None:
    replies = iter([server_error("The server had an unexpected error"), chat("fine")])
    assert answer(lambda body: next(replies)).text == "fine"


def test_a_system_message_that_is_refused_goes_to_the_user() -> None:
    def behave(body: Body) -> Sent:
        roles = [m["role"] for m in body["messages"]]
        if "system" in roles:
            return refusal("'messages[0].role' does not support 'system' with this model.",
                           "unsupported_value", "messages[0].role")  # fmt: skip
        return chat(body["messages"][0]["content"])

    request = ask(messages=(("system", "Judge."), ("user", "Claim.")))
    assert answer(behave, request).text == "Judge.\n\nClaim."


def test_options_leave_the_temperature_out_and_pass_the_effort(store: ReplayStore) -> None:
    options = PromptingOptions.model_validate({"llm": "openai:m", "temperature": "none"})
    (request,) = make_requests([PromptRow("q", "x")], options)
    assert "temperature" not in request.params
    with provider(lambda body: chat("fine")) as server:
        model = llm(server, store, reasoning_effort="low")
        model.complete([ask()])
        assert server.bodies[0]["reasoning_effort"] == "low"
        assert model.identity() == {"name": "openai:m", "reasoning_effort": "low"}
        assert signature_name(model) == "openai:m+effort=low"
        llm(server, store).complete([ask()])  # another request
        assert len(server.bodies) == 2


# --- 2. limits ----------------------------------------------------------------------------------


def short(body: Body) -> Sent:
    """A model that thinks for 500 tokens."""
    if body["max_tokens"] < 500:
        return chat(None, "length", reasoning_content="hm " * 5)
    return chat("fine")


def test_the_room_for_thoughts_is_generous_and_an_option() -> None:
    assert answer(short).text == "fine"
    result = failure(short, thinking_tokens=100)
    assert result.reason == "no_room"
    assert "--thinking-tokens" in result.message


@pytest.mark.parametrize(("gets_room", "text"), [(True, "fine"), (False, "")])
def test_an_answer_that_may_be_cut_gets_room_as_well(gets_room: bool, text: str) -> None:
    """Questions on documents may be cut; a system under test thinks within its limit."""
    request = Request((("user", "x"),), {"max_tokens": 48}, needs_text=False, gets_room=gets_room)
    with provider(short) as server:
        (reply,) = llm(server).complete([request])
    assert isinstance(reply, LlmReply)
    assert reply.text == text


@pytest.mark.parametrize("option", ["--thinking-tokens", "--max-answer"])
def test_ten_replies_without_an_answer_stop_the_run(option: str) -> None:
    thinks_apart = option == "--thinking-tokens"
    requests = [
        Request(
            (("user", f"{i}"),), {"max_tokens": 30}, needs_text=thinks_apart, gets_room=thinks_apart
        )
        for i in range(50)
    ]
    with provider(short) as server:
        with refused("no-room") as caught:
            llm(server, concurrency=1, thinking_tokens=0).complete(requests)
        assert f"raise {option}" in str(caught.value)
        assert len(server.bodies) == 10


def test_some_replies_without_an_answer_do_not(store: ReplayStore) -> None:
    def behave(body: Body) -> Sent:
        return chat("fine") if body["messages"][0]["content"] == "0" else chat("", "length")

    requests = [ask(f"{i}") for i in range(20)]
    with provider(behave) as server:
        results = llm(server, store, concurrency=1).complete(requests)
    assert [isinstance(r, LlmReply) for r in results] == [True] + 19 * [False]


def test_the_budget_counts_room_for_thoughts(store: ReplayStore) -> None:
    with provider(lambda body: chat("fine")) as server:
        options = {"price": (0, 1e6), "max_cost": 30 + ROOM - 1}  # one unit a token
        with refused("budget"):
            llm(server, store, **options).complete([ask()])
        assert server.bodies == []
        llm(server, store, **options | {"max_cost": 30 + ROOM}).complete([ask()])
        assert len(server.bodies) == 1


# --- 3. thoughts --------------------------------------------------------------------------------

ANSWER = "The Verrazzano-Narrows Bridge took it in 1964 [5]."
PARTS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "It was 1931 [3]."}]},
    {"type": "text", "text": ANSWER[:20]},
    {"type": "reference", "reference_ids": [5]},
    {"type": "text", "text": ANSWER[20:]},
]


@pytest.mark.parametrize(
    "reply",
    [
        chat(f"<think>It was 1931 [3].</think>\n\n{ANSWER}"),
        chat(f"It was 1931 [3].</think>\n{ANSWER}"),
        chat(ANSWER, reasoning_content="It was 1931 [3]."),
        chat(ANSWER, reasoning="It was 1931 [3].", reasoning_content="It was 1931 [3]."),
        chat(PARTS),  # Mistral
        chat(
            [{"type": "reasoning", "summary": [{"text": "It was 1931 [3]."}]}, PARTS[1], PARTS[3]]
        ),
    ],
    ids=["tags", "unopened", "deepseek", "openrouter", "mistral", "summary"],
)
def test_thoughts_are_kept_apart(reply: Sent, store: ReplayStore) -> None:
    with provider(lambda body: reply) as server:
        for _ in range(2):  # from the server, then from the store
            (result,) = llm(server, store).complete([ask()])
            assert isinstance(result, LlmReply)
            assert (result.text, result.thoughts) == (ANSWER, ("It was 1931 [3].",))
        assert len(server.bodies) == 1


def test_a_thought_that_is_cut_is_an_empty_answer() -> None:
    request = Request((("user", "x"),), needs_text=False, gets_room=False)
    reply = answer(lambda body: chat("<think>It was 1931 [3]. No,", "length"), request)
    assert (reply.text, reply.finish_reason) == ("", "length")
    assert reply.thoughts == ("It was 1931 [3]. No,",)
    # A reply that holds nothing but a thought in its own field says nothing.
    assert answer(lambda body: chat("", reasoning_content="1964 [5]."), request).text == ""


def test_log_probabilities_are_those_of_the_answer() -> None:
    tokens = ["<think>", "3", "</think>", "It", " is", " [3]", "."]
    reply = chat("".join(tokens))
    logprobs = {"content": [{"token": t, "logprob": -0.5} for t in tokens]}
    reply.content["choices"][0]["logprobs"] = logprobs
    result = answer(lambda body: reply, ask(logprobs=True))
    assert result.logprobs is not None
    assert [t.token for t in result.logprobs] == ["It", " is", " [3]", "."]


@pytest.mark.parametrize(
    ("reason", "said"),
    [("max_tokens", "length"), ("MAX_TOKENS", "length"), ("eos", None), ("end_turn", None)],
)
def test_other_names_of_ends(reason: str, said: str | None) -> None:
    request = Request((("user", "x"),), needs_text=False, gets_room=False)
    assert answer(lambda body: chat("Fine", reason), request).finish_reason == said


# --- 4. structured output -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("taken", "refusing"),
    [
        ("json_object", refusal("This response_format type is unavailable now")),  # DeepSeek
        (None, Sent({"detail": [{"type": "extra_forbidden", "loc": ["body", "response_format"],
                                 "msg": "Extra inputs are not permitted"}]}, 422)),
        (None, Sent({"error": "'response_format.type' must be 'json_schema' or 'text'"}, 400)),
    ],
    ids=["deepseek", "fastapi", "lm-studio-like"],
)  # fmt: skip
def test_structured_output_in_three_steps(taken: str | None, refusing: Sent) -> None:
    def behave(body: Body) -> Sent:
        kind = body.get("response_format", {}).get("type")
        return chat(str(kind)) if kind == taken else refusing

    with provider(behave) as server:
        requests = [ask(f"{i}", response_format=FORMAT) for i in range(5)]
        replies = llm(server, concurrency=1).complete(requests)
    assert [r.text for r in replies if isinstance(r, LlmReply)] == [str(taken)] * 5
    n_steps = 1 if taken else 2
    assert len(server.bodies) == 5 + n_steps  # asked for the next form once


# --- 5. errors ----------------------------------------------------------------------------------

QUOTA = "You exceeded your current quota, please check your plan and billing details."


@pytest.mark.parametrize(
    "reply",
    [
        refusal(QUOTA, "insufficient_quota", status=429),
        refusal("Insufficient Balance", "invalid_request_error", status=402),  # DeepSeek
        refusal("Your credit balance is too low to access the API."),  # Anthropic
        Sent({"error": {"message": "Insufficient credits", "code": 402}}, 200),  # OpenRouter
    ],
    ids=["quota", "402", "credit", "in a 200"],
)
def test_without_credit_the_run_ends_at_once(reply: Sent) -> None:
    with provider(lambda body: reply) as server:
        with refused("billing") as caught:
            llm(server, concurrency=1).complete([ask(f"{i}") for i in range(30)])
        assert len(server.bodies) == 1
    assert reply.content["error"]["message"] in str(caught.value)


def test_credit_that_ends_in_the_middle_keeps_what_was_paid(store: ReplayStore) -> None:
    replies = iter([chat("a"), chat("b"), refusal(QUOTA, "insufficient_quota", status=429)])
    with provider(lambda body: next(replies)) as server, refused("billing"):
        llm(server, store, concurrency=1).complete([ask(f"{i}") for i in range(9)])
    assert store.stats().answers == 2


def test_a_limit_per_minute_in_the_words_of_an_empty_account_is_waited_for() -> None:
    """Gemini: a list, and the delay in the body."""
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.05s"}]
    error = {"code": 429, "message": QUOTA, "status": "RESOURCE_EXHAUSTED", "details": details}
    replies = iter([Sent([{"error": error}], 429), chat("fine")])
    assert answer(lambda body: next(replies)).text == "fine"


def test_a_limit_that_lasts_an_hour_ends_the_run() -> None:
    """The calls after the first do not wait for it either."""
    later = refusal("Daily limit reached", status=429, Retry_After="3600")
    with provider(lambda body: later) as server:
        with refused("endpoint-failed") as caught:
            llm(server, concurrency=1).complete([ask(f"{i}") for i in range(30)])
        assert len(server.bodies) == 10
    assert "Daily limit reached" in str(caught.value)


@pytest.mark.parametrize("code", [429, 502])
def test_an_error_in_a_200_is_tried_again(code: int) -> None:
    error = {"message": "Provider returned error", "code": code}
    broken = Sent({"id": None, "model": None, "choices": None, "usage": None, "error": error})
    replies = iter([broken, chat("fine")])
    assert answer(lambda body: next(replies)).text == "fine"
    result = failure(lambda body: broken)
    assert (result.reason, result.status) == ("exhausted", code)
    assert "Provider returned error" in result.message


@pytest.mark.parametrize(
    "content",
    [b"<html>login</html>", b"[]", b""],
    ids=["page", "list", "nothing"],
)
def test_a_200_that_is_no_json_object_is_tried_again_and_shown(content: bytes) -> None:
    with provider(lambda body: Sent(content)) as server:
        (result,) = llm(server).complete([ask()])
        assert len(server.bodies) == 3
    assert isinstance(result, Failure)
    assert result.reason == "exhausted"


def test_nulls_and_floats_spoil_no_answer(store: ReplayStore) -> None:
    def changed(**fields: Any) -> Sent:
        reply = chat("fine")
        return Sent({**reply.content, **fields})

    usages = [None, {"prompt_tokens": None, "completion_tokens": None}, {},
              {"prompt_tokens": 10.0, "completion_tokens": 5}]  # fmt: skip
    for usage in usages:
        assert answer(lambda body, u=usage: changed(usage=u)).text == "fine"  # type: ignore[misc]
    assert answer(lambda body: changed(model=None)).text == "fine"
    assert answer(lambda body: changed(usage=usages[-1])).prompt_tokens == 10


def test_compressed_replies_are_read() -> None:
    assert answer(lambda body: packed(chat("fine"))).text == "fine"
    brotli = Sent(b"?", 200, {"Content-Encoding": "br"})
    assert "compressed by br" in failure(lambda body: brotli).message


@pytest.mark.parametrize(
    ("status", "message"), [(401, "bad key"), (403, "Country, region, or territory not supported")]
)
def test_a_refused_key_or_country_ends_the_run_at_once(status: int, message: str) -> None:
    with provider(lambda body: refusal(message, status=status)) as server:
        with refused("endpoint-refused") as caught:
            llm(server, concurrency=1).complete([ask(f"{i}") for i in range(30)])
        assert len(server.bodies) == 1
    assert message in str(caught.value)
    assert KEY_VARIABLE in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "reason", "message"),
    [
        (Sent({"detail": "Not Found"}, 404), "refused", "HTTP 404: Not Found"),
        (refusal("The response was filtered", "content_filter", "prompt"), "content_filter",
         "HTTP 400: The response was filtered"),  # Azure
        (Sent({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}, 529),
         "exhausted", "HTTP 529: Busy"),  # Anthropic
        (chat(None, "tool_calls", tool_calls=[{"id": "x"}]), "empty", "the reply is empty"),
        (chat(None, refusal="I can't help."), "empty", "the reply refused: I can't help."),
    ],
    ids=["path", "filter", "busy", "tool", "refusal"],
)  # fmt: skip
def test_failures_say_why(reply: Sent, reason: str, message: str) -> None:
    result = failure(lambda body: reply)
    assert (result.reason, result.message) == (reason, message)
