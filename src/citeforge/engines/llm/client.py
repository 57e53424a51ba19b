"""The OpenAI protocol, asynchronous: nothing that is stored is asked again."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from citeforge.engines.llm.budget import (
    Budget,
    Plan,
    estimate_prompt_tokens,
    most_completion_tokens,
)
from citeforge.engines.llm.caller import Caller
from citeforge.engines.llm.keeping import Keeping
from citeforge.engines.llm.options import KEY_VARIABLE, ClientOptions, make_client
from citeforge.engines.llm.records import Answer, Request, Result, settle
from citeforge.engines.llm.reply import read_reply
from citeforge.engines.llm.spill import room_for
from citeforge.engines.llm.store import ReplayStore
from citeforge.engines.progress import Advance, progress
from citeforge.schemas.errors import CiteforgeError, InputError

_HOPELESS = ("refused", "unauthorised", "exhausted")
_POLL = 0.1
"""Seconds between looks at what another run is asking."""

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
    """One run of the client: workers that share a queue of requests.

    When the store fails, nothing more is asked; what is in flight lands and is kept beside it.
    """

    def __init__(
        self,
        llm: OpenAiLlm,
        waiting: dict[str, Request],
        settled: Callable[[str, Result], None],
    ) -> None:
        self.llm = llm
        self.options = llm.options
        self.settled = settled
        self.queue = deque(waiting.items())
        self.theirs: deque[tuple[str, Request]] = deque()
        self.n = len(waiting)
        self.caller = Caller(self.options)
        spent = llm.store.tokens() if llm.store is not None else (0, 0)
        self.budget = Budget(self.options.price, self.options.max_cost, spent)
        self.answered = self.failed = 0
        self.stop: Exception | None = None
        self.keeping: Keeping | None = None

    async def everything(self) -> None:
        at_once = min(self.options.concurrency, self.n)
        with progress("LLM", self.n, "calls") as advance, ExitStack() as stack:
            client = make_client(self.options)
            if self.llm.store is not None:
                requests = [request for _, request in self.queue]
                room = room_for(requests, self.llm.model, at_once)
                self.keeping = stack.enter_context(Keeping(self.llm.store, self.llm.model, room))
            async with client, asyncio.TaskGroup() as group:
                for _ in range(at_once):
                    group.create_task(self._work(client, advance))
            if self.keeping is not None and self.keeping.broken is not None:
                raise self.keeping.error()
        if self.stop is not None:
            raise self.stop

    async def _work(self, client: Any, advance: Advance) -> None:
        while self.stop is None and (self.queue or self.theirs):
            mine = bool(self.queue)
            key, request = self.queue.popleft() if mine else self.theirs.popleft()
            try:
                taken = await self._one(client, key, request)
            except CiteforgeError as error:
                self.stop = self.stop or error
                return
            if taken:
                advance(1, self._note())
                continue
            self.theirs.append((key, request))
            if not mine:
                await asyncio.sleep(_POLL)

    async def _one(self, client: Any, key: str, request: Request) -> bool:
        """Settle one request; False while another run is asking it."""
        keeping = self.keeping
        if keeping is None:
            await self._ask(client, key, request)
            return True
        if not keeping.claims.take(key):
            return False
        try:
            # Another run may have stored it since this one began.
            stored = await keeping.stored(key)
            if stored is None:
                await self._ask(client, key, request)
            else:
                self.settled(key, settle(request, stored))
        finally:
            keeping.claims.release(key)
        return True

    async def _ask(self, client: Any, key: str, request: Request) -> None:
        held = await self.budget.hold(request)
        payload = request.payload(self.llm.model)
        result = await self.caller.call(
            partial(client.chat.completions.with_raw_response.create, **payload),
            read_reply,
            estimate_prompt_tokens(request),
        )
        if isinstance(result, Answer):
            result = settle(request, result)
        if self.keeping is not None:  # stored before anybody sees it
            await self.keeping.keep(key, request, result)
        await self.budget.settle(held, result)
        if self.keeping is not None and self.keeping.broken is not None:
            self.stop = self.stop or self.keeping.broken
            return
        self.settled(key, result)
        self._judge_start(result)

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
                path=self.options.endpoint,
                allowed=f"check the model, --base-url and {KEY_VARIABLE}; see: citeforge doctor",
            )

    def _note(self) -> str:
        prompt, completion = self.budget.tokens
        cost = "" if self.budget.spent is None else f" · cost {self.budget.spent:.4f}"
        theirs = f" · {len(self.theirs)} asked by another run" if self.theirs else ""
        return f"{prompt + completion:,} tokens{cost} · {self.failed} errors{theirs}"
