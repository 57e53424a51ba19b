"""What endpoints reply: answers, and errors in the shapes of several providers."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from citeforge.engines.llm.records import (
    REFUSED,
    TRUNCATED,
    Failure,
    FailureReason,
    LlmReply,
    Result,
    Token,
)

NO_REPLY = 599
"""Status that stands for a reply that never came whole, and will not by asking again."""
_CUT = {"length", "max_tokens", "max_output_tokens", "model_length", "max_length"}
"""``finish_reason`` of replies at their limit: OpenAI, Anthropic, Gemini, Mistral, others."""
_ENDED = {"", "stop", "eos", "eos_token", "end_turn", "stop_sequence"}
_UNPAID_CODES = {
    "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "arrearage",
    "insufficient_balance", "exceeded_current_quota_error", "account_deactivated",
}  # fmt: skip
_UNPAID = re.compile(
    r"insufficient (?:balance|credits?|funds|quota)|credit balance|out of credits|more credits|"
    r"exceeded your current quota|payment required|billing|overdue|recharge",
    re.IGNORECASE,
)
_DELAY = re.compile(rb'"retryDelay"\s*:\s*"([\d.]+)s"')
_SHOWN = 120
_LONGEST_SENTENCE = 400


class Usage(msgspec.Struct):
    """Token counts of a reply; some servers send null or 10.0."""

    prompt_tokens: float | None = None
    completion_tokens: float | None = None

    @property
    def paid(self) -> tuple[int, int]:
        """Prompt and completion tokens."""
        return int(self.prompt_tokens or 0), int(self.completion_tokens or 0)


class _Message(msgspec.Struct):
    content: str | list[Any] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _TokenLogprob(msgspec.Struct):
    token: str
    logprob: float


class _Logprobs(msgspec.Struct):
    content: list[_TokenLogprob] | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None
    error: Any = None


class Completion(msgspec.Struct):
    """A chat completion; fields that are not read are left out."""

    choices: list[_Choice]
    model: str | None = None
    usage: Usage | None = None


UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Errors of a decoder that reads what a server sent."""


def read_completion(completion: Completion) -> Result:
    """Read the answer of a chat completion, or why there is none.

    Thoughts in fields or content parts of their own are kept apart; those in the text are left to
    :func:`citeforge.engines.llm.records.settle`.
    """
    paid = (completion.usage or Usage()).paid
    if not completion.choices:
        return Failure("empty", "the reply has no choices", 200, *paid)
    choice = completion.choices[0]
    if choice.finish_reason == "content_filter":
        return Failure("content_filter", "the reply was withheld by a content filter", 200, *paid)
    if choice.error is not None:
        fault = read_error(200, msgspec.json.encode({"error": choice.error}))
        return Failure("unparsable", f"the reply broke off: {fault.message}", 200, *paid)
    message = choice.message
    text, thoughts = _read_content(message.content)
    reason = _ended_by(choice.finish_reason)
    if not text.strip() and message.refusal:
        text, reason = message.refusal, REFUSED
    # The same thought may come in both fields.
    fields = (message.reasoning_content, message.reasoning)
    thoughts += [t for t in dict.fromkeys(fields) if t and t.strip()]
    logprobs = None
    if choice.logprobs is not None and choice.logprobs.content is not None:
        logprobs = tuple(Token(t.token, t.logprob) for t in choice.logprobs.content)
    model = completion.model or ""
    return LlmReply(text, *paid, model, logprobs, reason, thoughts=tuple(thoughts))


def _read_content(content: str | list[Any] | None) -> tuple[str, list[str]]:
    """Read text and thoughts of a message; Mistral and others send a list of parts."""
    if not isinstance(content, list):
        return content or "", []
    said: dict[bool, list[str]] = {False: [], True: []}
    for part in content:
        row = part if isinstance(part, dict) else {"type": "text", "text": part}
        kind = str(row.get("type", "text"))
        is_thought = "think" in kind or "reason" in kind
        if is_thought or "text" in kind:
            texts = (row.get(name) for name in ("text", "thinking", "reasoning", "summary"))
            said[is_thought].extend(_strings(texts))
    return "".join(said[False]), [t for t in ("".join(said[True]),) if t.strip()]


def _strings(values: Iterable[Any]) -> Iterable[str]:
    """List all texts in nested parts of a message."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _strings(v.get("text") if isinstance(v, dict) else v for v in value)


def _ended_by(reason: str | None) -> str | None:
    """Translate ``finish_reason`` into OpenAI's terms; None if the model ended by itself."""
    name = (reason or "").lower()
    return None if name in _ENDED else TRUNCATED if name in _CUT else reason


class EndpointError(NamedTuple):
    """Error of an endpoint.

    Attributes:
        status: HTTP status, or the one that the body of a 200 contains.
        message: sentence of the provider.
        code: its code or type, in lower case; empty without one.
        param: parameter at fault; empty where none is named.
    """

    status: int
    message: str
    code: str = ""
    param: str = ""


Reply = bytes | EndpointError
"""What comes of a request: the body of a 200, or an error."""


def read_error(status: int, body: bytes) -> EndpointError:
    """Read an error: ``{"error": {…}}``, ``{"error": "…"}``, ``{"message": …}``, FastAPI's
    ``{"detail": …}``, Gemini's list of one, or any text."""
    try:
        content = msgspec.json.decode(body)
    except UNREADABLE:
        return EndpointError(status, _excerpt(body))
    row = content[0] if isinstance(content, list) and content else content
    if isinstance(row, dict):
        inner = row.get("error") or row.get("detail")
        row = inner or (row["message"] if isinstance(row.get("message"), dict) else row)
    if not isinstance(row, dict):
        message = row if isinstance(row, str) else msgspec.json.encode(row).decode()
        return EndpointError(status, message)
    message = str(row.get("message") or msgspec.json.encode(row).decode())
    code, kind, param = (str(row.get(n) or "") for n in ("code", "type", "param"))
    if (metadata := row.get("metadata")) and isinstance(metadata, dict) and metadata.get("raw"):
        message = f"{message}: {metadata['raw']}"  # OpenRouter's, of the provider behind it
    code = kind if not code or code.isdecimal() else code
    return EndpointError(status, message, code.lower(), param)


def status_of_body(body: bytes) -> int:
    """Read the HTTP status in the body of a 200: some proxies put their errors there."""
    try:
        content = msgspec.json.decode(body)
    except UNREADABLE:
        return 502  # a page of a proxy, or a stream that was not asked for
    if not isinstance(content, dict):
        return 502
    error = content.get("error")
    if not error or content.get("choices") or content.get("data"):
        return 200
    code = str(error.get("code") if isinstance(error, dict) else "")
    return int(code) if re.fullmatch("[45][0-9][0-9]", code) else 502


def is_unpaid(error: EndpointError, may_pass: bool) -> bool:
    """Whether an error means that no credit is left, so that waiting does not help.

    It may pass if the server says when to come again: Gemini's limits per minute are worded like
    an empty account.
    """
    if error.status == 402 or error.code in _UNPAID_CODES:
        return True
    # Long messages say our prompt back, which may be about bills.
    is_short = error.status in (400, 403, 429) and len(error.message) <= _LONGEST_SENTENCE
    return is_short and not may_pass and _UNPAID.search(error.message) is not None


def failure_of(error: EndpointError) -> Failure:
    """Turn an endpoint's error into the failure of the call."""
    if error.status == NO_REPLY:
        return Failure("exhausted", error.message)
    reason: FailureReason = "refused"
    if is_unpaid(error, may_pass=False):
        reason = "billing"
    elif error.status in (401, 403):
        reason = "unauthorised"
    elif error.status in (408, 409, 429) or error.status >= 500:
        reason = "exhausted"
    elif "content" in error.code and "filter" in error.code:
        reason = "content_filter"
    return Failure(reason, f"HTTP {error.status}: {error.message}", error.status)


def retry_delay(body: bytes) -> float | None:
    """Read the seconds that Gemini asks to wait, in the body of its 429."""
    match = _DELAY.search(body)
    return None if match is None else float(match[1])


def _excerpt(body: bytes) -> str:
    """Shorten a body that is no JSON to one line."""
    return " ".join(body.decode("utf-8", "replace").split())[:_SHOWN] or "no text"
