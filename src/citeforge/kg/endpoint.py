"""Client of SPARQL 1.1 endpoints: within their limits, with a store of replies."""

import hashlib
import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import msgspec

from citeforge.engines.http import ReplySizeError, first_line, retry_after
from citeforge.engines.keys import mask_address, mask_keys
from citeforge.engines.sqlite import Store
from citeforge.kg.values import Row, list_variables
from citeforge.schemas.errors import InputError
from citeforge.schemas.text import printable
from citeforge.schemas.version import __version__


@dataclass(frozen=True)
class EndpointOptions:
    """Options of requests to an endpoint: timeout, retries and the server's limits.

    Attributes:
        timeout: seconds before a query counts as timed out.
        attempts: how often a throttled or broken query is sent.
        longest_wait: longest ``Retry-After`` that is waited for.
        pause: first pause after a broken connection; doubled each time.
        seconds: query seconds that the server allows within a window of time.
        errors: replies within a window that may be errors.
        window: length of the window in seconds.
    """

    timeout: float = 60.0
    attempts: int = 5
    longest_wait: float = 300.0
    pause: float = 1.0
    seconds: float = 60.0
    errors: int = 30
    window: float = 60.0


@dataclass(frozen=True, slots=True)
class _PastQuery:
    """A query that was sent: its end, its seconds, whether it failed."""

    end: float
    seconds: float
    failed: bool


class QueryBudget:
    """Records the seconds and errors of past queries, and waits until another one is allowed.

    A query is charged from the moment it is sent until its reply is read, which is never less than
    what the server counts. The next one is allowed when even a query 1.5 times as long as the
    longest so far would stay within the limit; its timeout is the rest of the limit.
    """

    def __init__(self, limits: EndpointOptions) -> None:
        """Start with no past queries, so that the whole time limit is available."""
        self.limits = limits
        self._queries: list[_PastQuery] = []
        self._longest = limits.seconds / 8
        self.waited = 0.0

    def wait(self) -> float:
        """Wait until the server's limits allow another query; return the seconds it may take."""
        while True:
            now = time.monotonic()
            # A query that ended within the window may have begun before it: it stays whole.
            self._queries = [q for q in self._queries if q.end > now - self.limits.window]
            failed = [q for q in self._queries if q.failed]
            left = self.limits.seconds - sum(q.seconds for q in self._queries)
            fits = min(1.5 * self._longest, self.limits.seconds) <= left
            if fits and len(failed) < self.limits.errors - 1:
                return left
            first = (failed if fits else self._queries)[0]
            pause = max(0.01, first.end + self.limits.window - now)
            self.waited += pause
            time.sleep(pause)

    def settle(self, start: float, failed: bool) -> None:
        """Record the duration of a query that was sent at ``start`` and has just ended."""
        now = time.monotonic()
        self._queries.append(_PastQuery(now, now - start, failed))
        self._longest = max(self._longest * 0.9, now - start)


def reply_key(endpoint: str, query: str) -> str:
    """Compute the key of a stored reply: sha256 of endpoint and query."""
    return hashlib.sha256(f"{endpoint}\n{query}".encode()).hexdigest()


class ReplyStore(Store):
    """SQLite store of endpoint replies by query; a killed run loses no reply."""

    APPLICATION = 0x63666B67  # "cfkg"
    SCHEMA = """CREATE TABLE replies (
        key TEXT PRIMARY KEY, endpoint TEXT NOT NULL, query TEXT NOT NULL,
        body BLOB NOT NULL, fetched REAL NOT NULL
    ) WITHOUT ROWID"""

    def get(self, endpoint: str, query: str) -> bytes | None:
        """Get the stored reply to a query; None if there is none."""
        key = reply_key(endpoint, query)
        rows = self.rows("SELECT body FROM replies WHERE key = ?", key)
        return bytes(rows[0][0]) if rows else None

    def put(self, endpoint: str, query: str, body: bytes) -> None:
        """Store the reply to a query."""
        values = (reply_key(endpoint, query), endpoint, query, body, time.time())
        self.rows("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?)", *values)

    def endpoints(self) -> list[str]:
        """List the endpoints with stored replies."""
        return [e for (e,) in self.rows("SELECT DISTINCT endpoint FROM replies ORDER BY 1")]


class TruncatedError(ValueError):
    """A reply of status 200 was cut off or has another format."""


class _Results(msgspec.Struct, gc=False):
    """``results`` of a reply."""

    bindings: list[Row]


class _Head(msgspec.Struct, gc=False):
    """``head`` of a reply: names of its variables."""

    vars: list[str]


class _Reply(msgspec.Struct, gc=False):
    """A reply in SPARQL 1.1 Query Results JSON Format."""

    head: _Head
    results: _Results


_DECODER = msgspec.json.Decoder(_Reply)


def parse_rows(body: bytes, variables: Iterable[str]) -> list[Row]:
    """Parse a reply in SPARQL 1.1 Query Results JSON Format into rows.

    Raises:
        TruncatedError: not whole, not that format, or without the variables of the query (Wikidata
            cuts long queries off in the middle of a reply whose status is 200).
    """
    try:
        reply = _DECODER.decode(body)
    # Text that is no UTF-8, and nesting without end, have errors of their own.
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise TruncatedError(f"the reply is not whole ({len(body):,} bytes; {error})") from error
    absent = set(variables).difference(reply.head.vars)
    if absent:
        raise TruncatedError(f"the reply is not of this query: it has no ?{min(absent)}")
    return reply.results.bindings


CONTACT_VARIABLE = "CITEFORGE_CONTACT"
_UNREADABLE_WAIT = 5.0  # seconds, where Retry-After is neither a number nor a date


class TooLongError(Exception):
    """The query timed out or its reply was cut; a smaller one may pass."""


def require_address(url: str) -> None:
    """Refuse a text that is not a URL, or that has a user name, a password or a key.

    Raises:
        InputError: refused; the message repeats no secret.
    """
    example = "such as https://query.wikidata.org/sparql"
    has_secret, is_web = mask_keys(url) != url, False
    try:
        parts = urlsplit(url)
        has_secret |= "@" in parts.netloc
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")
    except ValueError:
        is_web = False
    if has_secret:
        raise InputError(
            "contains a user name, a password or a key, which would go into manifests and messages",
            path=mask_address(url),
            allowed=f"an address without them, {example}",
            code="bad-option",
        )
    if not is_web or not re.fullmatch("[!-~]+", url):
        text = printable(mask_address(url))
        raise InputError(
            f"{text} is not an address",
            field="--kg",
            allowed=f"one in ASCII, {example}",
            code="bad-option",
        )


class EndpointEngine:
    """SPARQL engine over HTTP: one request at a time, obeys throttling, stores replies.

    Attributes:
        requests: number of requests sent.
    """

    def __init__(
        self, url: str, options: EndpointOptions | None = None, store: ReplyStore | None = None
    ) -> None:
        """Set the address, options and store of replies; nothing is sent.

        Raises:
            InputError: not a URL, or one with a user name, a password or a key.
        """
        require_address(url)
        self.url = url
        self.options = options or EndpointOptions()
        self.store = store
        self.budget = QueryBudget(self.options)
        self.requests = 0

    def identity(self) -> dict[str, Any]:
        """Describe the engine for manifests, by the endpoint's address."""
        return {"name": "sparql", "endpoint": self.url}

    @property
    def agent(self) -> str:
        """User-Agent of requests, with the contact address that Wikimedia asks for if it is set."""
        contact = os.environ.get(CONTACT_VARIABLE, "")
        about = f"citeforge/{__version__} (benchmark builder; {contact or 'no contact given'})"
        return about.encode("latin-1", "replace").decode("latin-1").replace("\n", " ")

    def select(self, query: str) -> list[Row]:
        """Answer a query from the stored replies, or else by the endpoint.

        Raises:
            TooLongError: it timed out, or the reply was not whole.
            InputError: refused, unreachable, throttled for too long, or a stored reply is damaged.
        """
        body = None if self.store is None else self.store.get(self.url, query)
        if self.store is None or body is None:
            return self._ask(query)
        try:
            return parse_rows(body, list_variables(query))
        except TruncatedError as error:
            raise InputError(
                f"contains a damaged reply ({error})",
                path=self.store.path,
                allowed="the file as it was written; or remove it, and ask the endpoint again",
                code="bad-reply",
            ) from error

    def _ask(self, query: str) -> list[Row]:
        """Send a query, again if throttled or unreachable; store the reply; see :meth:`select`."""
        pause = self.options.pause
        for left in reversed(range(self.options.attempts)):
            allowed = self.budget.wait()
            start, rows, wait = time.monotonic(), None, None
            try:
                body = self._send(query, min(self.options.timeout, allowed))
                rows = parse_rows(body, list_variables(query))
                if self.store is not None:
                    self.store.put(self.url, query, body)
                return rows
            except HTTPError as error:
                wait = self._read_wait(error)
            except TimeoutError as error:
                seconds = f"{self.options.timeout:g} s"
                raise TooLongError(f"no whole reply within {seconds}") from error
            except (TruncatedError, ReplySizeError) as error:
                raise TooLongError(str(error)) from error
            except OSError as error:
                if not left:
                    advice = "check the address and the network, or use --kg file:PATH"
                    message = f"cannot be reached ({error})"
                    raise self._error(message, advice, "endpoint-failed") from error
            finally:
                self.budget.settle(start, failed=rows is None)
            if left:
                time.sleep(pause if wait is None else wait)
            pause *= 2
        raise self._error(
            f"throttled the query {self.options.attempts} times",
            "try again later; what was answered is kept with --kg-store",
        )

    def _error(self, message: str, allowed: str, code: str = "endpoint-refused") -> InputError:
        """Make the error for an endpoint that does not answer."""
        return InputError(message, path=self.url, allowed=allowed, code=code)

    def _send(self, query: str, timeout: float) -> bytes:
        """Send a query once; return its reply, written again as JSON.

        Raises:
            TruncatedError: the reply is no JSON.
            InputError: the reply is in another format, or the server redirects.
            OSError: see :func:`~citeforge.engines.http.send_request`.
        """
        from SPARQLWrapper import JSON, POST

        from citeforge.kg.transport import BoundedSparqlWrapper

        wrapper = BoundedSparqlWrapper(self.url)
        wrapper.setQuery(query)
        wrapper.setMethod(POST)
        wrapper.setReturnFormat(JSON)
        wrapper.setOnlyConneg(True)  # without the parameters format, output and results
        wrapper.setTimeout(timeout)
        wrapper.addCustomHttpHeader("Accept", "application/sparql-results+json")
        wrapper.addCustomHttpHeader("User-Agent", self.agent)
        self.requests += 1
        reply = wrapper.query()
        try:
            return msgspec.json.encode(reply.convert())
        # Text that is no UTF-8, lone surrogates, numbers of 5,000 digits, nesting without end.
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise TruncatedError(f"the reply is not whole ({error})") from error

    def _read_wait(self, refusal: HTTPError) -> float | None:
        """Get the seconds to wait after an error reply; None if the endpoint names no time.

        Raises:
            TooLongError: 500 or 504, as endpoints answer when a query took too long.
            InputError: waiting does not help.
        """
        if refusal.code in (500, 502, 504, 408):
            raise TooLongError(f"the endpoint answered {refusal.code}")
        if refusal.code == 403:
            raise self._error(
                "refused the request (403): Wikimedia bans clients that give no contact or send "
                "too many requests",
                f"set {CONTACT_VARIABLE} to a mail address or page, and wait",
            )
        if refusal.code not in (429, 503):
            verb = "refused the query:" if refusal.code in (400, 414) else "answered"
            message = f"{verb} {refusal.code}{first_line(refusal.read())}"
            raise self._error(message, "an address that answers SPARQL 1.1 queries")
        if "retry-after" not in refusal.headers:
            return None
        wait = retry_after(refusal.headers)
        seconds = _UNREADABLE_WAIT if wait is None else wait
        if seconds > self.options.longest_wait:
            advice = "try again then; what was answered is kept with --kg-store"
            raise self._error(f"asks for a wait of {seconds:,.0f} s", advice)
        return seconds


class ReplayEngine(EndpointEngine):
    """SPARQL engine that answers from a store of replies; it never opens a connection.

    Its identity is that of the endpoint: a rebuild from the store equals the build that wrote it.
    """

    def __init__(self, path: Path) -> None:
        """Open a store of replies for reading only.

        Raises:
            InputError: missing, damaged, or of several endpoints.
        """
        store = ReplyStore(path, readonly=True)
        urls = store.endpoints()
        if len(urls) != 1:
            raise InputError(
                f"contains replies of {len(urls)} endpoints", path=path, code="wrong-value"
            )
        super().__init__(urls[0], store=store)
        self._path = path

    def _ask(self, query: str) -> list[Row]:
        """Refuse a query without a stored reply."""
        raise InputError(
            "has no reply to one of the queries",
            path=self._path,
            allowed="the store of a complete run with the same choices",
            code="not-stored",
        )
