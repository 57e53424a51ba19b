"""A SPARQL 1.1 endpoint, asked politely through SPARQLWrapper."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from http.client import HTTPException, IncompleteRead
from typing import Any
from urllib.error import HTTPError

from citeforge._version import __version__
from citeforge.engines.llm.rate import retry_after
from citeforge.kg.budget import Limits, QueryBudget
from citeforge.kg.replies import ReplyStore, TruncatedError, kept_rows, parse_rows
from citeforge.kg.terms import Row
from citeforge.schemas.errors import InputError

CONTACT_VARIABLE = "CITEFORGE_CONTACT"
_POST_FROM = 1500  # characters of a query
_UNREADABLE_WAIT = 5.0  # seconds, where Retry-After is neither a number nor a date
_MOST_BYTES = 1 << 28  # of a reply; a batch of sub-graphs has some 100 KB


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
        """Rows of a query.

        Raises:
            TooLongError: it timed out, or the reply was not whole.
            InputError: refused, unreachable, or throttled for too long.
        """
        if self.store is not None:
            kept = self.store.get(self.url, query)
            if kept is not None:
                return kept_rows(kept, self.store.path)
        pause = self.options.pause
        for attempt in range(self.options.attempts):
            allowed = self.budget.wait()
            start = self.budget.now()
            try:
                body = self._send(query, min(self.options.timeout, allowed))
                rows = parse_rows(body)
            except TruncatedError as error:
                self.budget.settle(start, failed=True)
                raise TooLongError(str(error)) from error
            except TooLongError:
                self.budget.settle(start, failed=True)
                raise
            except HTTPError as error:
                self.budget.settle(start, failed=True)
                wait = self._after(error)
                if attempt + 1 < self.options.attempts:
                    time.sleep(wait if wait is not None else pause)
            except TimeoutError as error:
                self.budget.settle(start, failed=True)
                raise TooLongError(f"no reply within {self.options.timeout:g} s") from error
            except (HTTPException, OSError) as error:
                self.budget.settle(start, failed=True)
                reason = getattr(error, "reason", error)
                if isinstance(reason, TimeoutError):
                    raise TooLongError(f"no reply within {self.options.timeout:g} s") from error
                if attempt + 1 == self.options.attempts:
                    raise InputError(
                        f"cannot be reached ({reason})",
                        path=self.url,
                        allowed="check the address and the network, or use --kg file:PATH",
                    ) from error
                time.sleep(pause)
            else:
                self.budget.settle(start, failed=False)
                if self.store is not None:
                    self.store.put(self.url, query, body)
                return rows
            pause *= 2
        raise InputError(
            f"throttled the query {self.options.attempts} times",
            path=self.url,
            allowed="try again later; what was answered is kept with --kg-store",
        )

    def _send(self, query: str, timeout: float) -> bytes:
        from SPARQLWrapper import GET, JSON, POST, SPARQLWrapper
        from SPARQLWrapper.SPARQLExceptions import SPARQLWrapperException

        wrapper = SPARQLWrapper(self.url, agent=self.agent, returnFormat=JSON)
        wrapper.setQuery(query)
        wrapper.setMethod(POST if len(query) > _POST_FROM else GET)
        wrapper.addCustomHttpHeader("Accept", "application/sparql-results+json")
        wrapper.setTimeout(max(1, round(timeout)))
        self.requests += 1
        try:
            response = wrapper.query().response
            body: bytes = response.read(_MOST_BYTES + 1)
            if len(body) > _MOST_BYTES:
                raise TooLongError(f"the reply is longer than {_MOST_BYTES:,} bytes")
            if response.length:  # a bounded read does not say that the connection was cut
                raise IncompleteRead(body, response.length)
            return body
        except SPARQLWrapperException as error:
            raise _explained(error, self.url) from error

    def _after(self, error: HTTPError) -> float | None:
        """Seconds to wait after an error; None when the endpoint does not say.

        Raises:
            TooLongError: 500 or 504, as endpoints answer when a query took too long.
            InputError: waiting does not help.
        """
        if error.code in (500, 502, 504, 408):
            raise TooLongError(f"the endpoint answered {error.code}") from error
        if error.code == 403:
            raise InputError(
                "refuses us (403): Wikimedia bans clients without a contact, or that were too fast",
                path=self.url,
                allowed=f"set {CONTACT_VARIABLE} to a mail address or page, and wait",
            ) from error
        if error.code not in (429, 503):
            raise InputError(f"answered {error.code} {error.reason}", path=self.url) from error
        headers = {k.lower(): v for k, v in error.headers.items()} if error.headers else {}
        if "retry-after" not in headers:
            return None
        asked = retry_after(headers)
        seconds = _UNREADABLE_WAIT if asked is None else asked
        if seconds > self.options.longest_wait:
            raise InputError(
                f"asks us to wait {seconds:,.0f} s",
                path=self.url,
                allowed="try again then; what was answered is kept with --kg-store",
            ) from error
        return seconds


def _explained(error: Exception, url: str) -> Exception:
    """SPARQLWrapper's own exceptions as ours."""
    name = type(error).__name__
    if name == "EndPointInternalError":
        return TooLongError("the endpoint answered 500")
    reason = next((line for line in str(error).splitlines() if line.strip()), name)
    return InputError(
        f"refused the query ({name}: {reason[:120]})", path=url, allowed="a SPARQL 1.1 endpoint"
    )
