"""A request over HTTP that ends: a deadline and a bound of bytes for the whole, no redirects."""

import asyncio
import re
import ssl
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request

from citeforge.schemas.errors import InputError, without_credentials
from citeforge.schemas.text import printable

MAX_BYTES = 1 << 28
"""Of everything that a server sends to one request; a batch of sub-graphs has some 100 KB."""
_REFUSAL_BYTES = 2000
"""Of a refusal that are read for its first line."""


class ReplySizeError(OSError):
    """A server sends more bytes than a reply may have."""


@dataclass
class HttpReply:
    """Reply of a server: status, headers and body.

    Attributes:
        status: of HTTP.
        headers: names in any case.
        body: all of a success; the beginning of anything else.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


def require_address(url: str) -> None:
    """Refuse a text that is not a URL, or that has a user name or a password.

    Raises:
        InputError: it is; the message repeats no secret.
    """
    example = "such as https://query.wikidata.org/sparql"
    has_user = is_web = False
    try:
        parts = urlsplit(url)
        has_user = "@" in parts.netloc
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")
    except ValueError:
        is_web = False
    if has_user:
        raise InputError(
            "holds a user name or a password, which would go into manifests and messages",
            path=without_credentials(url),
            allowed=f"an address without them, {example}",
            code="bad-option",
        )
    if not is_web or not re.fullmatch("[!-~]+", url):
        text = printable(without_credentials(url))
        raise InputError(
            f"{text} is not an address",
            field="--kg",
            allowed=f"one in ASCII, {example}",
            code="bad-option",
        )


def send_request(request: Request, seconds: float) -> HttpReply:
    """Send a request, and read the reply within the bounds.

    Raises:
        InputError: it redirects.
        OSError: the connection failed; TimeoutError or ReplySizeError where a bound is passed.
    """
    import httpx2

    try:
        return _run(_send(request, seconds))
    except TimeoutError as error:
        raise TimeoutError("timed out") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ConnectionError(printable(str(error)) or type(error).__name__) from error


def _run(reply: Coroutine[Any, Any, HttpReply]) -> HttpReply:
    """Wait for a reply, also where the caller is inside an event loop (notebooks)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(reply)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, reply).result()


async def _send(request: Request, seconds: float) -> HttpReply:
    import httpx2

    headers = {**request.headers, "Accept-Encoding": "identity"}
    hooks = {"response": [_refuse_redirect]}
    content: Any = request.data
    async with (
        asyncio.timeout(seconds),
        httpx2.AsyncClient(timeout=None, verify=_tls(), event_hooks=hooks) as client,
        client.stream(
            request.get_method(), request.full_url, content=content, headers=headers
        ) as response,
    ):
        return await _read(response)


async def _refuse_redirect(response: Any) -> None:
    """Stop at a redirect before the HTTP library fails on it with an error of its own."""
    if response.has_redirect_location:
        raise InputError(
            f"redirects to another place, {printable(response.headers['location'])}",
            path=response.request.url,
            allowed="an address that answers itself; give the other one if you trust it",
            code="endpoint-refused",
        )


async def _read(response: Any) -> HttpReply:
    """Read the body of a reply; of an error reply, what has arrived in time."""
    reply = HttpReply(response.status_code, response.headers, b"")
    most = MAX_BYTES if reply.is_success else _REFUSAL_BYTES
    body = bytearray()
    try:
        async for part in response.aiter_raw():
            body += part
            if len(body) > most:
                if reply.is_success:
                    raise ReplySizeError(f"the reply is longer than {most:,} bytes")
                break
    except asyncio.CancelledError:
        if reply.is_success:
            raise
    reply.body = bytes(body)
    return reply


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
