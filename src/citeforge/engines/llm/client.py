"""Chat completions of an endpoint: nothing that is stored is asked again."""

from collections.abc import Sequence
from typing import Any

import msgspec

from citeforge.engines.llm.budget import RunPlan, estimate_prompt_tokens
from citeforge.engines.llm.endpoint import Endpoint, Route
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.records import (
    REFUSED,
    Failure,
    LlmReply,
    Request,
    Result,
    Token,
    settle,
)
from citeforge.engines.llm.replay import OnResult, ReplayStore


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


class Usage(msgspec.Struct):
    """Tokens that a reply says were paid for."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str = ""
    usage: Usage | None = None


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
    usage = completion.usage or Usage()
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


CHAT: Route[Request] = Route("LLM", "chat.completions", lambda _, body: read_reply(body), settle)


class OpenAiLlm:
    """A model behind an OpenAI-compatible endpoint (OpenAI, vLLM, Ollama, llama.cpp, …)."""

    def __init__(
        self, model: str, store: ReplayStore | None = None, options: ClientOptions | None = None
    ) -> None:
        self.model = model
        self._endpoint = Endpoint(model, store, options)

    def identity(self) -> dict[str, Any]:
        return {"name": f"openai:{self.model}"}

    def plan(self, requests: Sequence[Request]) -> RunPlan:
        """What :meth:`complete` would ask; sends nothing."""
        distinct = {r.key(self.model): r for r in requests}
        store = self._endpoint.store
        stored = {k for k in distinct if store is not None and store.get(k) is not None}
        rest = [r for k, r in distinct.items() if k not in stored]
        prompt = sum(map(estimate_prompt_tokens, rest))
        limits = [r.most_tokens for r in rest]
        numbers = [n for n in limits if n is not None]
        completion = sum(numbers) if len(numbers) == len(limits) else None
        price = self._endpoint.options.price
        cost = None
        if price is not None and completion is not None:
            cost = price.cost(prompt, completion)
        return RunPlan(len(distinct), len(stored), prompt, completion, cost)

    def complete(
        self, requests: Sequence[Request], on_result: OnResult | None = None
    ) -> list[Result]:
        """One result a request, in order; equal requests are asked once.

        Args:
            requests: what to ask.
            on_result: told (index of the request, result) as soon as each is settled.

        Raises:
            InputError: no key, or the first calls all fail.
            BudgetError: the next call could pass the cost limit.
        """
        return self._endpoint.ask(CHAT, requests, on_result)
