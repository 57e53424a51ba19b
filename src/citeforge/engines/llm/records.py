"""What goes to an LLM and what comes back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from citeforge.engines.files import canonical_json

FailureKind = Literal[
    "refused",  # the endpoint will never take this request: 400, 404, 422, …
    "unauthorised",  # 401, 403
    "content_filter",
    "truncated",  # finish_reason "length"
    "empty",
    "unparsable",
    "exhausted",  # every retry failed
]


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

    def key(self, model: str) -> str:
        """sha256 of the whole payload and the sample index; what the store finds it by."""
        return request_key("chat", self.payload(model), self.sample)


def request_key(kind: str, payload: Mapping[str, Any], sample: int) -> str:
    """sha256 (64 hex digits) of a request's kind, payload and sample index."""
    text = canonical_json([kind, payload, sample])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Token:
    """A generated token with the natural logarithm of its probability."""

    token: str
    logprob: float


@dataclass(frozen=True)
class Answer:
    """What a model replied.

    Attributes:
        text: what the model wrote; empty, or cut, only where the request allows it.
        prompt_tokens: as the endpoint counted, 0 when it did not say.
        completion_tokens: likewise.
        model: model as the endpoint named it.
        logprobs: tokens with log probabilities, when they were asked for.
        finish_reason: why the model stopped, as the endpoint named it; None for ``stop``.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    model: str = ""
    logprobs: tuple[Token, ...] | None = None
    finish_reason: str | None = None


@dataclass(frozen=True)
class Failure:
    """Why a request has no answer.

    Attributes:
        kind: see FailureKind.
        message: one line; never holds a key.
        status: HTTP status, when there was one.
        prompt_tokens: tokens paid for all the same.
        completion_tokens: likewise.
    """

    kind: FailureKind
    message: str
    status: int | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0


Result = Answer | Failure

TRUNCATED, REFUSED = "length", "refusal"
"""``finish_reason`` of an answer that was cut at its limit, and of one whose text is a refusal that
the endpoint keeps apart from the content."""


def settle(request: Request, answer: Answer) -> Result:
    """A reply as its request takes it: where a text is needed, one that is cut, empty or a refusal
    is a failure."""
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
