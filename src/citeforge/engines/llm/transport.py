"""HTTP client of the OpenAI SDK: one rate for all tries, and replies of bounded size.

The SDK tries again after 408, 409, 429, 5xx and broken connections, and waits as Retry-After says.
The header ``x-should-retry`` tells it otherwise.
"""

import asyncio
import math
from functools import cache
from typing import Any

import httpx2
import msgspec
from openai import DefaultAsyncHttpxClient

from citeforge.engines.io.http import UnreadableBodyError, retry_after, unpack_body
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.reading import is_unpaid, read_error, retry_delay, status_of_body

MOST_BYTES = 32 << 20
"""More than any chat, completion or batch of embeddings that is asked for here."""
NO_REPLY = 599
"""Status that stands for a reply that never came whole, and will not by asking again."""
_CHARACTERS_PER_TOKEN = 4
_TRIES_OF_A_NEW_ADDRESS = 3


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
            tokens: estimated prompt tokens of the request.
        """
        clock = asyncio.get_running_loop().time
        async with self._turn:
            while (seconds := self._open_from - clock()) > 0:
                await asyncio.sleep(seconds)
            self._open_from = clock() + max(self._request_seconds, tokens * self._token_seconds)

    def close(self, seconds: float) -> None:
        """Let no request through for so many seconds."""
        until = asyncio.get_running_loop().time() + seconds
        self._open_from = max(self._open_from, until)


class EndpointClient(DefaultAsyncHttpxClient):
    """Sends every try at the rate, and reads its reply whole."""

    def __init__(self, options: ClientOptions, **settings: Any) -> None:
        headers = {"Accept-Encoding": "identity"}
        super().__init__(
            timeout=options.timeout, headers=headers, verify=_certificates(), **settings
        )
        self._options = options
        self._gate = RateGate(options.requests_per_minute, options.tokens_per_minute)
        self._was_reached = False

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """Send one try; see the SDK's client."""
        await self._gate.wait(len(request.content) // _CHARACTERS_PER_TOKEN)
        n_tries = 1 + int(request.headers.get("x-stainless-retry-count", 0))
        try:
            async with asyncio.timeout(self._options.deadline):
                reply = await super().send(request, **{**how, "stream": True})
                self._was_reached = True
                try:
                    body = await _read_body(reply)
                finally:
                    await reply.aclose()
        except TimeoutError:  # it spoke all the while: another try would drip as long
            seconds = self._options.deadline
            return _no_reply(request, f"the reply was not finished within {seconds:g} s")
        except UnreadableBodyError as error:
            return _no_reply(request, str(error))
        except httpx2.ConnectError as error:
            if self._was_reached or n_tries < _TRIES_OF_A_NEW_ADDRESS:
                raise
            message = f"no connection to {self._options.endpoint}: {error}"
            return _no_reply(request, message)
        return self._checked(request, reply, body)

    def _checked(
        self, request: httpx2.Request, reply: httpx2.Response, body: bytes
    ) -> httpx2.Response:
        """The reply with the status that its body tells, and whether to try again."""
        packed = ("content-encoding", "content-length", "transfer-encoding")
        headers = {k: v for k, v in reply.headers.items() if k not in packed}
        status = status_of_body(body) if reply.status_code == 200 else reply.status_code
        if status >= 400:
            error = read_error(status, body)
            if reply.status_code == 200:
                words = {"message": f"HTTP 200 with an error: {error.message}", "code": error.code}
                body = msgspec.json.encode({"error": words})
            asked = retry_after(headers)
            seconds = retry_delay(body) if asked is None else asked
            if is_unpaid(error, bool(seconds)):
                headers["x-should-retry"] = "false"
            elif status == 429 and seconds:
                self._gate.close(seconds)
                headers["retry-after"] = str(seconds)
        return httpx2.Response(status, headers=headers, content=body, request=request)


@cache
def _certificates() -> Any:
    """Certificates of authorities; reading them takes longer than a call."""
    return httpx2.create_ssl_context()


async def _read_body(reply: httpx2.Response) -> bytes:
    body = bytearray()
    async for part in reply.aiter_raw():
        body += part
        if len(body) > MOST_BYTES:
            break
    encoding = "" if len(body) > MOST_BYTES else reply.headers.get("content-encoding", "")
    return unpack_body(bytes(body), encoding, MOST_BYTES)


def _no_reply(request: httpx2.Request, message: str) -> httpx2.Response:
    content = msgspec.json.encode({"error": {"message": message}})
    return httpx2.Response(
        NO_REPLY, headers={"x-should-retry": "false"}, content=content, request=request
    )
