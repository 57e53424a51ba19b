"""Coroutines inside and outside of an event loop."""

import asyncio
import threading
from concurrent.futures import Future

import pytest

from citeforge.engines.event_loop import run_async
from citeforge.engines.progress import is_json


async def inner() -> str:
    await asyncio.sleep(0)
    return f"done, {is_json.get()}"


async def outer() -> str:
    is_json.set(True)
    return run_async(inner())


def test_a_coroutine_ends_wherever_it_is_called() -> None:
    assert run_async(inner()) == "done, False"
    assert asyncio.run(outer()) == "done, True"  # as in a notebook; settings come along


def test_an_interrupt_cancels_it(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    def interrupted(_: object) -> None:
        begun.wait()
        raise KeyboardInterrupt

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def cell() -> None:
        run_async(endless())

    monkeypatch.setattr(Future, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(cell())
    assert ended.is_set()
