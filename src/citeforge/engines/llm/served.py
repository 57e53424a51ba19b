"""A served model: what its server refuses, and how its replies are read."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from citeforge.engines.llm.adapting import LIMIT, Adaptation, is_too_long
from citeforge.engines.llm.options import ClientOptions, one_line
from citeforge.engines.llm.options import without_key as hide
from citeforge.engines.llm.reading import NO_REPLY, EndpointError, is_unpaid
from citeforge.engines.llm.records import (
    THINKING,
    Call,
    Failure,
    FailureReason,
    LlmReply,
    Result,
)
from citeforge.engines.llm.replay import ReplayStore

ADAPTABLE = (400, 404, 422, 501)
"""Statuses of refusals that a changed request may pass."""
_LEAST_ROOM = 16

C = TypeVar("C", bound=Call)


@dataclass(frozen=True)
class Route(Generic[C]):
    """One resource of an endpoint.

    Attributes:
        title: name in the progress line.
        resource: attributes of the SDK's client that lead to it.
        read: reads the body of a 200.
        settle: reads a reply, stored or new, as its call needs it.
        batch_url: resource in lines of batches; empty where calls are always made directly.
    """

    title: str
    resource: str
    read: Callable[[C, bytes], Result]
    settle: Callable[[C, LlmReply], Result] = lambda call, answer: answer
    batch_url: str = ""


class ServedModel:
    """A model behind an OpenAI-compatible endpoint.

    Attributes:
        model: its name there.
        store: where replies are found and kept; None to keep none.
        options: how it is reached.
        adaptation: what its server was found to refuse.
        tokens: prompt and completion tokens paid for: of all runs with a store, else of this
            object's.
    """

    def __init__(
        self, model: str, store: ReplayStore | None = None, options: ClientOptions | None = None
    ) -> None:
        self.model = model
        self.store = store
        self.options = options or ClientOptions()
        self.adaptation = Adaptation()
        self.tokens = (0, 0)

    def room(self, call: Call) -> int:
        """Tokens for thoughts that a call gets beside its own limit."""
        is_limited = getattr(call, "limited_by", None) == THINKING and call.most_tokens is not None
        return self.options.thinking_tokens if is_limited else 0

    def body(self, call: Call, room: int) -> dict[str, Any]:
        """Body of a request, without what the server refuses, with room for thoughts."""
        asked = call.payload(self.model)
        more = {LIMIT: asked[LIMIT] + room} if room and LIMIT in asked else {}
        return self.adaptation.apply(asked | more)

    def adapt(self, sent: dict[str, Any], error: EndpointError, room: int) -> int | None:
        """Take up what a refusal asks for: the room to ask again with; None to give up."""
        if self.adaptation.apply(sent) != sent:
            return room  # another call has learned it in the meantime
        if (change := self.adaptation.learn(sent, error)) is not None:
            sys.stderr.write(f"openai:{self.model} {change}\n")
            return room
        if room and is_too_long(error):
            return room // 2 if room >= 2 * _LEAST_ROOM else 0
        return None


def failure_of(error: EndpointError) -> Failure:
    """The result of a call that ended in an error, with the reason by its status and words."""
    is_whole = error.message.startswith("HTTP ")
    status = error.status
    message = error.message if is_whole else f"HTTP {status}: {error.message}"
    if status == NO_REPLY:
        return Failure("exhausted", error.message)
    reason: FailureReason = "refused"
    if is_unpaid(error, may_pass=False):
        reason = "billing"
    elif status in (401, 403):
        reason = "unauthorised"
    elif status in (408, 409, 429) or status >= 500:
        reason = "exhausted"
    elif "content" in error.code and "filter" in error.code:
        reason = "content_filter"
    return Failure(reason, message, status)


def redacted(result: Result) -> Result:
    """A result without the key: it is kept and shown from here on."""
    if isinstance(result, Failure):
        return replace(result, message=one_line(result.message))
    logprobs = result.logprobs
    if logprobs is not None:
        tokens = "".join(token.token for token in logprobs)
        # The tokens of a reply that contains the key would contain its pieces.
        logprobs = logprobs if hide(tokens) == tokens else None
    return replace(
        result,
        text=hide(result.text),
        model=hide(result.model),
        logprobs=logprobs,
        finish_reason=result.finish_reason and hide(result.finish_reason),
        thoughts=tuple(map(hide, result.thoughts)),
    )
