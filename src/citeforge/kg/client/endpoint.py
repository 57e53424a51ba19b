"""A SPARQL 1.1 endpoint, asked politely through SPARQLWrapper."""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citeforge.engines.llm.caller import retry_after
from citeforge.kg.client.budget import Limits, QueryBudget
from citeforge.kg.client.replies import ReplyStore, TruncatedError, parse_rows
from citeforge.kg.client.transport import HttpReply, ReplySizeError, require_address, send_request
from citeforge.kg.values.terms import Row, variables_of
from citeforge.schemas.errors import InputError
from citeforge.schemas.text import printable
from citeforge.schemas.version import __version__

CONTACT_VARIABLE = "CITEFORGE_CONTACT"
_POST_FROM = 1500  # characters of a query
_UNREADABLE_WAIT = 5.0  # seconds, where Retry-After is neither a number nor a date


@dataclass(frozen=True)
class EndpointOptions:
    """How to ask.

    Attributes:
        timeout: seconds before a query counts as timed out.
        attempts: how often a throttled or broken query is sent.
        longest_wait: longest ``Retry-After`` that is waited for.
        limits: what the endpoint grants.
        pause: first pause after a broken connection; doubled each time.
    """

    timeout: float = 60.0
    attempts: int = 5
    longest_wait: float = 300.0
    limits: Limits = field(default_factory=Limits)
    pause: float = 1.0


class TooLongError(Exception):
    """The query timed out or its reply was cut; a smaller one may pass."""


class EndpointEngine:
    """One request at a time; throttling obeyed, replies kept.

    Attributes:
        requests: number of requests sent.
    """

    def __init__(
        self, url: str, options: EndpointOptions | None = None, store: ReplyStore | None = None
    ) -> None:
        """Ask an address.

        Raises:
            InputError: it is none, or holds a user name or a password.
        """
        require_address(url)
        self.url = url
        self.options = options or EndpointOptions()
        self.store = store
        self.budget = QueryBudget(self.options.limits)
        self.requests = 0

    def identity(self) -> dict[str, Any]:
        return {"name": "sparql", "endpoint": self.url}

    @property
    def agent(self) -> str:
        """User-Agent with a contact from the environment, as Wikimedia asks for."""
        contact = os.environ.get(CONTACT_VARIABLE, "")
        about = f"citeforge/{__version__} (benchmark builder; {contact or 'no contact given'})"
        return about.encode("latin-1", "replace").decode("latin-1").replace("\n", " ")

    def select(self, query: str) -> list[Row]:
        """Rows of a query: those that are kept, else those that the endpoint gives.

        Raises:
            TooLongError: it timed out, or the reply was not whole.
            InputError: refused, unreachable, throttled for too long, or kept and damaged since.
        """
        body = None if self.store is None else self.store.get(self.url, query)
        if self.store is None or body is None:
            return self._ask(query)
        try:
            return parse_rows(body, variables_of(query))
        except TruncatedError as error:
            raise InputError(
                f"holds a damaged reply ({error})", path=self.store.path,
                allowed="the file as it was written; or remove it, and ask the endpoint again",
            ) from error  # fmt: skip

    def _ask(self, query: str) -> list[Row]:
        pause = self.options.pause
        for left in reversed(range(self.options.attempts)):
            allowed = self.budget.wait()
            start, rows, wait = time.monotonic(), None, None
            try:
                reply = self._send(query, min(self.options.timeout, allowed))
                if reply.is_success:
                    rows = parse_rows(reply.body, variables_of(query))
                    if self.store is not None:
                        self.store.put(self.url, query, reply.body)
                    return rows
                wait = self._after(reply)
            except TimeoutError as error:
                seconds = f"{self.options.timeout:g} s"
                raise TooLongError(f"no whole reply within {seconds}") from error
            except (TruncatedError, ReplySizeError) as error:
                raise TooLongError(str(error)) from error
            except OSError as error:
                if not left:
                    raise InputError(
                        f"cannot be reached ({error})",
                        path=self.url,
                        allowed="check the address and the network, or use --kg file:PATH",
                    ) from error
            finally:
                self.budget.settle(start, failed=rows is None)
            if left:
                time.sleep(pause if wait is None else wait)
            pause *= 2
        raise InputError(
            f"throttled the query {self.options.attempts} times",
            path=self.url,
            allowed="try again later; what was answered is kept with --kg-store",
        )

    def _send(self, query: str, timeout: float) -> HttpReply:
        from SPARQLWrapper import GET, JSON, POST, SPARQLWrapper

        wrapper = SPARQLWrapper(self.url, agent=self.agent, returnFormat=JSON)
        wrapper.setQuery(query)
        wrapper.setMethod(POST if len(query) > _POST_FROM else GET)
        wrapper.addCustomHttpHeader("Accept", "application/sparql-results+json")
        self.requests += 1
        # Its own way of sending has neither a deadline nor a bound, and follows any redirect.
        return send_request(wrapper._createRequest(), timeout)

    def _after(self, refusal: HttpReply) -> float | None:
        """Seconds to wait after a refusal; None when the endpoint does not say.

        Raises:
            TooLongError: 500 or 504, as endpoints answer when a query took too long.
            InputError: waiting does not help.
        """
        if refusal.status in (500, 502, 504, 408):
            raise TooLongError(f"the endpoint answered {refusal.status}")
        if refusal.status == 403:
            raise InputError(
                "refuses us (403): Wikimedia bans clients without a contact, or that were too fast",
                path=self.url,
                allowed=f"set {CONTACT_VARIABLE} to a mail address or page, and wait",
            )
        if refusal.status not in (429, 503):
            verb = "refused the query:" if refusal.status in (400, 414) else "answered"
            raise InputError(
                f"{verb} {refusal.status}{_first_line(refusal)}", path=self.url,
                allowed="an address that answers SPARQL 1.1 queries",
            )  # fmt: skip
        if "retry-after" not in refusal.headers:
            return None
        wait = retry_after(refusal.headers)
        seconds = _UNREADABLE_WAIT if wait is None else wait
        if seconds > self.options.longest_wait:
            raise InputError(
                f"asks us to wait {seconds:,.0f} s",
                path=self.url,
                allowed="try again then; what was answered is kept with --kg-store",
            )
        return seconds


class ReplayEngine(EndpointEngine):
    """An endpoint whose kept replies answer alone; never opens a connection.

    Its identity is that of the endpoint: a rebuild from the store equals the build that wrote it.
    """

    def __init__(self, path: Path) -> None:
        """Open a store for reading.

        Raises:
            InputError: missing, damaged, or of several endpoints.
        """
        store = ReplyStore(path, readonly=True)
        urls = store.endpoints()
        if len(urls) != 1:
            raise InputError(f"holds replies of {len(urls)} endpoints", path=path)
        super().__init__(urls[0], store=store)
        self._path = path

    def _ask(self, query: str) -> list[Row]:
        raise InputError(
            "has no reply to one of the queries",
            path=self._path,
            allowed="the store of a complete run with the same choices",
        )


def _first_line(refusal: HttpReply) -> str:
    """What a refusal says."""
    lines = refusal.body.decode("utf-8", "replace").splitlines()
    return next((f": {printable(line)}" for line in lines if line.strip()), "")
