"""Reader of endpoint replies: answers, and errors in the formats of several providers."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from citeforge.engines.jsonlines import UNREADABLE
from citeforge.engines.keys import KEY_VARIABLE
from citeforge.engines.llm.records import (
    REFUSED,
    Failure,
    FailureReason,
    LlmReply,
    Result,
    Token,
)
from citeforge.schemas.finish_reasons import TRUNCATED, Ending, read_ending

NO_CONNECTION, NO_REPLY = 598, 599
"""Pseudo statuses: a server that was never reached; an incomplete reply that no retry can fix."""
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
        """Prompt and completion tokens as whole numbers; 0 for a missing count."""
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


def read_completion(completion: Completion) -> Result:
    """Convert a chat completion to a reply, or to a failure that says why there is no answer.

    Thoughts in fields or content parts of their own are kept apart; those in the text are left to
    :meth:`citeforge.engines.llm.records.Request.check_reply`.
    """
    paid = (completion.usage or Usage()).paid
    if not completion.choices:
        return Failure("empty", "the reply has no choices", 200, *paid)
    choice = completion.choices[0]
    if choice.finish_reason == "content_filter":
        return Failure("content_filter", "the reply was withheld by a content filter", 200, *paid)
    if choice.error is not None:
        fault = read_error(NO_REPLY, msgspec.json.encode({"error": choice.error}))
        return Failure("unparsable", f"the reply broke off: {fault.message}", 200, *paid)
    message = choice.message
    text, thoughts = _read_content(message.content)
    reason = _translate_finish_reason(choice.finish_reason)
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
    """Split a message's content into (text, thoughts); Mistral and others send a list of parts."""
    if not isinstance(content, list):
        return content or "", []
    said: dict[bool, list[str]] = {False: [], True: []}
    for part in content:
        row = part if isinstance(part, dict) else {"type": "text", "text": part}
        kind = str(row.get("type", "text"))
        is_thought = "think" in kind or "reason" in kind
        if is_thought or "text" in kind:
            texts = (row.get(name) for name in ("text", "thinking", "reasoning", "summary"))
            said[is_thought].extend(_nested_texts(texts))
    return "".join(said[False]), [t for t in ("".join(said[True]),) if t.strip()]


def _nested_texts(values: Iterable[Any]) -> Iterable[str]:
    """Yield all texts in the parts of a message, which may be nested."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _nested_texts(v.get("text") if isinstance(v, dict) else v for v in value)


def _translate_finish_reason(reason: str | None) -> str | None:
    """Translate ``finish_reason`` into OpenAI's terms; None if the model ended by itself."""
    ending = read_ending(reason)
    return {Ending.WHOLE: None, Ending.LIMIT: TRUNCATED}.get(ending, reason)


Reply = bytes | Failure
"""What comes of a request: the body of a 200, or an error."""


def read_error(status: int, body: bytes, original_status: str = "") -> Failure:
    """Make a failure from an error's body and true HTTP status; name the status it came with.

    The forms are ``{"error": {…}}``, ``{"error": "…"}``, ``{"message": …}``, FastAPI's
    ``{"detail": …}``, Gemini's list of one, and any text.

    Args:
        status: HTTP status that the error means.
        body: body of the reply.
        original_status: HTTP status that the reply came with, where that is another one.
    """
    try:
        row = msgspec.json.decode(body)
    except UNREADABLE:
        row = " ".join(body.decode("utf-8", "replace").split())[:_SHOWN] or "no text"
        if body.lstrip()[:1] == b"<":
            row = f"a web page in place of a reply (is this the API's address?): {row}"
    row = row[0] if isinstance(row, list) and row else row
    if isinstance(row, dict):
        inner = row.get("error") or row.get("detail")
        row = inner or (row["message"] if isinstance(row.get("message"), dict) else row)
    if not isinstance(row, dict):
        row = {"message": row if isinstance(row, str) else msgspec.json.encode(row).decode()}
    message = str(row.get("message") or msgspec.json.encode(row).decode())
    if (metadata := row.get("metadata")) and isinstance(metadata, dict) and metadata.get("raw"):
        message = f"{message}: {metadata['raw']}"  # OpenRouter's, of the provider behind it
    code, kind, param = (str(row.get(n) or "") for n in ("code", "type", "param"))
    code = (kind if not code or code.isdecimal() else code).lower()
    if status in (NO_CONNECTION, NO_REPLY):
        reason: FailureReason = "unreachable" if status == NO_CONNECTION else "exhausted"
        return Failure(reason, message, code=code, param=param)
    message = f"HTTP {status}: {message}" + (
        original_status and f" (sent as HTTP {original_status})"
    )
    failure = Failure("refused", message, status, code=code, param=param)
    return replace(failure, reason=_failure_reason(status, failure))


ADVICE = {
    401: f"check the key in {KEY_VARIABLE}",
    403: f"check what the key in {KEY_VARIABLE} may use: models, regions",
    404: "check the model's name, and --base-url (most end in /v1); `citeforge doctor` lists the "
    "endpoint's models",
    429: "wait for the limit to pass, or lower --rpm, --tpm or --concurrency",
    500: "the server is at fault: look into its log, or ask its provider",
}
"""What helps, by HTTP status; 500 stands for all above."""


def advice_for(failure: Failure) -> str:
    """Get advice on a failed call, by its HTTP status if there was a reply."""
    status = failure.status
    if failure.reason == "unreachable":
        return "check --base-url (or OPENAI_BASE_URL), and that the server runs and can be reached"
    if status is None or status == NO_REPLY:
        return "check --base-url, and that the server runs and replies in time"
    if status >= 500:
        return ADVICE[500]
    return ADVICE.get(status, "change what the server names")


def _failure_reason(status: int, error: Failure) -> FailureReason:
    """Find the reason of a failed request, such as "billing", from HTTP status and error.

    Args:
        status: HTTP status.
        error: what the reply says.
    """
    if is_unpaid(error, has_retry_time=False):
        return "billing"
    if status in (401, 403):
        return "unauthorised"
    if status in (408, 409, 429) or status >= 500:
        return "exhausted"
    return "content_filter" if "content" in error.code and "filter" in error.code else "refused"


_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|"
    rb"(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def mend_text(body: bytes) -> bytes:
    """Replace half surrogate pairs, and bytes that are not UTF-8, in a reply by U+FFFD.

    Servers that cut a text at a token may leave half of an emoji at its end.
    """
    try:
        body.decode()
    except UnicodeDecodeError:
        body = body.decode("utf-8", "replace").encode()
    if b"\\ud" not in body and b"\\uD" not in body:
        return body
    return _ESCAPE.sub(lambda m: rb"\ufffd" if m["half"] else m[0], body)


def is_stream(body: bytes) -> bool:
    """Whether the body of a reply is a stream of events (text/event-stream)."""
    return body.lstrip().startswith((b"data:", b"event:", b": "))


def status_of_body(body: bytes) -> int:
    """Find the true HTTP status of a reply sent as 200: some proxies put errors in its body."""
    try:
        content = msgspec.json.decode(body)
    except UNREADABLE:
        return 502  # a page of a proxy
    if not isinstance(content, dict):
        return 502
    error = content.get("error")
    if not error or content.get("choices") or content.get("data"):
        return 200
    code = str(error.get("code") if isinstance(error, dict) else "")
    return int(code) if re.fullmatch("[45][0-9][0-9]", code) else 502


def read_response(status: int, body: bytes) -> Reply:
    """Return the body of an HTTP reply, or a failure if its status or body is an error."""
    status = status_of_body(body) if status == 200 else status
    return body if status == 200 else read_error(status, body)


def is_unpaid(error: Failure, has_retry_time: bool) -> bool:
    """Whether an error means that no credit is left; a time to retry speaks against it.

    Args:
        error: reply of the server.
        has_retry_time: whether the server says when to come again: then it is a limit per minute,
            which Gemini words like an empty account.
    """
    if error.status == 402 or error.code in _UNPAID_CODES:
        return True
    # Long messages say our prompt back, which may be about bills.
    is_short = error.status in (400, 403, 429) and len(error.message) <= _LONGEST_SENTENCE
    return is_short and not has_retry_time and _UNPAID.search(error.message) is not None


def retry_delay(body: bytes) -> float | None:
    """Read how many seconds the body of Gemini's HTTP 429 asks to wait; None if it names none."""
    match = _DELAY.search(body)
    return None if match is None else float(match[1])
