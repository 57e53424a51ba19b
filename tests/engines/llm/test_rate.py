"""Rates that users set hold on a real clock."""

import asyncio
import time
from itertools import pairwise

from citeforge.engines.llm.rate import RateGate
from citeforge.engines.llm.records import Request
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.schemas.recipes.base import RunOptions
from servers.running import Running

TICK = 0.005
"""Seconds by which the event loop may wake early."""


def passages(gate: RateGate, tokens: list[int], pause: float = 0.0) -> list[float]:
    """When each of so many calls, all waiting from the start, passes; seconds from the start."""

    async def main() -> list[float]:
        clock = asyncio.get_running_loop().time
        begun, times = clock(), list[float]()

        async def one(size: int) -> None:
            await gate.wait(size)
            times.append(clock() - begun)

        async with asyncio.TaskGroup() as group:
            for size in tokens:
                group.create_task(one(size))
            await asyncio.sleep(0)
            if pause:
                gate.pause_for(pause)
        return times

    return asyncio.run(main())


def test_requests_pass_one_after_another() -> None:
    times = passages(RateGate(rpm=1200), [0] * 8)
    assert all(later - earlier >= 60 / 1200 - TICK for earlier, later in pairwise(times))


def test_the_rate_holds_over_runs_that_follow_each_other() -> None:
    gate = RateGate(rpm=1200)
    begun = time.monotonic()
    for _ in range(3):
        passages(gate, [0])
    assert time.monotonic() - begun >= 2 * 60 / 1200 - TICK


def test_a_model_has_one_gate_for_all_runs(server: Running) -> None:
    model = OpenAiLlm("m", None, RunOptions(base_url=server.url))
    model.gate.pause_for(0.1)
    begun = time.monotonic()
    model.complete([Request((("user", "x"),))])
    assert time.monotonic() - begun >= 0.1 - TICK


def test_a_request_of_many_tokens_makes_the_next_one_wait() -> None:
    times = passages(RateGate(tpm=60_000), [200, 50, 50])
    # 1,000 tokens a second: one waits for the first's 200, and one for the other's 50.
    assert times[1] - times[0] >= 0.2 - TICK
    assert times[2] - times[1] >= 0.05 - TICK


def test_what_waited_for_a_paused_gate_does_not_pass_at_once() -> None:
    times = passages(RateGate(rpm=1200), [0] * 6, pause=0.2)
    assert times[1] >= 0.2 - TICK  # the first was through already
    assert all(later - earlier >= 0.05 - TICK for earlier, later in pairwise(times))


def test_without_a_rate_everything_passes() -> None:
    assert len(passages(RateGate(), [10**9] * 1000)) == 1000
