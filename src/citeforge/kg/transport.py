"""HTTP requests with a deadline and a limit of bytes for the whole reply; no redirects."""

import asyncio
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request

from citeforge.engines.event_loop import run_async
from citeforge.schemas.errors import InputError, without_credentials
from citeforge.schemas.text import printable

MAX_BYTES = 1 << 28
"""Most bytes of a reply; a batch of sub-graphs has some 100 KB."""
_REFUSAL_BYTES = 2000
"""Bytes of a refusal that are read for its first line."""


class ReplySizeError(OSError):
    """A reply has more bytes than allowed."""


@dataclass
class HttpReply:
    """Reply of a server: status, headers and body.

    Attributes:
        status: HTTP status.
        headers: headers; names in any case.
        body: the whole body of a success; the beginning of any other one.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300


def require_address(url: str) -> None:
    """Refuse a text that is not a URL, or that has a user name or a password.

    Raises:
        InputError: refused; the message repeats no secret.
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
            "contains a user name or a password, which would go into manifests and messages",
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
    """Send a request and read the reply, within the limits of seconds and bytes.

    Raises:
        InputError: the server redirects.
        OSError: the connection failed; TimeoutError or ReplySizeError beyond a limit.
    """
    import httpx2

    try:
        return run_async(_send(request, seconds))
    except TimeoutError as error:
        raise TimeoutError("timed out") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ConnectionError(printable(str(error)) or type(error).__name__) from error


async def _send(request: Request, seconds: float) -> HttpReply:
    """Send a request with httpx2 and read the reply; see :func:`send_request`."""
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
    """Raise an InputError if a reply redirects, before the HTTP library raises its own error."""
    if response.has_redirect_location:
        raise InputError(
            f"redirects to another place, {printable(response.headers['location'])}",
            path=response.request.url,
            allowed="an address that answers itself; give the other one if you trust it",
            code="endpoint-refused",
        )


async def _read(response: Any) -> HttpReply:
    """Read the body of an HTTP reply; an error reply is cut at the limits of bytes and seconds."""
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
    """Make the default settings of TLS connections, once per process."""
    return ssl.create_default_context()
