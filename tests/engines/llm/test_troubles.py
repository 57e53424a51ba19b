"""Servers in trouble: streams, halves of characters, and nothing but faults."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines import http
from citeforge.engines.keys import KEY_VARIABLE
from citeforge.engines.llm.records import Failure, LlmReply, Request
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.llm.replies import mend_text
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.schemas.recipes.base import RunOptions
from conftest import refused
from servers.provider import Provider, Sent, chat, provider, refusal

pytestmark = pytest.mark.usefixtures("key")


def ask(text: str = "x") -> Request:
    return Request((("user", text),), {"temperature": 0.0, "max_tokens": 30})


def llm(server: Provider, store: ReplayStore | None = None) -> OpenAiLlm:
    return OpenAiLlm("m", store, RunOptions(base_url=server.url, max_retries=2))


STREAM = b'data: {"choices": [{"delta": {"content": "hi"}}]}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize(
    "sent",
    [Sent(STREAM), Sent(b": ping\n\n" + STREAM, headers={"Content-Type": "text/event-stream"}),
     Sent(b"event: message\n" + STREAM), Sent(b"", headers={"Content-Type": "text/event-stream"})],
    ids=["only the body", "with its type", "events", "nothing"],
)  # fmt: skip
def test_a_stream_that_was_not_asked_for_is_named_and_not_asked_for_again(sent: Sent) -> None:
    with provider(lambda body: sent) as server:
        (result,) = llm(server).complete([ask()])
        assert len(server.bodies) == 1
    assert isinstance(result, Failure)
    assert "comes as a stream of events, which was not asked for" in result.message


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (rb"1964 [5]. \ud83d", "1964 [5]. \ufffd"),  # half an emoji at the end
        (rb"\uDE00 1964", "\ufffd 1964"),  # the other half
        (rb"\ud83d\ud83d\ude00", "\ufffd😀"),
        (rb"\ud83d\ude00", "😀"),
        (rb"\\ud83d", "\\ud83d"),  # a backslash and letters, and no escape
        (rb"\\\ud83d.", "\\\ufffd."),
        (b"1964 \xf0\x9f\x98", "1964 \ufffd"),  # half an emoji in bytes
    ],
)
def test_halves_of_characters_are_kept_as_replacement_characters(
    written: bytes, text: str, store: ReplayStore
) -> None:
    content = json.dumps(chat("HERE").content).encode().replace(b"HERE", written)
    with provider(lambda body: Sent(content)) as server:
        (reply,) = llm(server, store).complete([ask()])
        assert isinstance(reply, LlmReply)
        assert reply.text == text
        assert llm(server, store).complete([ask()]) == [reply]
        assert len(server.bodies) == 1


@given(st.text(st.characters(), max_size=8), st.booleans())
def test_whole_texts_are_left_as_they_are(text: str, is_ascii: bool) -> None:
    body = json.dumps({"a": text}, ensure_ascii=is_ascii).encode()
    assert mend_text(body) == body


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "advice"),
    [(404, "check the model's name, and --base-url"), (429, "wait for the limit to pass"),
     (500, "the server is at fault"), (502, "the server is at fault"),
     (418, "change what the server names")],
)  # fmt: skip
def test_advice_is_of_the_status(status: int, advice: str) -> None:
    with (
        provider(lambda body: refusal("no", status=status)) as server,
        refused("endpoint-failed") as caught,
    ):
        OpenAiLlm("m", None, RunOptions(base_url=server.url, max_retries=0)).complete(
            [ask(f"{i}") for i in range(30)]
        )
    assert advice in str(caught.value)
    assert KEY_VARIABLE not in str(caught.value)


@pytest.mark.parametrize(("status", "n_tries"), [(500, 1), (502, 1), (503, 3), (529, 3), (429, 3)])
def test_a_new_server_that_only_fails_is_given_up_after_some_seconds(
    status: int, n_tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "PATIENCE", 0.0)
    with provider(lambda body: refusal("no", status=status)) as server:
        assert isinstance(llm(server).complete([ask()])[0], Failure)
        assert len(server.bodies) == n_tries
    # One that has answered is asked as often as --max-retries says.
    replies = iter([chat("fine"), *(3 * [refusal("no", status=status)])])
    with provider(lambda body: next(replies)) as server:
        model = llm(server)
        assert isinstance(model.complete([ask("a")])[0], LlmReply)
        assert isinstance(model.complete([ask("b")])[0], Failure)
        assert len(server.bodies) == 1 + 3
