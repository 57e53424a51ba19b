"""Throughput of the LLM client, store on, against `AsyncOpenAI` with a semaphore."""

import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import machine, measure

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

CALLS = 3000
CONCURRENT = 64
LATENCY = 0.1


def prepare_ours(url: str, folder: str) -> Any:
    import openai.resources.chat.completions  # noqa: F401

    from citeforge.engines.llm.records import Request
    from citeforge.engines.llm.replay import ReplayStore
    from citeforge.engines.llm.writers import OpenAiLlm
    from citeforge.schemas.recipes.base import RunOptions

    os.environ["OPENAI_API_KEY"] = "sk-bench"
    store = ReplayStore(Path(folder) / "s.db")
    llm = OpenAiLlm("m", store, RunOptions(base_url=url, concurrency=CONCURRENT))
    params = {"temperature": 0.0, "max_tokens": 100}
    return llm, [Request((("user", f"question {i} " * 20),), params) for i in range(CALLS)]


def run_ours(state: Any) -> int:
    llm, requests = state
    return len(llm.complete(requests))


def prepare_peer(url: str, folder: str) -> Any:
    import openai

    client = openai.AsyncOpenAI(api_key="sk-bench", base_url=url, max_retries=0)
    return client, [f"question {i} " * 20 for i in range(CALLS)]


def run_peer(state: Any) -> int:
    client, texts = state

    async def everything() -> int:
        semaphore = asyncio.Semaphore(CONCURRENT)

        async def one(text: str) -> str:
            async with semaphore:
                reply = await client.chat.completions.create(
                    model="m",
                    messages=[{"role": "user", "content": text}],
                    temperature=0.0,
                    max_tokens=100,
                )
            return reply.choices[0].message.content or ""

        return len(await asyncio.gather(*map(one, texts)))

    return asyncio.run(everything())


def main() -> None:
    """Print calls per second of both, and the ratio."""
    from servers.running import openai_server

    print("##", machine("openai"))
    ideal = CONCURRENT / LATENCY
    with TemporaryDirectory() as folder:
        rates: dict[str, list[float]] = {"citeforge": [], "AsyncOpenAI": []}
        for turn in range(3):
            for name, prepare, run in (
                ("AsyncOpenAI", prepare_peer, run_peer),
                ("citeforge", prepare_ours, run_ours),
            ):
                log = Path(folder) / f"log-{name}-{turn}"
                with openai_server(log, latency=LATENCY) as server:
                    sub = Path(folder) / f"{name}-{turn}"
                    found = measure(prepare, run, server.url, str(sub))
                    assert len(server.requests()) == found.result == CALLS
                    rates[name].append(CALLS / found.seconds)
    best = {name: max(values) for name, values in rates.items()}
    print(f"{CALLS:,} calls, {CONCURRENT} at a time, {LATENCY * 1e3:.0f} ms each, best of 3")
    for name, rate in best.items():
        print(f"{name:<11} {rate:.0f} calls/s, {rate / ideal:.2f} of {ideal:.0f}")
    print(f"ratio       {best['citeforge'] / best['AsyncOpenAI']:.3f}, store on")


if __name__ == "__main__":
    main()
