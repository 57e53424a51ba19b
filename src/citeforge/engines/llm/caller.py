"""One call to an endpoint, tried until it is settled: at a rate, and as a 429 asks for."""

import asyncio
import email.utils
import math
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from citeforge.engines.llm.options import KEY_VARIABLE, ClientOptions, UnboundedReplyError
from citeforge.engines.llm.records import Failure, LlmReply
from citeforge.engines.llm.secrets import Redactor

T = TypeVar("T")
_LONGEST_WAIT = 366 * 86400.0
"""Seconds; a server that names more (1e308) says no more by it."""


class Caller:
    """Rate, retries and clean error messages for calls of any kind."""

    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        self.gate = RateGate(options.requests_per_minute, options.tokens_per_minute)
        self._reached = False
        self._secrets = Redactor(os.environ.get(KEY_VARIABLE, "").strip())

    async def call(
        self, send: Callable[[], Awaitable[Any]], read: Callable[[bytes], T | Failure], tokens: int
    ) -> T | Failure:
        """Try until there is an answer, a failure that will not go away, or no try left.

        Args:
            send: makes one call through the SDK's ``with_raw_response``.
            read: body of a 200 to an answer, or why it is none; ``unparsable`` is tried again.
            tokens: estimate for the token rate.
        """
        policy = self.options.retry
        broken = throttled = 0
        while True:
            await self.gate.wait(tokens)
            result, wait = await self._once(send, read)
            if wait is None:
                return result
            assert isinstance(result, Failure)
            if result.status == 429:
                throttled += 1
                pause = max(wait, policy.pause(throttled))
                self.gate.close(pause)
                spent = throttled >= policy.throttled_attempts
            else:
                broken += 1
                pause = max(wait, policy.pause(broken))
                lasting = policy.attempts if self._reached else policy.first_attempts
                spent = broken >= min(lasting, policy.attempts)
            if spent or pause > policy.longest_wait:
                tries = broken + throttled
                return Failure("exhausted", f"{result.message} ({tries} tries)", result.status)
            await asyncio.sleep(pause)

    async def _once(
        self, send: Callable[[], Awaitable[Any]], read: Callable[[bytes], T | Failure]
    ) -> tuple[T | Failure, float | None]:
        """One call: (result, None) when it stands, (failure, least pause) to try again."""
        import openai

        try:
            async with asyncio.timeout(self.options.deadline):
                reply = await send()
            self._reached = True
        except openai.APIStatusError as error:
            self._reached = True
            return self._status_error(error)
        except openai.APITimeoutError:
            self._reached = True  # slow, or it drops what it does not want; either may pass
            seconds = self.options.timeout
            return Failure("exhausted", f"no answer within {seconds:g} s"), 0.0
        except TimeoutError:
            # It spoke all the while: another try would drip as long.
            seconds = self.options.deadline
            return Failure("exhausted", f"the reply was not finished within {seconds:g} s"), None
        except UnboundedReplyError as error:
            return Failure("exhausted", str(error)), None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            if isinstance(cause, UnboundedReplyError):
                return Failure("exhausted", str(cause)), None
            # Of httpx, or of httpx2, as the SDK's version has it.
            refused = type(cause).__name__ == "ConnectError"
            self._reached |= not refused
            address = self.options.endpoint
            what = f"no connection to {address}" if refused else "the connection broke"
            message = self.clean(f"{what}: {str(cause) or type(cause).__name__}")
            return Failure("exhausted", message), 0.0
        result = self._redacted(read(reply.http_response.content))
        if isinstance(result, Failure) and result.reason == "unparsable":
            return result, 0.0
        return result, None

    def _status_error(self, error: Any) -> tuple[Failure, float | None]:
        status = int(error.status_code)
        message = self.clean(f"HTTP {status}: {error.message}")
        if status in (408, 409, 429) or status >= 500:
            wait = retry_after(error.response.headers) or 0.0
            return Failure("exhausted", message, status), wait
        if status in (401, 403):
            return Failure("unauthorised", message, status), None
        code = str(getattr(error, "code", None) or "")
        if "content" in code and "filter" in code:
            return Failure("content_filter", message, status), None
        return Failure("refused", message, status), None

    def clean(self, message: str) -> str:
        """One line without a trace of the key, wherever a server may have echoed it."""
        return self._secrets.message(message)

    def _redacted(self, result: T | Failure) -> T | Failure:
        """What was read, without the key: it is kept and shown from here on."""
        if isinstance(result, Failure):
            return replace(result, message=self.clean(result.message))
        if not isinstance(result, LlmReply):
            return result
        hide, reason, logprobs = self._secrets.text, result.finish_reason, result.logprobs
        if logprobs is not None:
            tokens = "".join(token.token for token in logprobs)
            # The tokens of a reply that holds the key would hold its pieces.
            logprobs = logprobs if hide(tokens) == tokens else None
        return replace(
            result,
            text=hide(result.text),
            model=hide(result.model),
            logprobs=logprobs,
            finish_reason=None if reason is None else hide(reason),
        )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: Retry-After as seconds or as an HTTP date (RFC 9110).

    A date is read against the server's own Date, so that a wrong clock here does no harm.
    """
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return min(max(0.0, float(value)), _LONGEST_WAIT)
    except ValueError:
        pass
    until = _date(value)
    if until is None:
        return None
    now = _date(headers.get("date", "")) or datetime.now(UTC)
    return min(max(0.0, (until - now).total_seconds()), _LONGEST_WAIT)


def _date(text: str) -> datetime | None:
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None  # no date of this calendar
    return date if date.tzinfo else date.replace(tzinfo=UTC)


class RateGate:
    """Lets requests through one after another at a rate; a 429 closes it for a while.

    In no span of time more pass than its length times the rate, and one.
    """

    def __init__(
        self, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        self._request_seconds = 60 / (requests_per_minute or math.inf)
        self._token_seconds = 60 / (tokens_per_minute or math.inf)
        self._turn = asyncio.Lock()
        self._open_from = 0.0

    async def wait(self, tokens: int) -> None:
        """Wait for a turn.

        Args:
            tokens: estimate of what the request costs of the token rate.
        """
        clock = asyncio.get_running_loop().time
        async with self._turn:
            while (seconds := self._open_from - clock()) > 0:
                await asyncio.sleep(seconds)
            self._open_from = clock() + max(self._request_seconds, tokens * self._token_seconds)

    def close(self, seconds: float) -> None:
        """Let nothing through for so long."""
        until = asyncio.get_running_loop().time() + seconds
        self._open_from = max(self._open_from, until)
