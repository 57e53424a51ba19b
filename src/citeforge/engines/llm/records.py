"""Requests to an LLM and its replies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from citeforge.engines.files import digest
from citeforge.engines.keys import mask_keys
from citeforge.engines.text.thoughts import SplitReply, split_thoughts
from citeforge.schemas.finish_reasons import TRUNCATED, is_cut

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
    "unreachable",  # no connection to a server that was never reached
    "program",  # a program of the user's own ended with an error, or took too long
]
OF_SERVER = ("refused", "exhausted", "unreachable", "unauthorised")
"""Reasons that lie with the server or the way to it, not with one answer."""
REFUSED = "refused"
"""``finish_reason`` of an answer whose text is a refusal that the endpoint keeps apart from the
content."""


@dataclass(frozen=True)
class Request:
    """One request to a model; its reply is stored under the hash of its body and sample.

    Attributes:
        messages: (role, content) pairs of a chat; empty for embeddings and completions.
        params: further fields of the body, e.g. temperature, max_tokens, logprobs.
        sample: index of a repeated request; equal bodies with other indices are asked apart.
        task: task name for the template writer; not part of the body.
        values: values for the template of that task; not part of the body.
        needs_text: whether an empty or cut reply is a failure, as for builders and judges; a system
            under test may answer so. Not part of the body.
        gets_room: whether ``max_tokens`` is what the answer needs, so that the client adds room for
            thoughts; a system under test has to think within its limit. Not part of the body.
        usual_reply: text about as long as the reply, for estimates; empty if nothing is known of
            it. Not part of the body.
    """

    messages: tuple[tuple[str, str], ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    sample: int = 0
    task: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    needs_text: bool = True
    gets_room: bool = True
    usual_reply: str = ""

    def payload(self, model: str) -> dict[str, Any]:
        """Make the JSON body of this request to a model, as a dictionary."""
        messages = [{"role": role, "content": content} for role, content in self.messages]
        return {"model": model, **({"messages": messages} if messages else {}), **self.params}

    @property
    def stop(self) -> tuple[str, ...]:
        """Stop sequences: texts before which the answer ends."""
        words = self.params.get("stop") or ()
        return (words,) if isinstance(words, str) else tuple(words)

    @property
    def limited_by(self) -> str:
        """Name of the command-line option that limits the length of the reply."""
        return "--thinking-tokens" if self.gets_room else "--max-answer"

    def key(self, model: str) -> str:
        """Compute the hash under which a model's reply to this request is stored."""
        return request_key(self.payload(model), self.sample)

    def check_reply(self, reply: "LlmReply") -> "Result":
        """Separate thoughts from the answer; return a failure if text is needed and cut or empty.

        Some servers (transformers serve) leave the text that ended a reply in it.
        """
        spoken = split_thoughts(reply.text)
        stops = [at for at in map(spoken.answer.find, self.stop) if at >= 0]
        answer = replace(
            reply,
            text=spoken.answer[: min(stops, default=None)],
            thoughts=(*reply.thoughts, *spoken.thoughts),
            finish_reason=TRUNCATED if spoken.is_cut else reply.finish_reason,
            logprobs=_logprobs_of_answer(reply, spoken),
        )
        paid = (answer.prompt_tokens, answer.completion_tokens)
        is_at_limit, is_empty = answer.finish_reason == TRUNCATED, not answer.text.strip()
        if is_at_limit and is_empty and self.gets_room:
            why = f"the reply ended at its limit before the answer began; raise {self.limited_by}"
            return Failure("no_room", why, 200, *paid)
        if not self.needs_text:
            return answer
        if is_cut(answer.finish_reason):
            at = "at max_tokens" if is_at_limit else f"({answer.finish_reason})"
            return Failure("truncated", f"the reply was cut {at}", 200, *paid)
        if answer.finish_reason == REFUSED:
            return Failure(
                "empty", mask_keys(f"the reply refused: {answer.text}")[:200], 200, *paid
            )
        return Failure("empty", "the reply is empty", 200, *paid) if is_empty else answer


_ROUTES = {"messages": "chat", "prompt": "completions", "input": "embeddings"}
"""Payload field that only one route has, to the name of that route."""


def request_key(payload: Mapping[str, Any], sample: int) -> str:
    """Compute the sha256 (64 hex digits) of route, payload and sample index.

    Args:
        payload: body of the request.
        sample: index of the draw: equal requests with different ones are asked separately.

    Raises:
        ValueError: the payload is of an unknown route.
    """
    route = next((name for field, name in _ROUTES.items() if field in payload), None)
    if route is None:
        raise ValueError(f"the payload has none of {', '.join(_ROUTES)}")
    return digest([route, payload, sample])


class Token(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A generated token with the natural logarithm of its probability."""

    token: str
    logprob: float


class LlmReply(Struct, frozen=True, omit_defaults=True):
    """Reply of a model.

    Attributes:
        text: the answer; before :meth:`Request.check_reply` with thoughts that the model wrote into
            it.
        prompt_tokens: as the endpoint counted; estimated if it counts none.
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


class Failure(Struct, frozen=True, omit_defaults=True):
    """Reason why a request has no answer.

    Attributes:
        reason: what kind of failure it is.
        message: one line, without the key where it is shown or kept.
        status: HTTP status; None without a reply.
        prompt_tokens: prompt tokens that were paid for.
        completion_tokens: the same for the reply.
        code: code or type of the provider, in lower case; not kept.
        param: parameter at fault, as the provider names it; not kept.
    """

    reason: FailureReason
    message: str
    status: int | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    code: str = ""
    param: str = ""


Result = LlmReply | Failure


def _logprobs_of_answer(reply: LlmReply, split_reply: SplitReply) -> tuple[Token, ...] | None:
    """Get the log probabilities of the answer's tokens, without thoughts; None if unknown."""
    if reply.logprobs is None or split_reply.answer == reply.text:
        return reply.logprobs
    ends = accumulate(len(token.token) for token in reply.logprobs)
    return tuple(
        token
        for token, end in zip(reply.logprobs, ends, strict=True)
        if split_reply.move_span(end - len(token.token), end) is not None
    )


class Llm(Protocol):
    """Anything that answers requests: an endpoint, a replay store, a template."""

    def identity(self) -> dict[str, Any]:
        """Name, revision and settings of the LLM, as manifests record them."""
        ...

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """Answer requests: return one result per request, in order."""
        ...


def signature_name(llm: Llm) -> str:
    """Name an LLM in score signatures (settings of a score): its name and reasoning effort."""
    identity = llm.identity()
    effort = identity.get("reasoning_effort")
    return str(identity["name"]) + ("" if effort is None else f"+effort={effort}")


def json_format(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Make the ``response_format`` that asks for a JSON object of exactly the given properties.

    Args:
        name: name of the schema.
        properties: JSON schema of each property.
    """
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}
