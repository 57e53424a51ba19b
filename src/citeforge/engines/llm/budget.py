"""What a run will cost, and stopping before it costs too much."""

import asyncio
import math
from dataclasses import dataclass

from citeforge.engines.llm.options import BATCH_PRICE, ClientOptions
from citeforge.engines.llm.records import Call, Price, Result
from citeforge.schemas.errors import FailuresError, UsageError

_PER_MESSAGE = 8
_CHARACTERS_PER_TOKEN = 4
PRICE_ADVICE = "add --price IN,OUT (per million tokens), e.g. --price 0.15,0.60"


def estimate_prompt_tokens(call: Call) -> int:
    """Usual number of prompt tokens: a quarter of the characters, and a few per message."""
    return sum(map(len, call.texts)) // _CHARACTERS_PER_TOKEN + _PER_MESSAGE * len(call.texts)


@dataclass(frozen=True)
class Bound:
    """Calls, and the tokens that they take.

    Attributes:
        calls: number of calls.
        prompt_tokens: tokens of their prompts.
        completion_tokens: tokens of their replies; None without a limit.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int | None = 0

    def __add__(self, other: "Bound") -> "Bound":
        replies = None
        if self.completion_tokens is not None and other.completion_tokens is not None:
            replies = self.completion_tokens + other.completion_tokens
        prompts = self.prompt_tokens + other.prompt_tokens
        return Bound(self.calls + other.calls, prompts, replies)

    def times(self, n: int) -> "Bound":
        """The bound of n such runs."""
        replies = self.completion_tokens
        return Bound(
            n * self.calls, n * self.prompt_tokens, None if replies is None else n * replies
        )

    def cost(self, price: Price | None) -> float | None:
        """Cost at a price; None without one, or without a limit."""
        if price is None or self.completion_tokens is None:
            return None
        return price.cost(self.prompt_tokens, self.completion_tokens)


def bound_call(call: Call, room: int = 0) -> Bound:
    """The most tokens that a call takes: a byte-level tokeniser makes at most one of a byte.

    Args:
        call: the call.
        room: tokens for thoughts beside the limit of its reply.
    """
    size = sum(len(text.encode("utf-8", "replace")) for text in call.texts)
    limit = None if call.most_tokens is None else call.most_tokens + room
    return Bound(1, size + _PER_MESSAGE * len(call.texts), limit)


@dataclass(frozen=True)
class RunPlan:
    """Calls of a run, and their cost.

    Attributes:
        requests: distinct requests that are known beforehand.
        stored: of these, answered by the store.
        about: the others, if every first reply is taken, with usual prompts and short replies.
        most: all calls that there can be: further tries, replacements, later rounds; prompts of a
            token per byte, and replies as long as they may be, thoughts included.
        price: of the tokens; None without one.
        share: of the price that is paid; less than 1 in batches.
        notes: what is not counted.
    """

    requests: int
    stored: int
    about: Bound
    most: Bound
    price: Price | None = None
    share: float = 1.0
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Describe requests, tokens and cost of the planned run, one line each."""
        about, most = self.about, self.most

        def limit(tokens: int | None) -> str:
            return "no limit" if tokens is None else f"{tokens:,}"

        once = "" if about.calls == most.calls else " if every first reply is taken"
        costs = about.cost(self.price), most.cost(self.price)
        if self.price is None:
            cost = PRICE_ADVICE
        elif costs[0] is None or costs[1] is None:
            cost = "no limit: requests without max_tokens"
        else:
            first, last = self.share * costs[0], self.share * costs[1]
            cost = f"about {first:,.4f}{once}; at most {last:,.4f}"
            if self.share != 1:
                cost += f" (batches: {self.share:g} of --price)"
        return [
            f"requests           {self.requests:,}",
            f"answered by store  {self.stored:,}",
            f"calls to make      {about.calls:,}" + (once and f"{once}; at most {most.calls:,}"),
            f"prompt tokens      about {about.prompt_tokens:,}; at most {most.prompt_tokens:,}",
            f"completion tokens  about {limit(about.completion_tokens)}; "
            f"at most {limit(most.completion_tokens)}",
            f"cost               {cost}",
            *self.notes,
        ]


class Budget:
    """Lets a call through only when even its upper bound keeps the total within the limit.

    Calls in flight hold their upper bound back; a call that does not fit waits until they have
    ended, and is refused only when it does not fit even then.

    Attributes:
        tokens: prompt and completion tokens that were paid for.
        spent: cost of all runs so far; None without a price.
    """

    def __init__(
        self, options: ClientOptions, tokens: tuple[int, int], batch_tokens: tuple[int, int],
        share: float,
    ) -> None:  # fmt: skip
        """Start from the tokens that were paid for before.

        Args:
            options: price and limit.
            tokens: all of them.
            batch_tokens: of these, tokens of batches.
            share: of the price that calls of this run cost.

        Raises:
            UsageError: a limit without a price.
        """
        price, self._limit = options.price, options.max_cost
        if self._limit is not None and price is None:
            raise UsageError(
                "--max-cost requires --price IN,OUT (per million tokens)", code="missing-option"
            )
        self._price, self._share, self.tokens = price, share, tokens
        self.spent = None if price is None else total_cost(price, tokens, batch_tokens)
        self._held: list[float] = []
        self._freed = asyncio.Condition()

    def try_hold(self, call: Call, room: int) -> float | None:
        """Hold back the upper bound of a call; None when it could pass the limit now.

        Args:
            call: the call.
            room: tokens that its reply may have beside its limit.
        """
        if self._limit is None:
            return 0.0
        bound = bound_call(call, room).cost(self._price)
        if bound is None:
            raise UsageError(
                "--max-cost requires a limit on the answer (max_tokens) of every request",
                code="missing-option",
            )
        bound *= self._share
        if (self.spent or 0.0) + math.fsum(self._held) + bound > self._limit:
            return None
        self._held.append(bound)
        return bound

    async def hold(self, call: Call, room: int) -> float:
        """Hold back the upper bound of a call as soon as it fits; see :meth:`try_hold`.

        Raises:
            BudgetError: the call could pass the limit.
        """
        async with self._freed:
            while (bound := self.try_hold(call, room)) is None:
                if not self._held:
                    raise self.error()
                await self._freed.wait()
        return bound

    def error(self) -> "BudgetError":
        """The error of a call that does not fit."""
        return BudgetError(self.spent or 0.0, self._limit or 0.0)

    async def settle(self, reserve: float, paid: Result | None) -> None:
        """Release what was held and count what was paid."""
        async with self._freed:
            if reserve in self._held:
                self._held.remove(reserve)
            if paid is not None:
                prompt, completion = paid.prompt_tokens, paid.completion_tokens
                self.tokens = self.tokens[0] + prompt, self.tokens[1] + completion
                if self._price is not None and self.spent is not None:
                    self.spent += self._share * self._price.cost(prompt, completion)
            self._freed.notify_all()


def total_cost(price: Price, tokens: tuple[int, int], batch_tokens: tuple[int, int]) -> float:
    """Cost of tokens, of which those of batches cost a share."""
    return price.cost(*tokens) - (1 - BATCH_PRICE) * price.cost(*batch_tokens)


class BudgetError(FailuresError):
    """The next call could pass the cost limit; everything answered so far is stored."""

    def __init__(self, spent: float, limit: float) -> None:
        super().__init__(
            f"stopped before --max-cost {limit:g} is passed (spent {spent:.4f} in all runs); "
            "what was answered is stored; raise --max-cost, or lower --thinking-tokens, and run "
            "again",
            code="budget",
        )
