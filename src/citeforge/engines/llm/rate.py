"""Requests and tokens per minute."""

import asyncio
import math
import time


class RateGate:
    """Lets requests through one after another at a rate; a 429 pauses it.

    In no span of time more pass than its length times the rate, and one. It belongs to no event
    loop, so that the rate holds over runs that follow each other.
    """

    def __init__(self, rpm: float | None = None, tpm: float | None = None) -> None:
        """Set the limits of requests and tokens per minute; None for no limit."""
        self._request_seconds, self._token_seconds = 60 / (rpm or math.inf), 60 / (tpm or math.inf)
        self._open_from = 0.0

    async def wait(self, tokens: int) -> None:
        """Wait until a request with so many prompt tokens may be sent."""
        while (seconds := self._open_from - time.monotonic()) > 0:
            await asyncio.sleep(seconds)  # several wake up at once: the first one takes the turn
        pause = max(self._request_seconds, tokens * self._token_seconds)
        self._open_from = time.monotonic() + pause

    def pause_for(self, seconds: float) -> None:
        """Let no request through for so many seconds."""
        self._open_from = max(self._open_from, time.monotonic() + seconds)
