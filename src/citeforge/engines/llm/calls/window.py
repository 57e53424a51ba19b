"""How many calls may be in flight: fewer where a server falls behind."""

from __future__ import annotations

import asyncio


class Window:
    """Lets so many calls in at a time, and fewer after one that waited in vain or got a 429.

    A server that answers one call at a time makes those behind it wait; what is asked again
    while it still works on calls that were given up makes it later still. As in TCP (RFC 5681)
    the window is halved, once for all calls that were in flight together, and grows by one for
    as many answers in a row as it has places.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._most = size
        self._inside = 0
        self._answers = 0
        self._room = asyncio.Condition()
        self._generation = 0
        self._entered: dict[asyncio.Task[object] | None, int] = {}

    async def __aenter__(self) -> None:
        async with self._room:
            await self._room.wait_for(lambda: self._inside < self.size)
            self._inside += 1
        self._entered[asyncio.current_task()] = self._generation

    async def __aexit__(self, *_: object) -> None:
        async with self._room:
            self._inside -= 1
            if self._entered.pop(asyncio.current_task(), None) == self._generation:
                self._answers += 1
            if self._answers >= self.size < self._most:
                self._answers = 0
                self.size += 1
            self._room.notify_all()

    def narrow(self) -> None:
        """The call of this task was refused, or not answered in time."""
        if self._entered[asyncio.current_task()] < self._generation:
            return
        self._generation += 1
        self._answers = 0
        self.size = max(1, min(self.size, self._inside) // 2)
