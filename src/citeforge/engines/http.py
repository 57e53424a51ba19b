"""HTTP requests with a deadline, a limit of bytes and no redirects; proxies; Retry-After."""

import asyncio
import email.utils
import io
import os
import re
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.message import Message
from functools import cache
from importlib.util import find_spec
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, getproxies_environment, proxy_bypass
from urllib.response import addinfourl

from citeforge.engines.event_loop import run_async
from citeforge.engines.keys import mask_address, mask_keys
from citeforge.schemas.errors import InputError
from citeforge.schemas.text import printable

MAX_BYTES = 1 << 28
"""Most bytes of a reply; a batch of sub-graphs has some 100 KB."""
NO_REDIRECT = "an address that answers itself; give the other one if you trust it"
_REFUSAL_BYTES = 2000
"""Bytes of an error reply that are read for its first line."""
_LONGEST_WAIT = 366 * 86400.0
"""Seconds; a server that names more (1e308) means no more by it."""
_PROXIES = ("http", "https", "all")
"""Kinds of proxies that httpx2 reads from the environment, as http_proxy and HTTP_PROXY."""


SERVER_FAULTS = (500, 501, 502, 504)
"""Statuses of a server at fault. 503 and 529 say that it will be ready later: a model may load."""
PATIENCE = 5.0
"""Seconds of such replies alone after which a new server is given up, at its next reply."""
_TRIES_OF_A_NEW_ADDRESS = 3
"""Connections that may fail before a server that was never reached is given up."""
CONNECT_SECONDS = 15.0
"""Seconds for a connection; TCP tries four times in them."""


class ServerPatience:
    """Decides when a server is given up that cannot be reached, or sends only its own faults.

    One that has answered before is asked as often as the limit of tries says: it may restart.
    """

    def __init__(self, has_answered: bool = False) -> None:
        """Set whether the server has answered before; if so, its faults do not end the work."""
        self._has_answered = self._was_reached = has_answered
        self._was_given_up = False
        self._faulty_since: float | None = None

    def record_reply(self) -> None:
        """Record that the server has replied; from then on broken connections are tried again."""
        self._was_reached = True

    def record_answer(self) -> None:
        """Record that the server has answered; from then on its faults do not end the work."""
        self._has_answered = self._was_reached = True

    def is_unreachable(self, n_tries: int, most_tries: int) -> bool:
        """Whether a server is given up after so many connections that failed in a row.

        From then on a single one is enough, of any request, until the server replies.

        Args:
            n_tries: tries of one request, all without a connection.
            most_tries: largest number of tries that the user allows.
        """
        self._was_given_up |= n_tries >= min(_TRIES_OF_A_NEW_ADDRESS, most_tries)
        return self._was_given_up and not self._was_reached

    def record_fault(self) -> bool:
        """Record a fault of the server; return whether it has had only faults for 5 s."""
        now = time.monotonic()
        if self._faulty_since is None:
            self._faulty_since = now
        return not self._has_answered and now - self._faulty_since >= PATIENCE


class ReplySizeError(OSError):
    """A reply has more bytes than allowed."""


class NoConnectionError(ConnectionError):
    """No connection was made: an unknown host, an address where nothing listens, no common TLS."""


def public_url(url: str) -> str:
    """Remove user, password, query and fragment from a URL."""
    scheme, there, rest = url.partition("://")
    address = re.split(r"[?#]", rest, maxsplit=1)[0]
    if "@" in rest and "@" not in address:
        return "the endpoint"  # a password with such a mark, or a query with an address
    return f"{scheme}{there}{address.rpartition('@')[2]}"


def first_line(text: bytes) -> str:
    """Format the first line of a server's text as ``: LINE``, keys masked; empty without text."""
    lines = mask_keys(text.decode("utf-8", "replace")).splitlines()
    return next((f": {printable(line)}" for line in lines if line.strip()), "")


def retry_after(headers: Mapping[str, str] | Message) -> float | None:
    """Read how many seconds a server asks to wait (Retry-After, RFC 9110); None if it names none.

    A date is read against the server's own Date, so that a wrong clock here does no harm.
    """
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return min(max(0.0, float(value)), _LONGEST_WAIT)
    except ValueError:
        pass
    until = _read_date(value)
    if until is None:
        return None
    now = _read_date(headers.get("date", "")) or datetime.now(UTC)
    return min(max(0.0, (until - now).total_seconds()), _LONGEST_WAIT)


def _read_date(text: str) -> datetime | None:
    """Parse an HTTP date, in UTC if it names no zone; None for a text that is no date."""
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None  # no date of this calendar
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def uses_proxies(url: str) -> bool:
    """Whether a client of ``url`` may use the environment's proxies; raise if one is unusable.

    Args:
        url: address that the client is for.

    Returns:
        The client's ``trust_env``: False if a proxy cannot be used, but NO_PROXY says that the
        server is reached without it.

    Raises:
        InputError: httpx2 cannot use a proxy; the message names the variable.
    """
    proxies = getproxies_environment()
    for scheme in filter(proxies.get, _PROXIES):
        address = proxies[scheme] if "://" in proxies[scheme] else f"http://{proxies[scheme]}"
        remedy = _find_proxy_remedy(address)
        if not remedy:
            continue
        netloc = urlsplit(url).netloc.rpartition("@")[2]
        host = urlsplit(url).hostname or ""
        if any(proxy_bypass(name, proxies) for name in (netloc, host)):
            return False
        # Of http_proxy and HTTP_PROXY, the first is the one that counts.
        names = sorted((n for n in os.environ if n.lower() == f"{scheme}_proxy"), reverse=True)
        raise InputError(
            f"names the proxy {printable(mask_address(address))}, which cannot be used",
            path=names[0],
            allowed=f"{remedy}; or set NO_PROXY={host} to reach {host} without a proxy",
            code="bad-option",
        )
    return True


def _find_proxy_remedy(address: str) -> str:
    """Describe what would make a proxy usable for httpx2; empty if it is usable already."""
    import httpx2

    scheme = address.partition("://")[0].lower()
    if scheme in ("socks5", "socks5h") and find_spec("socksio") is None:
        return "SOCKS needs the module socksio: pip install 'httpx2[socks]'"
    try:
        return "" if httpx2.Proxy(address).url.host else "write its host, as in http://HOST:PORT"
    except (ValueError, httpx2.InvalidURL):
        return "write http://HOST:PORT, https://HOST:PORT or (SOCKS) socks5://HOST:PORT"


def send_request(request: Request, seconds: float) -> addinfourl:
    """Send a request and read the whole reply, within the limits of seconds and bytes.

    Raises:
        InputError: the server redirects, or the environment names an unusable proxy.
        HTTPError: the status is not 2xx; of the body the beginning is read.
        OSError: the connection broke; NoConnectionError if there was none, TimeoutError or
            ReplySizeError beyond a limit.
    """
    import httpx2

    try:
        return run_async(_send(request, seconds))
    except TimeoutError as error:
        raise TimeoutError("timed out") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        has_none = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
        kind = NoConnectionError if has_none else ConnectionError
        raise kind(printable(mask_keys(str(error))) or type(error).__name__) from error


async def _send(request: Request, seconds: float) -> addinfourl:
    """Send a request with httpx2 and read the reply; see :func:`send_request`."""
    import httpx2

    url = request.full_url
    headers = {**request.headers, "Accept-Encoding": "identity"}
    hooks = {"response": [_refuse_redirect]}
    content: Any = request.data
    async with (
        asyncio.timeout(seconds),
        httpx2.AsyncClient(
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            verify=_tls(),
            event_hooks=hooks,
            trust_env=uses_proxies(url),
        ) as client,
        client.stream(request.get_method(), url, content=content, headers=headers) as response,
    ):
        received = Message()
        for name, value in response.headers.multi_items():
            received[name] = value
        body = io.BytesIO(await _read_body(response))
    if response.is_success:
        return addinfourl(body, received, url, response.status_code)
    raise HTTPError(url, response.status_code, response.reason_phrase, received, body)


async def _refuse_redirect(response: Any) -> None:
    """Raise an InputError if a reply redirects, before the HTTP library raises its own error.

    Args:
        response: reply of httpx2.
    """
    if response.has_redirect_location:
        raise InputError(
            f"redirects to {redirect_target(response)}, where nothing was sent",
            path=public_url(str(response.request.url)),
            allowed=NO_REDIRECT,
            code="endpoint-refused",
        )


def redirect_target(response: Any) -> str:
    """Write the address that a reply redirects to, with its host, without user and query.

    Args:
        response: reply of httpx2 with a header ``location``.
    """
    import httpx2

    location = response.headers["location"]
    with suppress(httpx2.InvalidURL, ValueError):  # else it is shown as the server wrote it
        location = str(response.request.url.join(location))
    return printable(mask_keys(public_url(location)))


async def _read_body(response: Any) -> bytes:
    """Read the body of a reply; that of an error is cut at the limits of bytes and seconds.

    Args:
        response: reply of httpx2 whose body is not read yet.

    Raises:
        InputError: it is compressed.
    """
    packing = response.headers.get("content-encoding", "identity").lower()
    if response.is_success and packing != "identity":
        raise InputError(
            f"answered in {printable(mask_keys(packing))}, which was not asked for",
            path=public_url(str(response.request.url)),
            allowed="an address without compression; switch it off in the server or in the proxy "
            "before it",
            code="bad-reply",
        )
    most = MAX_BYTES if response.is_success else _REFUSAL_BYTES
    body = bytearray()
    try:
        async for part in response.aiter_raw():
            body += part
            if len(body) > most:
                if response.is_success:
                    raise ReplySizeError(f"the reply is longer than {most:,} bytes")
                break
    except asyncio.CancelledError:
        if response.is_success:
            raise
    return bytes(body)


@cache
def _tls() -> ssl.SSLContext:
    """Load the default TLS settings (certificates), once per process."""
    return ssl.create_default_context()
