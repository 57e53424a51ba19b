"""What goes to an LLM and what comes back."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from citeforge.engines.io.files import digest

FailureReason = Literal[
    "refused",  # the endpoint will never take this request: 400, 404, 422, …
    "unauthorised",  # 401, 403
    "content_filter",
    "truncated",  # finish_reason "length"
    "empty",
    "unparsable",
    "exhausted",  # every retry failed
]


class Call(Protocol):
    """One thing to ask an endpoint for; what is stored is found by its payload.

    Attributes:
        sample: index of a repeated call; equal payloads with other indices are asked apart.
    """

    @property
    def sample(self) -> int: ...

    @property
    def texts(self) -> Sequence[str]:
        """What the endpoint is to read, in as many pieces as it counts overhead for."""
        ...

    @property
    def most_tokens(self) -> int | None:
        """Most tokens that the reply may have; None where nothing limits it."""
        ...

    @property
    def reply_bytes(self) -> int:
        """About how much room the stored reply needs at most."""
        ...

    def payload(self, model: str) -> dict[str, Any]:
        """The body that is sent."""
        ...


_UNLIMITED_TOKENS = 4096
_PER_TOKEN, _PER_LOGPROB = 8, 64


@dataclass(frozen=True)
class Request:
    """One chat completion.

    Attributes:
        messages: (role, content) pairs.
        params: further fields of the payload, e.g. temperature, max_tokens, logprobs.
        sample: index of a repeated request; equal payloads with other indices are asked apart.
        task: name of the task, which the template writer looks at; not part of the payload.
        values: what a template of that task needs; not part of the payload.
        needs_text: whether a reply that is empty or cut is a failure, as it is for whoever builds
            on the text; a system under test answers with whatever it says. Not part of the payload.
    """

    messages: tuple[tuple[str, str], ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    sample: int = 0
    task: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    needs_text: bool = True

    def payload(self, model: str) -> dict[str, Any]:
        """The body that is sent."""
        messages = [{"role": role, "content": content} for role, content in self.messages]
        return {"model": model, "messages": messages, **self.params}

    @property
    def texts(self) -> Sequence[str]:
        """Contents of the messages."""
        return [content for _, content in self.messages]

    @property
    def most_tokens(self) -> int | None:
        """The limit that the request sets; None when it sets none."""
        limit = self.params.get("max_completion_tokens", self.params.get("max_tokens"))
        return None if limit is None else int(limit)

    @property
    def stop(self) -> tuple[str, ...]:
        """Texts before which the answer ends."""
        words = self.params.get("stop") or ()
        return (words,) if isinstance(words, str) else tuple(words)

    @property
    def reply_bytes(self) -> int:
        """Room for the answer and its log probabilities."""
        tokens = _UNLIMITED_TOKENS if self.most_tokens is None else self.most_tokens
        return tokens * (_PER_TOKEN + (_PER_LOGPROB if self.params.get("logprobs") else 0))

    def key(self, model: str) -> str:
        """See :func:`request_key`."""
        return request_key(self.payload(model), self.sample)


_ROUTES = {"messages": "chat", "prompt": "completions", "input": "embeddings"}
"""Field that only payloads of one route have, to the route's name in keys."""


def request_key(payload: Mapping[str, Any], sample: int) -> str:
    """sha256 (64 hex digits) of route, whole payload and sample index: what the store finds an
    answer by.

    Raises:
        ValueError: a payload of no known route.
    """
    route = next((name for field, name in _ROUTES.items() if field in payload), None)
    if route is None:
        raise ValueError(f"the payload has none of {', '.join(_ROUTES)}")
    return digest([route, payload, sample])


if TYPE_CHECKING:
    Numbers = array[float]
else:  # in Python 3.11 it has no parameter
    Numbers = array


class Token(NamedTuple):
    """A generated token with the natural logarithm of its probability."""

    token: str
    logprob: float


@dataclass(frozen=True)
class LlmReply:
    """What a model replied.

    Attributes:
        text: what the model wrote; empty, or cut, only where the request allows it.
        prompt_tokens: as the endpoint counted, 0 when it did not say.
        completion_tokens: likewise.
        model: model as the endpoint named it.
        logprobs: tokens with log probabilities, when they were asked for.
        finish_reason: why the model stopped, as the endpoint named it; None for ``stop``.
        numbers: what a route gives that answers in numbers, without a text.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    model: str = ""
    logprobs: tuple[Token, ...] | None = None
    finish_reason: str | None = None
    numbers: Numbers | None = None


@dataclass(frozen=True)
class Failure:
    """Why a request has no answer.

    Attributes:
        reason: see FailureReason.
        message: one line; never holds a key.
        status: HTTP status, when there was one.
        prompt_tokens: tokens paid for all the same.
        completion_tokens: likewise.
    """

    reason: FailureReason
    message: str
    status: int | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0


Result = LlmReply | Failure

TRUNCATED, REFUSED = "length", "refusal"
"""``finish_reason`` of an answer that was cut at its limit, and of one whose text is a refusal that
the endpoint keeps apart from the content."""


def before(text: str, stop: Sequence[str]) -> str:
    """A text up to the first of some others."""
    return text[: min((at for at in map(text.find, stop) if at >= 0), default=None)]


def settle(request: Request, answer: LlmReply) -> Result:
    """A reply as its request takes it: where a text is needed, one that is cut, empty or a refusal
    is a failure. Some servers (transformers serve) leave the text that ended a reply in it."""
    answer = replace(answer, text=before(answer.text, request.stop))
    if not request.needs_text:
        return answer
    paid = (answer.prompt_tokens, answer.completion_tokens)
    if answer.finish_reason == TRUNCATED:
        return Failure("truncated", "the reply was cut at max_tokens", 200, *paid)
    if answer.finish_reason == REFUSED:
        return Failure("empty", f"the reply refused: {answer.text}"[:200], 200, *paid)
    if not answer.text.strip():
        return Failure("empty", "the reply is empty", 200, *paid)
    return answer


class Llm(Protocol):
    """Whatever answers requests: an endpoint, a replay store, a template."""

    def identity(self) -> dict[str, Any]:
        """What manifests say of it."""
        ...

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """One result a request, in order."""
        ...


@dataclass(frozen=True)
class Price:
    """Prices in one currency per million tokens."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Cost of so many tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6
