"""A request over HTTP that ends: a deadline and a bound of bytes for the whole, on one host."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable
from functools import partial
from http.client import HTTPConnection, HTTPMessage, HTTPResponse, HTTPSConnection
from typing import IO, Any
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import (
    BaseHandler,
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from citeforge.schemas.errors import InputError, without_credentials
from citeforge.schemas.text import printable

MAX_BYTES = 1 << 28
"""Of everything that a server sends to one request; a batch of sub-graphs has some 100 KB."""
MAX_REDIRECTS = 5
_PORTS = {"http": 80, "https": 443}


class ReplySizeError(OSError):
    """A server sends more bytes than a reply may have."""


class _Bounds:
    """Seconds and bytes that are left to a request, its redirects among them."""

    def __init__(self, seconds: float, size: int) -> None:
        self._end, self._size = time.monotonic() + seconds, size
        self._left = size

    def seconds(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left

    def spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ReplySizeError(f"the reply is longer than {self._size:,} bytes")


class _BoundedReader(io.RawIOBase):
    """What a server sends: status, headers and body; every wait for it has what is left."""

    def __init__(self, raw: io.RawIOBase, sock: Any, bounds: _Bounds) -> None:
        self._raw, self._sock, self._bounds = raw, sock, bounds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._bounds.seconds())
        size = self._raw.readinto(buffer)
        self._bounds.spend(size or 0)
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    def __init__(self, sock: Any, *args: Any, bounds: _Bounds, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        reader: Any = self.fp
        self.fp = io.BufferedReader(_BoundedReader(reader.detach(), sock, bounds))


def _connection(kind: type[HTTPConnection], bounds: _Bounds) -> Callable[..., HTTPConnection]:
    def make(host: str, **options: Any) -> HTTPConnection:
        connection: Any = kind(host, **{**options, "timeout": bounds.seconds()})
        connection.response_class = partial(_Response, bounds=bounds)
        return connection  # type: ignore[no-any-return]

    return make


class _Http(HTTPHandler):
    def __init__(self, bounds: _Bounds) -> None:
        super().__init__()
        self._bounds = bounds

    def http_open(self, req: Request) -> HTTPResponse:
        maker: Any = _connection(HTTPConnection, self._bounds)
        return self.do_open(maker, req)


class _Https(HTTPSHandler):
    def __init__(self, bounds: _Bounds) -> None:
        super().__init__()
        self._bounds = bounds

    def https_open(self, req: Request) -> HTTPResponse:
        maker: Any = _connection(HTTPSConnection, self._bounds)
        return self.do_open(maker, req)


class _Redirects(BaseHandler):
    """Followed within the scheme, host and port of the address alone; the query goes along."""

    def __init__(self, url: str) -> None:
        self._url, self._count = url, 0

    def http_error_302(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage
    ) -> Any:
        place = headers.get("location")
        if place is None:
            return None  # an error like any other
        fp.close()
        target = _joined(req.full_url, place)
        if target is None or _origin(target) != _origin(self._url):
            raise InputError(
                f"redirects to another place, {printable(place)}", path=self._url,
                allowed="an address that answers itself; give the other one if you trust it",
            )  # fmt: skip
        self._count += 1
        if self._count > MAX_REDIRECTS:
            raise InputError(
                f"redirects more than {MAX_REDIRECTS} times, perhaps in a circle", path=self._url,
                allowed="an address that answers itself",
            )  # fmt: skip
        data = None if code == 303 else req.data
        return self.parent.open(Request(target, data, req.headers))

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _joined(url: str, place: str) -> str | None:
    try:
        joined = urljoin(url, quote(place, encoding="iso-8859-1", safe="!#$%&'()*+,/:;=?@[]~"))
        return joined if _origin(joined) else None
    except ValueError:
        return None


def _origin(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port; None where it names a user, or is no address of the Web."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname or "@" in parts.netloc:
        return None
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]


def require_address(url: str) -> None:
    """Refuse an address that is none, or that holds a user name or a password.

    Raises:
        InputError: it is; the message repeats no secret.
    """
    example = "such as https://query.wikidata.org/sparql"
    try:
        origin, user = _origin(url), "@" in urlsplit(url).netloc
        if origin is not None:
            origin[1].encode("idna")
    except ValueError:
        origin, user = None, False
    if user:
        raise InputError(
            "holds a user name or a password, which would go into manifests and messages",
            path=without_credentials(url), allowed=f"an address without them, {example}",
        )  # fmt: skip
    if origin is None or not re.fullmatch("[!-~]+", url):
        shown = printable(without_credentials(url))
        raise InputError(f"{shown} is no address", field="--kg", allowed=f"one in ASCII, {example}")


def send(request: Request, seconds: float) -> HTTPResponse:
    """Send a request; what is read of the response, too, is within the bounds.

    Raises:
        HTTPError: a status that is no success; its body is within the bounds.
        InputError: it redirects to another host, or without end.
        HTTPException, OSError: the connection failed; TimeoutError or ReplySizeError where a
            bound is passed.
    """
    bounds = _Bounds(seconds, MAX_BYTES)
    opener = OpenerDirector()
    for handler in (
        ProxyHandler(), _Http(bounds), _Https(bounds), _Redirects(request.full_url),
        HTTPDefaultErrorHandler(), HTTPErrorProcessor(),
    ):  # fmt: skip
        opener.add_handler(handler)
    response: HTTPResponse = opener.open(request)
    return response
