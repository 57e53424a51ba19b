"""Running of coroutines from synchronous functions."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from citeforge.engines.interrupts import interrupts_held, is_interrupted

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in a thread if the caller is inside an event loop (notebooks).

    A signal cancels it: raised in the midst of a task, KeyboardInterrupt would not reach the
    others, and asyncio would print it.
    """
    tasks: list[asyncio.Task[Any] | None] = []

    async def run_cancellable() -> T:
        """Run the coroutine, and store its task so that a signal can cancel it."""
        tasks.append(asyncio.current_task())
        if is_interrupted():
            work.close()
            raise asyncio.CancelledError
        return await work

    def cancel() -> None:
        """Cancel the coroutine from outside of its event loop."""
        for task in filter(None, tasks):
            task.get_loop().call_soon_threadsafe(task.cancel)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with interrupts_held(cancel):
            return asyncio.run(run_cancellable())
    context = copy_context()
    with ThreadPoolExecutor(1) as thread:
        result = thread.submit(context.run, lambda: asyncio.run(run_cancellable()))
        try:
            return result.result()
        except KeyboardInterrupt:
            cancel()
            raise
