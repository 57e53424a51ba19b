"""One caller: store, budget, rate, retries and counted failures under every paid call."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Generic, TypeVar

from citeforge.engines.io.progress import Advance, progress
from citeforge.engines.llm.budget import Budget, estimate_prompt_tokens
from citeforge.engines.llm.calls.caller import Caller
from citeforge.engines.llm.options import KEY_VARIABLE, ClientOptions, make_client
from citeforge.engines.llm.records import Call, Failure, LlmReply, Result
from citeforge.engines.llm.stores.keeping import Keeping, room_for
from citeforge.engines.llm.stores.replay import OnResult, ReplayStore, Take, ask_once
from citeforge.schemas.errors import CiteforgeError, InputError

_HOPELESS = ("refused", "unauthorised", "exhausted")

C = TypeVar("C", bound=Call)


@dataclass(frozen=True)
class Route(Generic[C]):
    """One of the things that an endpoint does.

    Attributes:
        title: what the progress line calls it.
        resource: attributes of the SDK's client that lead to it.
        read: the body of a 200 to an answer, or why it is none; what is ``unparsable`` is asked
            again.
        settle: an answer, stored or new, as its call takes it.
    """

    title: str
    resource: str
    read: Callable[[C, bytes], Result]
    settle: Callable[[C, LlmReply], Result] = lambda call, answer: answer


class Endpoint:
    """A model behind an OpenAI-compatible endpoint.

    Attributes:
        model: its name there.
        store: where answers are found and kept; None to keep none.
        options: how it is reached.
        tokens: prompt and completion tokens paid for: of all runs with a store, else of this
            object's.
    """

    def __init__(
        self, model: str, store: ReplayStore | None = None, options: ClientOptions | None = None
    ) -> None:
        self.model = model
        self.store = store
        self.options = options or ClientOptions()
        self.tokens = (0, 0)

    def ask(
        self, route: Route[C], calls: Sequence[C], on_result: OnResult | None = None
    ) -> list[Result]:
        """One result a call, in order; equal calls are made once, stored ones never.

        Args:
            route: where the calls go.
            calls: what to ask.
            on_result: told (index of the call, result) as soon as each is settled.

        Raises:
            InputError: no key, or the first calls all fail.
            BudgetError: the next call could pass the cost limit.
        """

        def ask(waiting: dict[str, C], take: Take) -> None:
            run = _Run(self, route, waiting, take)
            try:
                asyncio.run(run.everything())
            finally:
                self.tokens = run.budget.tokens

        return ask_once(calls, self.model, self.store, route.settle, ask, on_result)


class _Run(Generic[C]):
    """One run: workers that share a queue of calls.

    When the store fails, nothing more is asked; what is in flight lands and is kept beside it.
    """

    def __init__(
        self, endpoint: Endpoint, route: Route[C], waiting: dict[str, C], take: Take
    ) -> None:
        self.endpoint, self.route, self.take = endpoint, route, take
        self.options = endpoint.options
        self.queue = deque(waiting.items())
        self.n = len(waiting)
        self.caller = Caller(self.options)
        spent = endpoint.tokens if endpoint.store is None else endpoint.store.tokens()
        self.budget = Budget(self.options.price, self.options.max_cost, spent)
        self.answered = self.failed = 0
        self.stop: Exception | None = None
        self.keeping: Keeping | None = None

    async def everything(self) -> None:
        at_once = min(self.options.concurrency, self.n)
        with progress(self.route.title, self.n, "calls") as advance, ExitStack() as stack:
            client = make_client(self.options)
            if self.endpoint.store is not None:
                room = room_for((c for _, c in self.queue), self.endpoint.model, at_once)
                keeping = Keeping(self.endpoint.store, self.endpoint.model, room)
                self.keeping = stack.enter_context(keeping)
            async with client, asyncio.TaskGroup() as group:
                for _ in range(at_once):
                    group.create_task(self._work(client, advance))
            if self.keeping is not None and self.keeping.broken is not None:
                raise self.keeping.error()
        if self.stop is not None:
            raise self.stop

    async def _work(self, client: Any, advance: Advance) -> None:
        while self.stop is None and self.queue:
            key, call = self.queue.popleft()
            try:
                await self._ask(client, key, call)
            except CiteforgeError as error:
                self.stop = self.stop or error
                return
            advance(1, self._note())

    async def _ask(self, client: Any, key: str, call: C) -> None:
        reserve = await self.budget.hold(call)
        resource = attrgetter(self.route.resource)(client)
        send = partial(resource.with_raw_response.create, **call.payload(self.endpoint.model))
        read = partial(self.route.read, call)
        result = await self.caller.call(send, read, estimate_prompt_tokens(call))
        if isinstance(result, LlmReply):
            result = self.route.settle(call, result)
        if self.keeping is not None:  # stored before anybody sees it
            await self.keeping.keep(key, call, result)
        await self.budget.settle(reserve, result)
        if self.keeping is not None and self.keeping.broken is not None:
            self.stop = self.stop or self.keeping.broken
            return
        self.take(key, result)
        self._judge_start(result)

    def _judge_start(self, result: Result) -> None:
        """Stop early when nothing works."""
        if isinstance(result, LlmReply):
            self.answered += 1
            return
        self.failed += 1
        if self.answered or result.reason not in _HOPELESS:
            return
        if result.reason == "unauthorised" or self.failed >= self.options.give_up_after:
            many = "call" if self.failed == 1 else f"{self.failed} calls"
            self.stop = self.stop or InputError(
                f"the first {many} failed: {result.message}",
                path=self.options.endpoint,
                allowed=f"check the model, --base-url and {KEY_VARIABLE}; see: citeforge doctor",
            )

    def _note(self) -> str:
        cost = "" if self.budget.spent is None else f" · cost {self.budget.spent:.4f}"
        return f"{sum(self.budget.tokens):,} tokens{cost} · {self.failed} errors"


def numbers_of(results: Sequence[Result], what: str, model: str, allowed: str) -> list[Any]:
    """The numbers of calls that must all have answered.

    Raises:
        InputError: some failed; says how many.
    """
    failures = [r for r in results if isinstance(r, Failure)]
    if failures:
        raise InputError(
            f"{what} failed: {failures[0].message} "
            f"({len(failures):,} of {len(results):,} calls failed)",
            path=f"openai:{model}",
            allowed=allowed,
        )
    return [r.numbers for r in results if isinstance(r, LlmReply)]
