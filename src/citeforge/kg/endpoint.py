"""Client of SPARQL 1.1 endpoints: within their limits, with a store of replies."""

import os
import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import msgspec

from citeforge.engines.draws import sample_ids
from citeforge.engines.http import (
    NoConnectionError,
    ReplySizeError,
    ServerPatience,
    first_line,
    retry_after,
)
from citeforge.engines.keys import mask_address, mask_keys
from citeforge.engines.shown import show_amount
from citeforge.kg.replies import (
    ReplyStore,
    RetrievalTimes,
    TruncatedError,
    describe_change,
    parse_rows,
)
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
        accept_changed: go on where more than one compared reply has changed.
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
    accept_changed: bool = False


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
        """Start without past queries, so that the server's whole time limit is free."""
        self.limits = limits
        self._queries: list[_PastQuery] = []
        self._longest = limits.seconds / 8
        self.waited = 0.0

    def wait(self) -> float:
        """Wait until the server's limits allow a query; return the seconds it may take."""
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

    def record_end(self, start: float, failed: bool) -> None:
        """Record that a query sent at ``start`` has ended now, and whether it failed."""
        now = time.monotonic()
        self._queries.append(_PastQuery(now, now - start, failed))
        self._longest = max(self._longest * 0.9, now - start)


CONTACT_VARIABLE = "CITEFORGE_CONTACT"
_WIKIMEDIA = re.compile(r"(?:^|\.)wiki(?:data|media|pedia)\.org$")
"""Hosts of the Wikimedia Foundation."""
_UNREADABLE_WAIT = 5.0  # seconds, where Retry-After is neither a number nor a date
_TIMED_OUT = (408, 504, 524)
"""Statuses of a query that took too long."""
_TOO_MUCH = re.compile(
    r"time[ _-]?out|timed out|time[ _-]?limit|too long|exceed|memory|cancel", re.IGNORECASE
)
"""Words of endpoints whose errors say that a query asks for too much."""
_ERROR_BYTES = 2000
OLD_SECONDS = 86400.0
"""Age from which stored replies are compared with new ones before others are added."""
COMPARED = 20
"""Stored replies that are compared."""
MOST_CHANGED = 1
"""Compared replies that may have changed without ``--accept-changed``."""
_EXAMPLES = 3


class TooLongError(Exception):
    """The query timed out or its reply was cut; a smaller one may pass."""


def require_address(url: str) -> None:
    """Raise an error if an endpoint's URL is malformed, or has a user name, password or key.

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
        retrieved: times of the replies that were used.
        counts: stored replies that were compared with new ones, and those that had changed.
    """

    def __init__(
        self, url: str, options: EndpointOptions | None = None, store: ReplyStore | None = None
    ) -> None:
        """Set the SPARQL endpoint's address, options and store of replies; send nothing.

        Raises:
            InputError: not a URL, or one with a user name, a password or a key.
        """
        require_address(url)
        self.url = url
        self.options = options or EndpointOptions()
        self.store = store
        self.budget = QueryBudget(self.options)
        self.requests = 0
        self.retrieved = RetrievalTimes()
        self.counts = Counter[str]() if store is None else store.comparison_counts(url)
        self._patience = ServerPatience()
        self._is_compared = store is None

    def identity(self) -> dict[str, Any]:
        """Describe the SPARQL engine for manifests, by its endpoint's address."""
        return {"name": "sparql", "endpoint": self.url}

    @property
    def agent(self) -> str:
        """User-Agent of requests, with the contact address that Wikimedia asks for if it is set."""
        contact = os.environ.get(CONTACT_VARIABLE, "")
        about = f"citeforge/{__version__} (benchmark builder; {contact or 'no contact given'})"
        return about.encode("latin-1", "replace").decode("latin-1").replace("\n", " ")

    def select(self, query: str) -> list[Row]:
        """Answer a SPARQL query from the store of replies, else from the endpoint.

        Raises:
            TooLongError: it timed out, or the reply was not whole.
            InputError: refused, unreachable, throttled for too long, or a stored reply is damaged.
        """
        stored = None if self.store is None else self.store.get(self.url, query)
        if self.store is None or stored is None:
            if not self._is_compared:
                self._is_compared = True
                self._compare_old_replies()
            return self._ask(query)
        body, when = stored
        self.retrieved.add(query, when)
        return self._read_stored(body, query)

    def _read_stored(self, body: bytes, query: str) -> list[Row]:
        """Parse a stored reply to a SPARQL query; raise an error if it is damaged."""
        try:
            return parse_rows(body, list_variables(query))
        except TruncatedError as error:
            raise InputError(
                f"contains a damaged reply ({error})",
                path=self.store and self.store.path,
                allowed="the file as it was written; or remove it, and ask the endpoint again",
                code="bad-reply",
            ) from error

    def _compare_old_replies(self) -> None:
        """Send again a sample of queries answered over a day ago; count replies that changed.

        Raises:
            InputError: more than one has changed, and ``accept_changed`` is not set.
        """
        assert self.store is not None
        old = self.store.queries_before(self.url, time.time() - OLD_SECONDS)
        changes: list[str] = []
        compared = 0
        for query in sample_ids(old, COMPARED, 0, "replies compared"):
            stored = self.store.get(self.url, query)
            assert stored is not None
            try:
                new = parse_rows(self._fetch(query), list_variables(query))
            except TooLongError:
                continue  # no whole reply, which says nothing of the stored one
            compared += 1
            changes += filter(None, [describe_change(self._read_stored(stored[0], query), new)])
        if len(changes) > MOST_CHANGED and not self.options.accept_changed:
            examples = "; ".join(changes[:_EXAMPLES])
            raise self._error(
                f"has changed since the replies in {self.store.path.name} were stored: of "
                f"{compared} asked for again, {len(changes)} differ ({examples})",
                "another --kg-store, to ask for all again; or --accept-changed to mix both, which "
                "the card counts",
                "endpoint-changed",
            )
        if compared:
            self.store.add_comparison(self.url, compared, len(changes))
            self.counts += Counter(replies_compared=compared, replies_changed=len(changes))

    def _ask(self, query: str) -> list[Row]:
        """Answer a SPARQL query from the endpoint, and store the reply."""
        body = self._fetch(query)
        if self.store is not None:
            self.store.put(self.url, query, body)
        self.retrieved.add(query, time.time())
        return parse_rows(body, list_variables(query))

    def _fetch(self, query: str) -> bytes:
        """Fetch the reply to a SPARQL query; retry if throttled, unreachable or failing.

        Raises:
            TooLongError: it timed out, or the reply was not whole.
            InputError: refused, unreachable, or throttled for too long.
        """
        pause, status = self.options.pause, 0
        for n_tries in range(1, self.options.attempts + 1):
            left = self.options.attempts - n_tries
            allowed = self.budget.wait()
            start, failed, wait = time.monotonic(), True, None
            try:
                body = self._send(query, min(self.options.timeout, allowed))
                parse_rows(body, list_variables(query))
                failed = False
                self._patience.record_answer()
                return body
            except HTTPError as error:
                self._patience.record_reply()
                status, wait = error.code, self._read_wait(error)
            except TimeoutError as error:
                seconds = f"{self.options.timeout:g} s"
                raise TooLongError(f"no whole reply within {seconds}") from error
            except (TruncatedError, ReplySizeError) as error:
                raise TooLongError(str(error)) from error
            except OSError as error:
                has_none = isinstance(error, NoConnectionError)
                tries = n_tries, self.options.attempts
                if not left or (has_none and self._patience.is_unreachable(*tries)):
                    advice = "check the address and the network, or use --kg file:PATH"
                    message = f"cannot be reached ({error})"
                    raise self._error(message, advice, "endpoint-failed") from error
            finally:
                self.budget.record_end(start, failed)
            if left:
                time.sleep(pause if wait is None else wait)
            pause *= 2
        if status not in (429, 503):
            raise TooLongError(f"the endpoint answered {status} {self.options.attempts} times")
        raise self._error(
            f"throttled the query {self.options.attempts} times",
            "try again later; what was answered is kept with --kg-store",
        )

    def _error(self, message: str, allowed: str, code: str = "endpoint-refused") -> InputError:
        """Make the error for a SPARQL endpoint that does not answer; ``allowed`` is the advice."""
        return InputError(message, path=self.url, allowed=allowed, code=code)

    def _send(self, query: str, timeout: float) -> bytes:
        """Send a SPARQL query once; return its reply, re-encoded as JSON.

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
        self._patience.record_reply()
        try:
            return msgspec.json.encode(reply.convert())
        # Text that is no UTF-8, lone surrogates, numbers of 5,000 digits, nesting without end.
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise TruncatedError(f"the reply is not whole ({error})") from error

    def _read_wait(self, refusal: HTTPError) -> float | None:
        """Get the seconds to wait before a retry; None if the error reply names no time.

        Raises:
            TooLongError: the endpoint says that the query took too long or asked for too much.
            InputError: waiting does not help.
        """
        code, text = refusal.code, refusal.read(_ERROR_BYTES)
        is_fault = code >= 500 and code not in (501, 505)
        if code in _TIMED_OUT or (is_fault and _TOO_MUCH.search(text.decode("utf-8", "replace"))):
            raise TooLongError(f"the endpoint answered {code}{first_line(text)}")
        if code == 403:
            contact = f"set {CONTACT_VARIABLE} to a mail address or page"
            why, advice = "", f"if the endpoint wants a contact, {contact}"
            if _WIKIMEDIA.search(urlsplit(self.url).hostname or ""):
                why = "; Wikimedia bans clients that give no contact or send too many requests"
                advice = f"{contact}, and wait"
            raise self._error(f"refused the request: 403{first_line(text)}{why}", advice)
        if code != 429 and not is_fault:
            verb = "refused the query:" if code in (400, 414) else "answered"
            message = f"{verb} {code}{first_line(text)}"
            raise self._error(message, "an address that answers SPARQL 1.1 queries")
        if code not in (429, 503) and self._patience.record_fault():
            raise self._error(
                f"answers nothing but {code}{first_line(text)}",
                "try again when it works, or use a snapshot (--kg file:…)",
                "endpoint-failed",
            )
        if "retry-after" not in refusal.headers:
            return None
        wait = retry_after(refusal.headers)
        seconds = _UNREADABLE_WAIT if wait is None else wait
        if seconds > self.options.longest_wait:
            advice = "try again then; what was answered is kept with --kg-store"
            raise self._error(f"asks for a wait of {show_amount(seconds, 0)} s", advice)
        return seconds


class ReplayEngine(EndpointEngine):
    """SPARQL engine that answers from a store of replies; it never opens a connection.

    Its identity is that of the endpoint: a rebuild from the store equals the build that wrote it.
    """

    def __init__(self, path: Path) -> None:
        """Open a file of stored replies for reading only, instead of an endpoint.

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
        self._path, self._sizes = path, store.batch_sizes()
        self._is_compared = True

    def choose_batch(self, requested: int) -> int:
        """Choose the number of entities per query: that of the store's only run, else requested.

        Args:
            requested: number that the options of the run name.
        """
        return self._sizes[0] if len(self._sizes) == 1 else requested

    def _ask(self, query: str) -> list[Row]:
        """Raise an error: a query without a stored reply cannot be answered offline."""
        sizes = ", ".join(map(str, self._sizes))
        raise InputError(
            "has no reply to one of the queries",
            path=self._path,
            allowed="the store of a complete run with the same choices, --kg-batch included "
            f"(its runs had {sizes or 'none'})",
            code="not-stored",
        )
