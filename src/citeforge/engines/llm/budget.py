"""What a run will cost, and stopping before it costs too much."""

import asyncio
import math
from dataclasses import dataclass

from citeforge.engines.llm.options import BATCH_PRICE
from citeforge.engines.llm.records import Call, Price, Result
from citeforge.engines.llm.replay import ReplayStore
from citeforge.schemas.errors import FailuresError, UsageError
from citeforge.schemas.recipes.base import RunOptions

_PER_MESSAGE = 8
CHARACTERS_PER_TOKEN = 4
PRICE_ADVICE = "add --price IN,OUT (per million tokens), e.g. --price 0.15,0.60"


def read_price(options: RunOptions) -> Price | None:
    """Read the price from options; None for none."""
    return None if options.price is None else Price(*options.price)


def estimate_prompt_tokens(call: Call) -> int:
    """Estimate the prompt tokens: a quarter of the characters, and a few per message."""
    return sum(map(len, call.texts)) // CHARACTERS_PER_TOKEN + _PER_MESSAGE * len(call.texts)


@dataclass(frozen=True)
class Bound:
    """Calls, and the tokens that they take; infinitely many for replies without a limit."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: float = 0

    def __add__(self, other: "Bound") -> "Bound":
        return Bound(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    def times(self, n: int) -> "Bound":
        """Multiply calls and tokens by n."""
        replies = n * self.completion_tokens if n else 0
        return Bound(n * self.calls, n * self.prompt_tokens, replies)

    def cost(self, price: Price) -> float:
        """Compute the cost at a price; infinite if replies have no token limit."""
        return price.cost(self.prompt_tokens, self.completion_tokens)


def bound_call(call: Call, room: int = 0) -> Bound:
    """Bound the tokens of a call: prompt bytes, and its answer limit plus ``room`` for thoughts."""
    size = sum(len(text.encode("utf-8", "replace")) for text in call.texts)
    limit = math.inf if call.most_tokens is None else call.most_tokens + room
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
        share: share of the price that is paid; less than 1 in batches.
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
        about, most, price = self.about, self.most, self.price

        def limit(tokens: float) -> str:
            return "no limit" if math.isinf(tokens) else f"{tokens:,}"

        once = "" if about.calls == most.calls else " if every first reply is taken"
        if price is None:
            cost = PRICE_ADVICE
        elif math.isinf(most.completion_tokens):
            cost = "no limit: requests without max_tokens"
        else:
            first, last = (self.share * bound.cost(price) for bound in (about, most))
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

    def __init__(self, options: RunOptions, store: ReplayStore | None, is_batched: bool) -> None:
        """Start from the tokens that were paid for in all runs on a store.

        Raises:
            UsageError: a limit without a price, or without a store.
        """
        price = read_price(options)
        self._limit = options.max_cost
        if self._limit is not None and (price is None or store is None):
            missing = "--store FILE, which counts the cost of all models and runs"
            if price is None:
                missing = "--price IN,OUT (per million tokens)"
            raise UsageError(f"--max-cost requires {missing}", code="missing-option")
        self._price, self._share = price, BATCH_PRICE if is_batched else 1.0
        self.tokens = in_batches = 0, 0
        if store is not None:
            self.tokens, in_batches = store.tokens(), store.tokens(in_batches=True)
        self.spent = None if price is None else total_cost(price, self.tokens, in_batches)
        self._held: list[float] = []
        self._freed = asyncio.Condition()

    def try_hold(self, call: Call, room: int) -> float | None:
        """Reserve a call's highest cost in the budget; None if it could pass the limit now."""
        if self._limit is None or self._price is None:
            return 0.0
        bound = bound_call(call, room).cost(self._price)
        if not math.isfinite(bound):
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
        """Wait until a call's highest cost fits the budget, and reserve it; see :meth:`try_hold`.

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
        """Build the error of a call that does not fit."""
        return BudgetError(self.spent or 0.0, self._limit or 0.0)

    async def settle(self, reserve: float, paid: Result | None) -> None:
        """Release a call's reserved cost, and add the tokens it used to what was spent."""
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
    """Compute the cost of tokens, of which ``batch_tokens`` are paid at the batch discount."""
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
