"""What a run will cost, and stopping before it costs too much."""

import asyncio
import math
from dataclasses import dataclass

from citeforge.engines.llm.records import Call, Price, Result
from citeforge.schemas.errors import FailuresError, UsageError

_PER_MESSAGE = 8
_CHARACTERS_PER_TOKEN = 4


def estimate_prompt_tokens(call: Call) -> int:
    """Usual number of prompt tokens: a quarter of the characters, and a few per message."""
    return sum(map(len, call.texts)) // _CHARACTERS_PER_TOKEN + _PER_MESSAGE * len(call.texts)


def most_prompt_tokens(call: Call) -> int:
    """Upper bound: a byte-level tokeniser makes at most one token of a byte."""
    size = sum(len(text.encode("utf-8", "replace")) for text in call.texts)
    return size + _PER_MESSAGE * len(call.texts)


@dataclass(frozen=True)
class RunPlan:
    """What a run would do.

    Attributes:
        requests: distinct requests.
        stored: of these, answered by the store.
        prompt_tokens: estimate for the rest.
        completion_tokens: at most so many, where every request sets a limit; else None.
        cost: estimate for the rest at the given price; None without one.
    """

    requests: int
    stored: int
    prompt_tokens: int
    completion_tokens: int | None
    cost: float | None

    def lines(self) -> list[str]:
        """Lines to print."""
        completion = "no limit" if self.completion_tokens is None else f"{self.completion_tokens:,}"
        cost = "give --price IN,OUT" if self.cost is None else f"at most about {self.cost:,.4f}"
        return [
            f"requests           {self.requests:,}",
            f"answered by store  {self.stored:,}",
            f"calls to make      {self.requests - self.stored:,}",
            f"prompt tokens      about {self.prompt_tokens:,}",
            f"completion tokens  at most {completion}",
            f"cost               {cost}",
        ]


class Budget:
    """Lets a call through only when even its upper bound keeps the total within the limit.

    Calls in flight hold their upper bound back; a call that does not fit waits until they have
    ended, and is refused only when it does not fit even then.
    """

    def __init__(self, price: Price | None, limit: float | None, spent: tuple[int, int]) -> None:
        """Start from the tokens that were spent before.

        Raises:
            UsageError: a limit without a price.
        """
        if limit is not None and price is None:
            raise UsageError(
                "--max-cost requires --price IN,OUT (per million tokens)", code="missing-option"
            )
        self._price = price
        self._limit = limit
        self.tokens = spent
        self._held: list[float] = []
        self._freed = asyncio.Condition()

    @property
    def spent(self) -> float | None:
        """Cost of all runs so far; None without a price."""
        return None if self._price is None else self._price.cost(*self.tokens)

    async def hold(self, call: Call, room: int = 0) -> float:
        """Hold back the upper bound of a call.

        Args:
            call: the call.
            room: tokens that its reply may have beside its limit.

        Raises:
            BudgetError: the call could pass the limit.
        """
        if self._limit is None or self._price is None:
            return 0.0
        completion = call.most_tokens
        if completion is None:
            raise UsageError(
                "--max-cost requires a limit on the answer (max_tokens) of every request",
                code="missing-option",
            )
        bound = self._price.cost(most_prompt_tokens(call), completion + room)
        async with self._freed:
            while (self.spent or 0.0) + math.fsum(self._held) + bound > self._limit:
                if not self._held:
                    raise BudgetError(self.spent or 0.0, self._limit)
                await self._freed.wait()
            self._held.append(bound)
        return bound

    async def settle(self, reserve: float, result: Result) -> None:
        """Release what was held and count what was paid."""
        async with self._freed:
            if reserve in self._held:
                self._held.remove(reserve)
            prompt, completion = self.tokens
            self.tokens = (prompt + result.prompt_tokens, completion + result.completion_tokens)
            self._freed.notify_all()


class BudgetError(FailuresError):
    """The next call could pass the cost limit; everything answered so far is stored."""

    def __init__(self, spent: float, limit: float) -> None:
        super().__init__(
            f"stopped before --max-cost {limit:g} is passed (spent {spent:.4f} in all runs); "
            "what was answered is stored; raise --max-cost and run again",
            code="budget",
        )
