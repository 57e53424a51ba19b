"""Requests to an LLM and its replies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol

from citeforge.engines.io.files import digest
from citeforge.engines.text.thoughts import split_thoughts

FailureReason = Literal[
    "refused",  # the endpoint will never take this request: 400, 404, 422, …
    "unauthorised",  # 401, 403
    "billing",  # no credit left: 402, insufficient_quota, …
    "content_filter",
    "truncated",  # finish_reason "length"
    "no_room",  # the same, before the answer began
    "empty",
    "unparsable",
    "exhausted",  # every retry failed
]
THINKING, MAX_ANSWER = "--thinking-tokens", "--max-answer"
"""Options that limit a reply: room for thoughts beside what an answer needs, or all of it."""


class Call(Protocol):
    """One call of an endpoint; its reply is stored under the hash of its payload and sample."""

    @property
    def sample(self) -> int: ...

    @property
    def texts(self) -> Sequence[str]:
        """Message contents, one string per message."""
        ...

    @property
    def most_tokens(self) -> int | None:
        """Maximum number of tokens of the answer; None without a limit."""
        ...

    def payload(self, model: str) -> dict[str, Any]:
        """Body of the HTTP request."""
        ...


@dataclass(frozen=True)
class Request:
    """One chat completion.

    Attributes:
        messages: (role, content) pairs.
        params: further fields of the payload, e.g. temperature, max_tokens, logprobs.
        sample: index of a repeated request; equal payloads with other indices are asked apart.
        task: task name for the template writer; not part of the payload.
        values: values for the template of that task; not part of the payload.
        needs_text: whether an empty or cut reply is a failure, as for builders and judges; a
            system under test may answer so. Not part of the payload.
        limited_by: option that limits the reply. With ``--thinking-tokens``, ``max_tokens`` is
            what the answer needs, and the client adds room for thoughts. Not part of the payload.
    """

    messages: tuple[tuple[str, str], ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    sample: int = 0
    task: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    needs_text: bool = True
    limited_by: str = THINKING

    def payload(self, model: str) -> dict[str, Any]:
        """Body of the HTTP request."""
        messages = [{"role": role, "content": content} for role, content in self.messages]
        return {"model": model, "messages": messages, **self.params}

    @property
    def texts(self) -> Sequence[str]:
        """Contents of the messages."""
        return [content for _, content in self.messages]

    @property
    def most_tokens(self) -> int | None:
        """``max_tokens`` of the request; None without a limit."""
        limit = self.params.get("max_completion_tokens", self.params.get("max_tokens"))
        return None if limit is None else int(limit)

    @property
    def stop(self) -> tuple[str, ...]:
        """Texts before which the answer ends."""
        words = self.params.get("stop") or ()
        return (words,) if isinstance(words, str) else tuple(words)

    def key(self, model: str) -> str:
        """See :func:`request_key`."""
        return request_key(self.payload(model), self.sample)


_ROUTES = {"messages": "chat", "prompt": "completions", "input": "embeddings"}
"""Payload field that only one route has, to the name of that route."""


def request_key(payload: Mapping[str, Any], sample: int) -> str:
    """Compute the sha256 (64 hex digits) of route, payload and sample index.

    Raises:
        ValueError: the payload is of an unknown route.
    """
    route = next((name for field, name in _ROUTES.items() if field in payload), None)
    if route is None:
        raise ValueError(f"the payload has none of {', '.join(_ROUTES)}")
    return digest([route, payload, sample])


class Token(NamedTuple):
    """A generated token with the natural logarithm of its probability."""

    token: str
    logprob: float


@dataclass(frozen=True)
class LlmReply:
    """Reply of a model.

    Attributes:
        text: the answer; before :func:`settle`, with thoughts that the model wrote into it.
        prompt_tokens: as the endpoint counted; of chats estimated if it counts none.
        completion_tokens: the same for the reply, thoughts included.
        model: model as the endpoint named it.
        logprobs: tokens of the answer with log probabilities, when they were asked for.
        finish_reason: why the model stopped, as the endpoint named it; None for ``stop``.
        numbers: float64 values of a route that returns numbers and no text.
        thoughts: what a reasoning model wrote before its answer; never scored.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    model: str = ""
    logprobs: tuple[Token, ...] | None = None
    finish_reason: str | None = None
    numbers: bytes | None = None
    thoughts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """Why a request has no answer, in one line without the key, and tokens that were paid."""

    reason: FailureReason
    message: str
    status: int | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0


Result = LlmReply | Failure

TRUNCATED, REFUSED = "length", "refusal"
"""``finish_reason`` of an answer that was cut at its limit, and of one whose text is a refusal that
the endpoint keeps apart from the content."""


def settle(request: Request, reply: LlmReply) -> Result:
    """Split thoughts from a reply; a cut or empty answer is a failure if text is needed.

    Some servers (transformers serve) leave the text that ended a reply in it.
    """
    spoken = split_thoughts(reply.text)
    stops = [at for at in map(spoken.answer.find, request.stop) if at >= 0]
    answer = replace(
        reply,
        text=spoken.answer[: min(stops, default=None)],
        thoughts=(*reply.thoughts, *spoken.thoughts),
        finish_reason=TRUNCATED if spoken.is_cut else reply.finish_reason,
        logprobs=_logprobs_of_answer(reply, spoken.answer),
    )
    paid = (answer.prompt_tokens, answer.completion_tokens)
    is_cut, is_empty = answer.finish_reason == TRUNCATED, not answer.text.strip()
    if is_cut and is_empty and request.limited_by == THINKING:
        message = f"the reply ended at its limit before the answer began; raise {THINKING}"
        return Failure("no_room", message, 200, *paid)
    if not request.needs_text:
        return answer
    if is_cut:
        return Failure("truncated", "the reply was cut at max_tokens", 200, *paid)
    if answer.finish_reason == REFUSED:
        return Failure("empty", f"the reply refused: {answer.text}"[:200], 200, *paid)
    return Failure("empty", "the reply is empty", 200, *paid) if is_empty else answer


def _logprobs_of_answer(reply: LlmReply, answer: str) -> tuple[Token, ...] | None:
    """Drop the tokens of thoughts from the log probabilities of a reply."""
    if reply.logprobs is None or answer == reply.text:
        return reply.logprobs
    skip, kept = reply.text.rfind(answer), []
    for token in reply.logprobs:
        skip -= len(token.token)
        if skip < 0:
            kept.append(token)
    return tuple(kept)


class Llm(Protocol):
    """Anything that answers requests: an endpoint, a replay store, a template."""

    def identity(self) -> dict[str, Any]:
        """Name, revision and settings of the LLM, as manifests record them."""
        ...

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """One result per request, in order."""
        ...


@dataclass(frozen=True)
class Price:
    """Prices in one currency per million tokens."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Compute the cost of so many tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6
