"""A request-and-token rate that learns from 429 answers."""

from __future__ import annotations

import asyncio
import email.utils
import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

_WINDOW = 5.0
_STEP = 1.0
_CUT = 0.7
_GROWTH = 1.1
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
        found = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None  # no date of this calendar
    return found if found.tzinfo else found.replace(tzinfo=UTC)


class RateGate:
    """Lets requests through at a rate; a 429 closes it for a while and lowers the rate.

    Without a limit and without 429s every request passes at once. After a 429 the rate is cut to
    70 % of what went through in the last seconds, once a second at most, and grows by 10 % for
    every second without another.
    """

    def __init__(
        self, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        self.requests_per_second = None if requests_per_minute is None else requests_per_minute / 60
        self.tokens_per_second = None if tokens_per_minute is None else tokens_per_minute / 60
        self._ceilings = (self.requests_per_second, self.tokens_per_second)
        self._passed: deque[tuple[float, int]] = deque()
        self._slot = 0.0
        self._closed_until = 0.0
        self._changed = 0.0

    async def wait(self, tokens: int) -> None:
        """Wait for a turn.

        Args:
            tokens: estimate of what the request costs of the token rate.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._grow(now)
        slot = max(now, self._slot)
        steps = [0.0]
        if self.requests_per_second is not None:
            steps.append(1 / self.requests_per_second)
        if self.tokens_per_second is not None:
            steps.append(tokens / self.tokens_per_second)
        self._slot = slot + max(steps)
        while (until := max(slot, self._closed_until)) > loop.time():
            await asyncio.sleep(until - loop.time())
        self._passed.append((loop.time(), tokens))
        self._forget(loop.time())

    def throttled(self, now: float, wait: float) -> None:
        """Learn from a 429: close for ``wait`` seconds and lower the rate."""
        self._closed_until = max(self._closed_until, now + wait)
        if now - self._changed < _STEP:
            return
        self._changed = now
        self._forget(now)
        span = max(_STEP, now - self._passed[0][0]) if self._passed else _STEP
        self.requests_per_second = _CUT * max(1, len(self._passed)) / span
        if self._ceilings[1] is not None:
            self.tokens_per_second = _CUT * max(1, sum(t for _, t in self._passed)) / span

    def _grow(self, now: float) -> None:
        if now - self._changed < _STEP or now < self._closed_until:
            return
        periods = int((now - self._changed) / _STEP)
        if self._changed == 0.0 or periods > 50:
            self.requests_per_second, self.tokens_per_second = self._ceilings
            return
        self._changed += periods * _STEP
        factor = _GROWTH**periods
        self.requests_per_second = _grown(self.requests_per_second, factor, self._ceilings[0])
        self.tokens_per_second = _grown(self.tokens_per_second, factor, self._ceilings[1])

    def _forget(self, now: float) -> None:
        while self._passed and self._passed[0][0] < now - _WINDOW:
            self._passed.popleft()


def _grown(rate: float | None, factor: float, ceiling: float | None) -> float | None:
    if rate is None:
        return None
    return rate * factor if ceiling is None else min(ceiling, rate * factor)
