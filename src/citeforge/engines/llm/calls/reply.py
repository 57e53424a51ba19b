"""Reading replies of the OpenAI protocol."""

from __future__ import annotations

import msgspec

from citeforge.engines.llm.records import REFUSED, Failure, LlmReply, Result, Token


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _TokenLogprob(msgspec.Struct):
    token: str
    logprob: float


class _Logprobs(msgspec.Struct):
    content: list[_TokenLogprob] | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str = ""
    usage: _Usage | None = None


_DECODER = msgspec.json.Decoder(_Completion)


def read_reply(body: bytes) -> Result:
    """The answer in the body of a 200, or why it is none.

    A reply that is filtered, unparsable or without choices is a failure; one that is empty or cut
    off (``finish_reason: length``) is an answer, which :func:`records.settle` may refuse.
    """
    try:
        completion = _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return Failure("unparsable", f"the reply is not a chat completion ({error})", 200)
    usage = completion.usage or _Usage()
    paid = (usage.prompt_tokens, usage.completion_tokens)
    if not completion.choices:
        return Failure("empty", "the reply has no choices", 200, *paid)
    choice = completion.choices[0]
    if choice.finish_reason == "content_filter":
        return Failure("content_filter", "the reply was withheld by a content filter", 200, *paid)
    text, reason = choice.message.content or "", choice.finish_reason
    if not text.strip() and choice.message.refusal:
        text, reason = choice.message.refusal, REFUSED
    logprobs = None
    if choice.logprobs is not None and choice.logprobs.content is not None:
        logprobs = tuple(Token(t.token, t.logprob) for t in choice.logprobs.content)
    stopped = None if reason in (None, "", "stop") else reason
    return LlmReply(text, *paid, completion.model, logprobs, stopped)
