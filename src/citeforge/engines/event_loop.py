"""Running of coroutines from synchronous functions."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in a thread if the caller is inside an event loop (notebooks).

    An interrupt from the keyboard cancels it.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    tasks: list[asyncio.Task[Any] | None] = []

    async def run_cancellable() -> T:
        """Run the coroutine, and store its task so that a keyboard interrupt can cancel it."""
        tasks.append(asyncio.current_task())
        return await work

    context = copy_context()
    with ThreadPoolExecutor(1) as thread:
        result = thread.submit(context.run, lambda: asyncio.run(run_cancellable()))
        try:
            return result.result()
        except KeyboardInterrupt:
            for task in filter(None, tasks):
                task.get_loop().call_soon_threadsafe(task.cancel)
            raise
