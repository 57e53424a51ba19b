"""The OpenAI protocol, asynchronous: nothing that is stored is asked again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from citeforge.engines.llm.budget import (
    Budget,
    BudgetError,
    Plan,
    estimate_prompt_tokens,
    most_completion_tokens,
)
from citeforge.engines.llm.rate import RateGate, RetryPolicy, retry_after
from citeforge.engines.llm.records import Answer, Failure, Price, Request, Result
from citeforge.engines.llm.reply import read_reply
from citeforge.engines.llm.store import ReplayStore
from citeforge.engines.progress import Advance, progress
from citeforge.schemas.errors import InputError, UsageError

KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
_HOPELESS = ("refused", "unauthorised", "exhausted")


@dataclass(frozen=True)
class ClientOptions:
    """How to talk to an endpoint; nothing here changes an answer.

    Attributes:
        base_url: endpoint; None for ``OPENAI_BASE_URL`` or OpenAI's own.
        concurrency: requests in flight.
        timeout: seconds before a silent connection counts as broken.
        retry: how often and how long to try again.
        requests_per_minute: rate to start with; None to learn it from 429s.
        tokens_per_minute: likewise for tokens.
        price: to show and limit costs.
        max_cost: stop before the total of all runs passes this.
        give_up_after: stop when so many calls have ended and all of them failed.
    """

    base_url: str | None = None
    concurrency: int = 16
    timeout: float = 120.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    price: Price | None = None
    max_cost: float | None = None
    give_up_after: int = 10


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

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """One result a request, in order; equal requests are asked once.

        Raises:
            InputError: no key, or the first calls all fail.
            BudgetError: the next call could pass the cost limit.
        """
        results: dict[str, Result] = {}
        waiting: dict[str, Request] = {}
        keys = [r.key(self.model) for r in requests]
        for key, request in zip(keys, requests, strict=True):
            if key in results or key in waiting:
                continue
            stored = self.store.get(key) if self.store is not None else None
            if stored is None:
                waiting[key] = request
            else:
                results[key] = stored
        if waiting:
            asyncio.run(_Run(self, waiting, results).everything())
        return [results[key] for key in keys]


class _Run:
    """One run of the client: workers that share an iterator of requests."""

    def __init__(
        self, llm: OpenAiLlm, waiting: dict[str, Request], results: dict[str, Result]
    ) -> None:
        self.llm = llm
        self.options = llm.options
        self.waiting = waiting
        self.results = results
        self.secret = os.environ.get(KEY_VARIABLE, "")
        self.queue: Iterator[tuple[str, Request]] = iter(waiting.items())
        self.gate = RateGate(self.options.requests_per_minute, self.options.tokens_per_minute)
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
            result = await self._ask(client, request)
            self._keep(key, request, result)
            await self.budget.settle(held, result)
            self._judge_start(result)
            advance(1, self._note())

    def _keep(self, key: str, request: Request, result: Result) -> None:
        """Store before anybody sees it."""
        self.results[key] = result
        store = self.llm.store
        if store is not None:
            payload = request.payload(self.llm.model)
            if isinstance(result, Answer):
                store.put(key, payload, request.sample, result)
            else:
                store.fail(key, payload, request.sample, result)

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

    async def _ask(self, client: Any, request: Request) -> Result:
        """Try until there is an answer, a failure that will not go away, or no try left."""
        payload = request.payload(self.llm.model)
        tokens = estimate_prompt_tokens(request)
        loop = asyncio.get_running_loop()
        policy = self.options.retry
        broken = throttled = 0
        while True:
            await self.gate.wait(tokens)
            result, wait = await self._once(client, payload)
            if wait is None:
                return result
            if isinstance(result, Failure) and result.status == 429:
                throttled += 1
                pause = max(wait, policy.pause(throttled))
                self.gate.throttled(loop.time(), pause)
                spent = throttled >= policy.throttled_attempts
            else:
                broken += 1
                pause = max(wait, policy.pause(broken))
                spent = broken >= policy.attempts
            if spent or pause > policy.longest_wait:
                assert isinstance(result, Failure)
                tries = broken + throttled
                return Failure("exhausted", f"{result.message} ({tries} tries)", result.status)
            await asyncio.sleep(pause)

    async def _once(self, client: Any, payload: dict[str, Any]) -> tuple[Result, float | None]:
        """One call: (result, None) when it stands, (failure, least pause) to try again."""
        import openai

        try:
            reply = await client.chat.completions.with_raw_response.create(**payload)
        except openai.APIStatusError as error:
            return self._status_error(error)
        except openai.APITimeoutError:
            seconds = self.options.timeout
            return Failure("exhausted", f"no answer within {seconds:g} s"), 0.0
        except openai.APIConnectionError as error:
            reason = str(error.__cause__ or error) or type(error.__cause__ or error).__name__
            return Failure("exhausted", self._clean(f"the connection broke: {reason}")), 0.0
        result = read_reply(reply.http_response.content)
        if isinstance(result, Failure) and result.kind == "unparsable":
            return result, 0.0
        return result, None

    def _status_error(self, error: Any) -> tuple[Failure, float | None]:
        status = int(error.status_code)
        message = self._clean(f"HTTP {status}: {error.message}")
        if status in (408, 409, 429) or status >= 500:
            wait = retry_after(error.response.headers) or 0.0
            return Failure("exhausted", message, status), wait
        if status in (401, 403):
            return Failure("unauthorised", message, status), None
        code = str(getattr(error, "code", None) or "")
        kind = "content_filter" if "content" in code and "filter" in code else "refused"
        return Failure(kind, message, status), None  # type: ignore[arg-type]

    def _clean(self, message: str) -> str:
        """One line without the key, wherever a server may have echoed it."""
        text = " ".join(message.split())[:300]
        return text.replace(self.secret, "[key]") if self.secret else text


def make_client(options: ClientOptions) -> Any:
    """An ``AsyncOpenAI`` whose key comes from the environment only.

    Raises:
        InputError: no key for OpenAI's own endpoint.
    """
    from openai import AsyncOpenAI

    url = options.base_url or os.environ.get(URL_VARIABLE)
    key = os.environ.get(KEY_VARIABLE)
    if not key and not url:
        raise InputError(
            f"{KEY_VARIABLE} is not set",
            allowed="set it, name a local endpoint with --base-url, or use --llm template",
        )
    # Retries are ours: the SDK's know nothing of the rate, the budget and the store.
    return AsyncOpenAI(api_key=key or "none", base_url=url, max_retries=0, timeout=options.timeout)
