"""Reading replies of the OpenAI protocol: an answer only when it is complete."""

from __future__ import annotations

import msgspec

from citeforge.engines.llm.records import Answer, Failure, Result, Token


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

    An empty, cut-off (``finish_reason: length``), filtered or unparsable reply is a failure.
    """
    try:
        completion = _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return Failure(
            "unparsable", f"the reply is not a chat completion ({str(error)[:120]})", 200
        )
    usage = completion.usage or _Usage()
    paid = (usage.prompt_tokens, usage.completion_tokens)
    if not completion.choices:
        return Failure("empty", "the reply has no choices", 200, *paid)
    choice = completion.choices[0]
    if choice.finish_reason == "content_filter":
        return Failure("content_filter", "the reply was withheld by a content filter", 200, *paid)
    if choice.finish_reason == "length":
        return Failure("truncated", "the reply was cut at max_tokens", 200, *paid)
    text = choice.message.content
    if text is None or not text.strip():
        reason = "refused: " + choice.message.refusal if choice.message.refusal else "is empty"
        return Failure("empty", f"the reply {reason}"[:200], 200, *paid)
    logprobs = None
    if choice.logprobs is not None and choice.logprobs.content is not None:
        logprobs = tuple(Token(t.token, t.logprob) for t in choice.logprobs.content)
    return Answer(text, *paid, completion.model, logprobs)
