"""Query seconds and errors a minute: what an endpoint grants, and waiting before it is passed.

Wikidata's query service grants 60 seconds of processing a minute and 30 errors a minute.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What may be used in any window.

    Attributes:
        seconds: query seconds.
        errors: replies that are errors.
        window: length of the window in seconds.
    """

    seconds: float = 60.0
    errors: int = 30
    window: float = 60.0


class QueryBudget:
    """Keeps what was used, and waits until the next query fits.

    A query is charged from the moment it is sent until its reply is read, which is never less than
    what the server counts; it fits when even a query half as long again as the longest seen so far
    would stay within the limit, and its timeout is what is left.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._used: deque[tuple[float, float]] = deque()  # (end, seconds)
        self._failed: deque[float] = deque()
        self._longest = limits.seconds / 8
        self.waited = 0.0

    def wait(self) -> float:
        """Wait until a query fits.

        Returns:
            Seconds that it may take at most.
        """
        while True:
            now = time.monotonic()
            self._forget(now)
            spent = sum(seconds for _, seconds in self._used)
            expected = min(1.5 * self._longest, self.limits.seconds)
            fits = spent + expected <= self.limits.seconds
            if fits and len(self._failed) < self.limits.errors - 1:
                return self.limits.seconds - spent
            ends = [e for e, _ in list(self._used)[:1]] if not fits else []
            ends += list(self._failed)[:1] if len(self._failed) >= self.limits.errors - 1 else []
            pause = max(0.01, min(ends) + self.limits.window - now)
            self.waited += pause
            time.sleep(pause)

    def settle(self, start: float, failed: bool) -> None:
        """Charge a query that was sent at ``start`` and has ended now."""
        now = time.monotonic()
        self._used.append((now, now - start))
        self._longest = max(self._longest * 0.9, now - start)
        if failed:
            self._failed.append(now)

    def _forget(self, now: float) -> None:
        # A query that ended within the window may have begun before it: it stays whole.
        while self._used and self._used[0][0] <= now - self.limits.window:
            self._used.popleft()
        while self._failed and self._failed[0] <= now - self.limits.window:
            self._failed.popleft()
