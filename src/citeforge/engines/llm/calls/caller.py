"""One call to an endpoint, tried until it is settled."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from citeforge.engines.llm.calls.bounds import UnboundedReplyError
from citeforge.engines.llm.calls.rate import RateGate, retry_after
from citeforge.engines.llm.calls.secrets import Redactor
from citeforge.engines.llm.options import KEY_VARIABLE, ClientOptions
from citeforge.engines.llm.records import Failure, LlmReply

T = TypeVar("T")


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
