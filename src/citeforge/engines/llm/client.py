"""The OpenAI protocol, asynchronous: nothing that is stored is asked again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from citeforge.engines.llm.budget import (
    Budget,
    BudgetError,
    Plan,
    estimate_prompt_tokens,
    most_completion_tokens,
)
from citeforge.engines.llm.caller import Caller
from citeforge.engines.llm.options import KEY_VARIABLE, ClientOptions, make_client
from citeforge.engines.llm.records import Answer, Request, Result, settle
from citeforge.engines.llm.reply import read_reply
from citeforge.engines.llm.store import ReplayStore
from citeforge.engines.progress import Advance, progress
from citeforge.schemas.errors import InputError, UsageError

_HOPELESS = ("refused", "unauthorised", "exhausted")


OnResult = Callable[[int, Result], None]


class OpenAiLlm:
    """A model behind an OpenAI-compatible endpoint (OpenAI, vLLM, Ollama, llama.cpp, …)."""

    def __init__(
        self, model: str, store: ReplayStore | None = None, options: ClientOptions | None = None
    ) -> None:
        self.model = model
        self.store = store
        self.options = options or ClientOptions()

    def identity(self) -> dict[str, Any]:
        return {"name": f"openai:{self.model}"}

    def plan(self, requests: Sequence[Request]) -> Plan:
        """What :meth:`complete` would ask; sends nothing."""
        distinct = {r.key(self.model): r for r in requests}
        store = self.store
        known = {k for k in distinct if store is not None and store.get(k) is not None}
        rest = [r for k, r in distinct.items() if k not in known]
        prompt = sum(map(estimate_prompt_tokens, rest))
        limits = [most_completion_tokens(r) for r in rest]
        numbers = [n for n in limits if n is not None]
        completion = sum(numbers) if len(numbers) == len(limits) else None
        price = self.options.price
        cost = None
        if price is not None and completion is not None:
            cost = price.cost(prompt, completion)
        return Plan(len(distinct), len(known), prompt, completion, cost)

    def complete(
        self, requests: Sequence[Request], on_result: OnResult | None = None
    ) -> list[Result]:
        """One result a request, in order; equal requests are asked once.

        Args:
            requests: what to ask.
            on_result: told (index of the request, result) as soon as each is settled.

        Raises:
            InputError: no key, or the first calls all fail.
            BudgetError: the next call could pass the cost limit.
        """
        results: dict[str, Result] = {}
        waiting: dict[str, Request] = {}
        keys = [r.key(self.model) for r in requests]
        places: dict[str, list[int]] = {}
        for place, key in enumerate(keys):
            places.setdefault(key, []).append(place)

        def settled(key: str, result: Result) -> None:
            results[key] = result
            if on_result is not None:
                for place in places[key]:
                    on_result(place, result)

        for key, where in places.items():
            request = requests[where[0]]
            stored = self.store.get(key) if self.store is not None else None
            if stored is None:
                waiting[key] = request
            else:
                settled(key, settle(request, stored))
        if waiting:
            asyncio.run(_Run(self, waiting, settled).everything())
        return [results[key] for key in keys]


class _Run:
    """One run of the client: workers that share an iterator of requests."""

    def __init__(
        self,
        llm: OpenAiLlm,
        waiting: dict[str, Request],
        settled: Callable[[str, Result], None],
    ) -> None:
        self.llm = llm
        self.options = llm.options
        self.waiting = waiting
        self.settled = settled
        self.queue: Iterator[tuple[str, Request]] = iter(waiting.items())
        self.caller = Caller(self.options)
        spent = llm.store.tokens() if llm.store is not None else (0, 0)
        self.budget = Budget(self.options.price, self.options.max_cost, spent)
        self.answered = self.failed = 0
        self.stop: Exception | None = None

    async def everything(self) -> None:
        with progress("LLM", len(self.waiting), "calls") as advance:
            client = make_client(self.options)
            async with client:
                n = min(self.options.concurrency, len(self.waiting))
                async with asyncio.TaskGroup() as group:
                    for _ in range(n):
                        group.create_task(self._work(client, advance))
        if self.stop is not None:
            raise self.stop

    async def _work(self, client: Any, advance: Advance) -> None:
        for key, request in self.queue:
            if self.stop is not None:
                return
            try:
                held = await self.budget.hold(request)
            except (BudgetError, UsageError) as error:
                self.stop = self.stop or error
                return
            payload = request.payload(self.llm.model)
            result = await self.caller.call(
                partial(client.chat.completions.with_raw_response.create, **payload),
                read_reply,
                estimate_prompt_tokens(request),
            )
            if isinstance(result, Answer):
                result = settle(request, result)
            self._keep(key, request, result)
            await self.budget.settle(held, result)
            self._judge_start(result)
            advance(1, self._note())

    def _keep(self, key: str, request: Request, result: Result) -> None:
        """Store before anybody sees it."""
        store = self.llm.store
        if store is not None:
            payload = request.payload(self.llm.model)
            if isinstance(result, Answer):
                store.put(key, payload, request.sample, result)
            else:
                store.fail(key, payload, request.sample, result)
        self.settled(key, result)

    def _judge_start(self, result: Result) -> None:
        """Stop early when nothing works."""
        if isinstance(result, Answer):
            self.answered += 1
            return
        self.failed += 1
        if self.answered or result.kind not in _HOPELESS:
            return
        if result.kind == "unauthorised" or self.failed >= self.options.give_up_after:
            many = "call" if self.failed == 1 else f"{self.failed} calls"
            self.stop = self.stop or InputError(
                f"the first {many} failed: {result.message}",
                path=self.options.base_url or f"openai:{self.llm.model}",
                allowed=f"check the model, --base-url and {KEY_VARIABLE}; see: citeforge doctor",
            )

    def _note(self) -> str:
        prompt, completion = self.budget.tokens
        cost = "" if self.budget.spent is None else f" · cost {self.budget.spent:.4f}"
        return f"{prompt + completion:,} tokens{cost} · {self.failed} errors"
