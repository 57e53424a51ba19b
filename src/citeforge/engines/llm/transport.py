"""HTTP client of the OpenAI SDK: one rate for all tries, and replies of bounded size.

The SDK tries again after 408, 409, 429, 5xx and broken connections, and waits as Retry-After says.
The header ``x-should-retry`` tells it otherwise.
"""

import asyncio
import math
import os
from contextlib import aclosing
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from citeforge.engines.io.http import retry_after
from citeforge.engines.llm.adapting import is_lasting
from citeforge.engines.llm.options import KEY_VARIABLE, URL_VARIABLE, ClientOptions
from citeforge.engines.llm.reading import (
    NO_REPLY,
    is_unpaid,
    read_error,
    retry_delay,
    status_of_body,
)
from citeforge.schemas.errors import InputError

MOST_BYTES = 32 << 20
"""More than any chat, completion or batch of embeddings that is asked for here."""
_CHARACTERS_PER_TOKEN = 4
_TRIES_OF_A_NEW_ADDRESS = 3
_LONGEST_PAUSE = 120.0
"""Seconds; the SDK gives a call up where Retry-After is longer."""


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
        super().__init__(timeout=options.timeout, verify=_tls_context(), **settings)
        self._options = options
        self._gate = RateGate(options.requests_per_minute, options.tokens_per_minute)
        self._was_reached = False

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """Send one try; see the SDK's client."""
        size = int(request.headers.get("content-length", 0))
        await self._gate.wait(size // _CHARACTERS_PER_TOKEN)
        if how.get("stream"):  # files of batches: whoever reads them bounds them
            return await super().send(request, **how)
        n_tries = 1 + int(request.headers.get("x-stainless-retry-count", 0))
        try:
            async with asyncio.timeout(self._options.deadline):
                reply = await super().send(request, **{**how, "stream": True})
                self._was_reached = True
                return self._checked(request, reply, await _read_body(reply))
        except TimeoutError:  # it spoke all the while: another try would drip as long
            message = f"the reply was not finished within {self._options.deadline:g} s"
        except httpx2.DecodingError as error:
            message = f"the reply cannot be read: {error}"
        except httpx2.ConnectError as error:
            if self._was_reached or n_tries < _TRIES_OF_A_NEW_ADDRESS:
                raise
            message = f"no connection to {self._options.endpoint}: {error}"
        content = msgspec.json.encode({"error": {"message": message}})
        headers = {"x-should-retry": "false"}
        return httpx2.Response(NO_REPLY, headers=headers, content=content, request=request)

    def _checked(
        self, request: httpx2.Request, reply: httpx2.Response, body: bytes
    ) -> httpx2.Response:
        """The reply with the status that its body tells, and whether to try again."""
        packed = ("content-encoding", "content-length", "transfer-encoding")
        headers = {k: v for k, v in reply.headers.items() if k not in packed}
        status = status_of_body(body) if reply.status_code == 200 else reply.status_code
        if status >= 400:
            error = read_error(status, body)
            if status == 500 and is_lasting(_json_body(request), error):
                status = 400
            if reply.status_code != status:
                told = f"{error.message} (sent as HTTP {reply.status_code})"
                words = {"message": told, "code": error.code, "param": error.param}
                body = msgspec.json.encode({"error": words})
            asked = retry_after(headers)
            seconds = retry_delay(body) if asked is None else asked
            if is_unpaid(error, bool(seconds)):
                headers["x-should-retry"] = "false"
            elif status == 429 and seconds:
                headers["retry-after"] = str(seconds)
                if seconds <= _LONGEST_PAUSE:
                    self._gate.close(seconds)
        return httpx2.Response(status, headers=headers, content=body, request=request)


async def _read_body(reply: httpx2.Response) -> bytes:
    """The body of a reply, unpacked by httpx as it comes.

    Raises:
        httpx2.DecodingError: it is too long, or compressed in a way that was not offered.
    """
    body = bytearray()
    async with aclosing(reply):
        packing = reply.headers.get("content-encoding", "identity").lower()
        if packing not in f"identity, {reply.request.headers.get('accept-encoding')}".split(", "):
            raise httpx2.DecodingError(
                f"it is compressed by {packing[:20]}, which was not asked for; "
                "switch compression off in the server or in the proxy before it"
            )
        async for part in reply.aiter_bytes():
            body += part
            if len(body) > MOST_BYTES:
                raise httpx2.DecodingError(f"it is longer than {MOST_BYTES >> 20} MiB")
    return bytes(body)


@cache
def _tls_context() -> Any:
    """Load the certificate authorities once: it takes longer than a call."""
    return httpx2.create_ssl_context()


def _json_body(request: httpx2.Request) -> dict[str, Any]:
    """Decode a request's JSON body; empty for requests of other kinds."""
    is_json = request.method == "POST" and "json" in request.headers.get("content-type", "")
    return msgspec.json.decode(request.content, type=dict[str, Any]) if is_json else {}


def make_client(options: ClientOptions) -> Any:
    """Make an ``AsyncOpenAI`` whose key comes from the environment.

    Raises:
        InputError: no key for OpenAI's own endpoint, or no key or address at all.
    """
    url = options.base_url or os.environ.get(URL_VARIABLE)
    key = (os.environ.get(KEY_VARIABLE) or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(
            "is not a key: it contains characters that no key has",
            path=KEY_VARIABLE,
            allowed="set it to the key alone",
            code="wrong-value",
        )
    if not key and not url:
        raise InputError(
            f"{KEY_VARIABLE} is not set",
            allowed="set it, or name a local endpoint with --base-url; `citeforge doctor` lists "
            "what needs neither",
            code="missing-key",
        )
    if url and not _is_http(url):
        raise InputError(  # without the URL, which may hold a password or a key
            "is not an http(s) URL of an endpoint",
            path="--base-url" if options.base_url else URL_VARIABLE,
            allowed="e.g. http://localhost:8000/v1",
            code="bad-option",
        )
    return AsyncOpenAI(
        api_key=key or "none",
        base_url=url,
        max_retries=options.max_retries,
        timeout=options.timeout,
        http_client=EndpointClient(options),
    )


def _is_http(url: str) -> bool:
    """Whether a text is a URL of HTTP with a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
