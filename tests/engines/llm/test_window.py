"""How many calls are in flight."""

from __future__ import annotations

import asyncio

from citeforge.engines.llm.calls.window import Window


def test_calls_that_waited_in_vain_together_halve_it_once() -> None:
    async def main() -> list[int]:
        window = Window(8)
        sizes = []

        async def late() -> None:
            async with window:
                await asyncio.sleep(0)
                window.narrow()
                sizes.append(window.size)

        await asyncio.gather(*(late() for _ in range(8)))
        return sizes

    assert asyncio.run(main()) == [8 // 2] * 8


def test_no_more_get_in_than_it_has_places_and_it_grows_again() -> None:
    async def main() -> tuple[int, list[int]]:
        window = Window(4)
        inside = most = 0
        async with window:
            window.narrow()  # one was in flight, and one is the least
        assert window.size == 1
        sizes = []

        async def answered() -> None:
            nonlocal inside, most
            async with window:
                inside += 1
                most = max(most, inside)
                assert inside <= window.size
                await asyncio.sleep(0)
                inside -= 1
            sizes.append(window.size)

        await asyncio.gather(*(answered() for _ in range(12)))
        return most, sizes

    most, sizes = asyncio.run(main())
    # 1 answer in a row makes it 2, then 2 make it 3, then 3 make it 4: no more than at first.
    assert most == 4
    assert sizes == [2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4]
