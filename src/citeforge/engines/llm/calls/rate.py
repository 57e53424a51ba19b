"""When a request may be sent: a rate of requests and tokens, and what a 429 asks for."""

import asyncio
import email.utils
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

_LONGEST_WAIT = 366 * 86400.0
"""Seconds; a server that names more (1e308) says no more by it."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long to try again.

    Attributes:
        attempts: tries of one request that ends in 408, 5xx, or a broken or hanging connection.
        throttled_attempts: tries of one request that ends in 429.
        base: first pause, in seconds; doubled each time, with full jitter.
        cap: longest pause without a Retry-After.
        longest_wait: longest Retry-After that is waited for.
        first_attempts: tries of a connection to an endpoint that nothing was ever heard of: an
            address that is wrong stays wrong.
    """

    attempts: int = 8
    throttled_attempts: int = 40
    base: float = 0.5
    cap: float = 30.0
    longest_wait: float = 900.0
    first_attempts: int = 3

    def pause(self, attempt: int) -> float:
        """Seconds before try ``attempt + 1``, counted from 1."""
        # Jitter only has to differ between clients; it decides nothing that is kept.
        return random.uniform(0, min(self.cap, self.base * 2 ** (attempt - 1)))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: Retry-After as seconds or as an HTTP date (RFC 9110).

    A date is read against the server's own Date, so that a wrong clock here does no harm.
    """
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return min(max(0.0, float(value)), _LONGEST_WAIT)
    except ValueError:
        pass
    until = _date(value)
    if until is None:
        return None
    now = _date(headers.get("date", "")) or datetime.now(UTC)
    return min(max(0.0, (until - now).total_seconds()), _LONGEST_WAIT)


def _date(text: str) -> datetime | None:
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None  # no date of this calendar
    return date if date.tzinfo else date.replace(tzinfo=UTC)


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
            tokens: estimate of what the request costs of the token rate.
        """
        clock = asyncio.get_running_loop().time
        async with self._turn:
            while (seconds := self._open_from - clock()) > 0:
                await asyncio.sleep(seconds)
            self._open_from = clock() + max(self._request_seconds, tokens * self._token_seconds)

    def close(self, seconds: float) -> None:
        """Let nothing through for so long."""
        until = asyncio.get_running_loop().time() + seconds
        self._open_from = max(self._open_from, until)
