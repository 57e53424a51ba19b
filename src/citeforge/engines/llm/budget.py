"""Estimates of a run's cost, and a budget that stops the run before its limit is exceeded."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from citeforge.engines.ledger import Ledger, Paid
from citeforge.engines.llm.addresses import BATCH_PRICE
from citeforge.engines.llm.records import LlmReply, Result
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.shown import show_amount, show_number
from citeforge.engines.textfiles import count_text
from citeforge.schemas.errors import FailuresError, UsageError
from citeforge.schemas.outputs import UndefinedNumber
from citeforge.schemas.recipes.base import Prices, RunOptions

_PER_MESSAGE = 8
CHARACTERS_PER_TOKEN = 4
USUAL_ANSWER = 128
"""Tokens of a reply of unknown length, for estimates; thoughts come on top."""
PRICE_ADVICE = "add --price IN,OUT (per million tokens), e.g. --price 0.15,0.60"


def token_cost(price: Prices, prompt_tokens: float, completion_tokens: float) -> float:
    """Compute the cost of tokens at (prompt, completion) prices per million tokens."""
    return (prompt_tokens * price[0] + completion_tokens * price[1]) / 1e6


def total_cost(price: Prices, tokens: tuple[int, int], batch_tokens: tuple[int, int]) -> float:
    """Compute the cost of tokens, of which ``batch_tokens`` are paid at the batch discount."""
    return token_cost(price, *tokens) - (1 - BATCH_PRICE) * token_cost(price, *batch_tokens)


def prompt_texts(body: Mapping[str, Any]) -> Sequence[str]:
    """List the texts that a request's body asks a model to read."""
    if "messages" in body:
        return [message["content"] for message in body["messages"]]
    return list(body["input"]) if "input" in body else [body["prompt"]]


def answer_limit(body: Mapping[str, Any]) -> float:
    """Get how many answer tokens a request allows: infinite without limit, 0 for embeddings."""
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    if limit is None:
        return 0 if "input" in body else math.inf  # embeddings have no answer
    return int(limit)


def estimate_prompt_tokens(body: Mapping[str, Any]) -> int:
    """Estimate a request's prompt tokens: a quarter of its characters, and a few per message."""
    texts = prompt_texts(body)
    return sum(map(len, texts)) // CHARACTERS_PER_TOKEN + _PER_MESSAGE * len(texts)


def count_tokens(text: str) -> int:
    """Estimate the tokens of a reply: a quarter of its characters, and an end token."""
    return len(text) // CHARACTERS_PER_TOKEN + 1


def estimate_call(body: Mapping[str, Any], usual_reply: str = "") -> "Bound":
    """Estimate the tokens of a usual call: its prompt, and a reply of usual length.

    Args:
        body: body of the request.
        usual_reply: text about as long as the reply; empty if nothing is known of it.
    """
    usual = count_tokens(usual_reply) if usual_reply else USUAL_ANSWER
    reply = min(usual, answer_limit(body))
    return Bound(1, estimate_prompt_tokens(body), reply)


def require_store(options: RunOptions, has_store: bool) -> None:
    """Raise an error if --batch has no store of replies, or --max-cost no store or no price.

    Raises:
        UsageError: --batch without a store; --max-cost without a store or a price.
    """
    if options.batch and not has_store:
        raise UsageError(
            "--batch requires --store FILE: a killed command finds its batch there",
            code="missing-option",
        )
    if options.max_cost is not None and (options.price is None or not has_store):
        missing = "--store FILE, which counts the cost of all models and runs"
        if options.price is None:
            missing = "--price IN,OUT (per million tokens)"
        raise UsageError(f"--max-cost requires {missing}", code="missing-option")


def estimate_paid(body: Mapping[str, Any], reply: LlmReply) -> LlmReply:
    """Fill in a reply's numbers of tokens with estimates if the server counted none."""
    if reply.prompt_tokens or reply.completion_tokens:
        return reply
    n_written = count_tokens("".join((reply.text, *reply.thoughts)))
    paid = estimate_prompt_tokens(body), int(min(n_written, answer_limit(body)))
    return replace(reply, prompt_tokens=paid[0], completion_tokens=paid[1])


@dataclass(frozen=True)
class Bound:
    """Calls, and the tokens that they take.

    Attributes:
        calls: number of calls.
        prompt_tokens: tokens of prompts.
        completion_tokens: tokens of answers; infinitely many for answers without a limit.
        thoughts: tokens of thoughts, which are paid like those of answers.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: UndefinedNumber = 0
    thoughts: int = 0

    def __add__(self, other: "Bound") -> "Bound":
        """Add the calls and the tokens of two bounds."""
        return Bound(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.thoughts + other.thoughts,
        )

    def times(self, n: int) -> "Bound":
        """Multiply the bound (calls and tokens) by n."""
        replies = n * self.completion_tokens if n else 0
        return Bound(n * self.calls, n * self.prompt_tokens, replies, n * self.thoughts)

    def cost(self, price: Prices) -> float:
        """Compute what these calls cost at a price; infinite if replies have no token limit."""
        return token_cost(price, self.prompt_tokens, self.completion_tokens + self.thoughts)

    def without_thoughts(self) -> "Bound":
        """Copy the bound of calls and tokens, without tokens for a model's thoughts."""
        return dataclasses.replace(self, thoughts=0)


def bound_call(body: Mapping[str, Any], thinking_tokens: int = 0) -> Bound:
    """Compute the most tokens of a call: its prompt's bytes, answer limit and thinking tokens."""
    texts = prompt_texts(body)
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    return Bound(1, size + _PER_MESSAGE * len(texts), answer_limit(body), thinking_tokens)


@dataclass(frozen=True)
class RunPlan:
    """Calls of a run, and their cost.

    Attributes:
        requests: distinct requests that are known beforehand.
        stored: of these, answered by the store.
        about: the others, if every first reply is taken, with usual prompts and replies.
        most: all calls that there can be: further tries, replacements, later rounds; prompts of a
            token per byte, and replies as long as they may be, thoughts included.
        share: share of the price that is paid; less than 1 in batches.
        notes: what is not counted, or how it was estimated.
        parts: plans of several models that this one adds up, by role and name.
    """

    requests: int
    stored: int
    about: Bound
    most: Bound
    price: Prices | None = None
    share: float = 1.0
    notes: tuple[str, ...] = ()
    parts: tuple[tuple[str, "RunPlan"], ...] = ()

    def costs(self) -> tuple[float, float, float]:
        """Compute costs: (about, at most without thinking, at most); all 0 without a price.

        Returns:
            (about, at most without thoughts, at most with thoughts).
        """
        if self.parts:
            costs = [part.costs() for _, part in self.parts]
            about, plain, most = (math.fsum(column) for column in zip(*costs, strict=True))
            return about, plain, most
        if self.price is None:
            return 0.0, 0.0, 0.0
        bounds = (self.about, self.most.without_thoughts(), self.most)
        about, plain, most = (self.share * bound.cost(self.price) for bound in bounds)
        return about, plain, most

    def _most_cost(self) -> str:
        """Write the most that the run costs: without thoughts, and with them if there may be."""
        _, plain, most = self.costs()
        with_thoughts = f", with thoughts {show_amount(most, 4)}" if self.most.thoughts else ""
        return f"at most {show_amount(plain, 4)}{with_thoughts}"

    def _part_line(self, label: str) -> str:
        """Describe the planned calls and cost of one of several models, in one line."""
        text = f"{label}: {count_text(self.about.calls, 'call')}, at most {self.most.calls:,}"
        if self.price is not None:
            text += f"; cost about {show_amount(self.costs()[0], 4)}, {self._most_cost()}"
        return f"  {text}"

    def to_text_lines(self) -> list[str]:
        """Describe requests, tokens and cost of the planned run, one line each."""
        about, most, price = self.about, self.most, self.price

        def limit(tokens: float) -> str:
            """Format a number of tokens; "no limit" for infinitely many."""
            return "no limit" if math.isinf(tokens) else f"{int(tokens):,}"

        once = "" if about.calls == most.calls else " if every first reply is taken"
        if price is None:
            cost = PRICE_ADVICE
        elif math.isinf(most.completion_tokens):
            cost = "no limit: requests without max_tokens"
        else:
            cost = f"about {show_amount(self.costs()[0], 4)}{once}; {self._most_cost()}"
            if self.share != 1:
                cost += f" (batches: {self.share:g} of --price)"
        answers, thoughts = most.completion_tokens, most.thoughts
        with_thoughts = f", with thoughts {limit(answers + thoughts)}" if thoughts else ""
        return [
            f"requests           {self.requests:,}",
            f"answered by store  {self.stored:,}",
            f"calls to make      {about.calls:,}" + (once and f"{once}; at most {most.calls:,}"),
            f"prompt tokens      about {about.prompt_tokens:,}; at most {most.prompt_tokens:,} "
            "(a token per byte)",
            f"completion tokens  about {limit(about.completion_tokens)} (replies of usual length, "
            f"without thoughts); at most {limit(answers)}{with_thoughts}",
            f"cost               {cost}",
            *(part._part_line(label) for label, part in self.parts),
            *self.notes,
        ]


def total_plan(plans_by_label: Mapping[str, RunPlan]) -> RunPlan:
    """Add up the plans of several models, by role and name; a single one stays as it is.

    Args:
        plans_by_label: plan of each model.
    """
    if len(plans_by_label) == 1:
        return next(iter(plans_by_label.values()))
    plans = list(plans_by_label.values())
    return RunPlan(
        sum(p.requests for p in plans),
        sum(p.stored for p in plans),
        sum((p.about for p in plans), Bound()),
        sum((p.most for p in plans), Bound()),
        next((p.price for p in plans if p.price is not None), None),
        min((p.share for p in plans), default=1.0),
        tuple(dict.fromkeys(note for p in plans for note in p.notes)),
        tuple(plans_by_label.items()),
    )


def merge_plans(plans: Sequence[RunPlan]) -> RunPlan:
    """Add up the planned calls of one model."""
    total = total_plan({str(n): plan for n, plan in enumerate(plans)})
    return dataclasses.replace(total, parts=())


def planned_total(ledger: Ledger) -> RunPlan:
    """Add up all calls that a dry run noted in its ledger, by model."""
    return total_plan({label: merge_plans(plans) for label, plans in ledger.planned.items()})


class Budget:
    """Lets a call through only when even its upper bound keeps the total within the limit.

    Attributes:
        tokens: prompt and completion tokens that were paid for.
        spent: cost of all runs so far; None without a price.
    """

    def __init__(
        self, options: RunOptions, store: ReplayStore | None, is_batched: bool, bill_label: str,
        ledger: Ledger,
    ) -> None:  # fmt: skip
        """Set a model's cost limit; read from the store what all runs have paid so far.

        Args:
            options: price and limit.
            store: what all runs have paid for.
            is_batched: whether calls cost half the price.
            bill_label: role and name of the model in the ledger.
            ledger: gets the calls that are paid for.

        Raises:
            UsageError: a limit without a price, or without a store.
        """
        price, self._limit = options.price, options.max_cost
        require_store(options, store is not None)
        self._label, self._ledger = bill_label, ledger
        self._price, self._share = price, BATCH_PRICE if is_batched else 1.0
        self.tokens = in_batches = 0, 0
        if store is not None:
            self.tokens, in_batches = store.tokens(), store.tokens(in_batches=True)
        self.spent = None if price is None else total_cost(price, self.tokens, in_batches)
        self._held: dict[str, float] = {}

    def hold(self, key: str, body: Mapping[str, Any], thinking_tokens: int) -> bool:
        """Reserve a call's highest cost; return false while calls under way leave too little.

        Args:
            key: key of the request.
            body: its body, which bounds the tokens of prompt and answer.
            thinking_tokens: tokens for thoughts beyond the limit on the answer.

        Raises:
            BudgetError: nothing is in flight, and the call could pass the limit.
            UsageError: there is no limit on its answer.
        """
        if self._limit is None or self._price is None:
            return True
        bound = self._share * bound_call(body, thinking_tokens).cost(self._price)
        if not math.isfinite(bound):
            raise UsageError(
                "--max-cost requires a limit on the answer (max_tokens) of every request",
                code="missing-option",
            )
        spent = self.spent or 0.0
        if spent + math.fsum(self._held.values()) + bound <= self._limit:
            self._held[key] = bound
            return True
        if self._held:
            return False
        raise BudgetError(
            f"stopped before --max-cost {self._limit:g} is passed "
            f"(spent {show_number(spent, 4)} in all runs); "
            "what was answered is stored; raise --max-cost, or lower --thinking-tokens, and run "
            "again",
            code="budget",
        )

    def release(self, key: str, paid: Result | None) -> None:
        """Release a call's reserved cost, and add the tokens it used to what was spent.

        Args:
            key: key of the request.
            paid: its reply or failure, with the tokens used; None if it is sent again.
        """
        self._held.pop(key, None)
        if paid is not None:
            prompt, completion = paid.prompt_tokens, paid.completion_tokens
            self.tokens = self.tokens[0] + prompt, self.tokens[1] + completion
            cost = 0.0
            if self._price is not None and self.spent is not None:
                cost = self._share * token_cost(self._price, prompt, completion)
                self.spent += cost
            if prompt or completion:
                self._ledger.pay(self._label, Paid(1, prompt, completion, cost))


class BudgetError(FailuresError):
    """The next call could pass the cost limit; everything answered so far is stored."""
