"""Query seconds and errors a minute: what an endpoint grants, and waiting before it is passed.

Wikidata's query service grants 60 seconds of processing a minute and 30 errors a minute.
"""

import time
from dataclasses import dataclass
from typing import NamedTuple


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


class _Query(NamedTuple):
    end: float
    seconds: float
    failed: bool


class QueryBudget:
    """Keeps what was used, and waits until the next query fits.

    A query is charged from the moment it is sent until its reply is read, which is never less than
    what the server counts; it fits when even a query half as long again as the longest seen so far
    would stay within the limit, and its timeout is what is left.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._queries: list[_Query] = []
        self._longest = limits.seconds / 8
        self.waited = 0.0

    def wait(self) -> float:
        """Wait until a query fits.

        Returns:
            Seconds that it may take at most.
        """
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
        """Charge a query that was sent at ``start`` and has ended now."""
        now = time.monotonic()
        self._queries.append(_Query(now, now - start, failed))
        self._longest = max(self._longest * 0.9, now - start)
