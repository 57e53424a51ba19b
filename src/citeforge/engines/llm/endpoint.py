"""A model behind an endpoint: stored, budgeted, adapted and counted calls through the SDK."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Generic, TypeVar

from citeforge.engines.io.progress import Advance, progress
from citeforge.engines.llm.adapting import LIMIT, Adaptation, difference, is_too_long
from citeforge.engines.llm.budget import Budget
from citeforge.engines.llm.options import KEY_VARIABLE, ClientOptions, one_line
from citeforge.engines.llm.options import without_key as hide
from citeforge.engines.llm.reading import NO_REPLY, EndpointError, is_unpaid, read_error
from citeforge.engines.llm.records import (
    MAX_ANSWER,
    THINKING,
    TRUNCATED,
    Call,
    Failure,
    FailureReason,
    LlmReply,
    Result,
    request_key,
)
from citeforge.engines.llm.replay import OnResult, ReplayStore, Take, ask_once
from citeforge.schemas.errors import CiteforgeError, InputError

_HOPELESS = ("refused", "unauthorised", "exhausted")
_LEAST_ROOM = 16

NOTHING = LlmReply("")
"""Costs nothing."""

C = TypeVar("C", bound=Call)


@dataclass(frozen=True)
class Route(Generic[C]):
    """One resource of an endpoint.

    Attributes:
        title: name in the progress line.
        resource: attributes of the SDK's client that lead to it.
        read: reads the body of a 200.
        settle: reads a reply, stored or new, as its call needs it.
    """

    title: str
    resource: str
    read: Callable[[C, bytes], Result]
    settle: Callable[[C, LlmReply], Result] = lambda call, answer: answer


class Endpoint:
    """A model behind an OpenAI-compatible endpoint.

    Attributes:
        model: its name there.
        store: where replies are found and kept; None to keep none.
        options: how it is reached.
        adaptation: what its server was found to refuse.
        tokens: prompt and completion tokens paid for: of all runs with a store, else of this
            object's.
    """

    def __init__(
        self, model: str, store: ReplayStore | None = None, options: ClientOptions | None = None
    ) -> None:
        self.model = model
        self.store = store
        self.options = options or ClientOptions()
        self.adaptation = Adaptation()
        self.tokens = (0, 0)

    def ask(
        self, route: Route[C], calls: Sequence[C], on_result: OnResult | None = None
    ) -> list[Result]:
        """One result per call, in order; equal calls are made once, stored ones never.

        Args:
            route: where the calls go.
            calls: what to ask.
            on_result: called with (index of the call, result) as soon as each is settled.

        Raises:
            InputError: no key, no credit, or the first calls all fail.
            BudgetError: the next call could pass the cost limit.
        """

        def ask(waiting: dict[str, C], take: Take) -> None:
            run = _Run(self, route, take)
            try:
                asyncio.run(run.ask_all(waiting))
            finally:
                self.tokens = run.budget.tokens

        return ask_once(calls, self.model, self.store, route.settle, ask, on_result)

    def room(self, call: Call) -> int:
        """Tokens for thoughts that a call gets beside its own limit."""
        is_limited = getattr(call, "limited_by", None) == THINKING and call.most_tokens is not None
        return self.options.thinking_tokens if is_limited else 0

    def ask_numbers(self, route: Route[C], calls: Sequence[C], allowed: str) -> list[Any]:
        """The numbers of calls that must all be answered.

        Raises:
            InputError: some failed, or see :meth:`ask`; ``allowed`` says what would help.
            BudgetError: the next call could pass the cost limit.
        """
        results = self.ask(route, calls)
        self.require_replies(route, results, allowed)
        return [r.numbers for r in results if isinstance(r, LlmReply)]

    def require_replies(self, route: Route[C], results: Sequence[Result], allowed: str) -> None:
        """Refuse results with a failure among them.

        Raises:
            InputError: there is one; ``allowed`` says what would help.
        """
        failures = [r for r in results if isinstance(r, Failure)]
        if failures:
            raise InputError(
                f"{route.title} failed: {failures[0].message} "
                f"({len(failures):,} of {len(results):,} calls failed)",
                path=f"openai:{self.model}",
                allowed=allowed,
                code="endpoint-failed",
            )


class _Run(Generic[C]):
    """Concurrent calls; when the store fails, nothing more is asked."""

    def __init__(self, endpoint: Endpoint, route: Route[C], take: Take) -> None:
        self.endpoint, self.route, self.take = endpoint, route, take
        self.options, self.store = endpoint.options, endpoint.store
        spent = endpoint.tokens if self.store is None else self.store.tokens()
        self.budget = Budget(self.options.price, self.options.max_cost, spent)
        self.in_flight = asyncio.Semaphore(self.options.concurrency)
        self.storing = asyncio.Lock()
        self.answered = self.failed = self.without_room = self.lost = 0
        self.stop: Exception | None = None

    async def ask_all(self, waiting: dict[str, C]) -> None:
        """Ask everything; an error that ends the run is raised when no call is in flight."""
        from citeforge.engines.llm.transport import make_client  # imports the SDK: a second

        with progress(self.route.title, len(waiting), "calls") as advance:
            client = make_client(self.options)
            create = attrgetter(self.route.resource)(client).with_raw_response.create
            async with client, asyncio.TaskGroup() as group:
                for key, call in waiting.items():
                    await self.in_flight.acquire()
                    if self.stop is not None:
                        break
                    group.create_task(self._ask(create, key, call, advance))
        if self.lost and isinstance(self.stop, CiteforgeError):
            message = f"{self.stop}; {self.lost:,} replies that were under way could not be stored"
            raise InputError(message, code=self.stop.code)
        if self.stop is not None:
            raise self.stop

    async def _ask(self, create: Any, key: str, call: C, advance: Advance) -> None:
        room, reserve = self.endpoint.room(call), 0.0
        paid: Result = NOTHING
        try:
            reserve = await self.budget.hold(call, room)
            if self.stop is not None:
                return
            sent, reply, is_new = await self._send(create, call, room)
            result = self.route.settle(call, reply) if isinstance(reply, LlmReply) else reply
            paid = result if is_new else NOTHING
            # Not what was made of it: thoughts are told apart again whenever it is read.
            await self._keep(
                key, sent, call, reply if isinstance(result, LlmReply) else result, is_new
            )
            self.take(key, result)
            self._check_start(call, result)
            advance(1, self._note())
        except CiteforgeError as error:
            self.stop = self.stop or error
        finally:
            await self.budget.settle(reserve, paid)
            self.in_flight.release()

    async def _keep(
        self, key: str, sent: dict[str, Any], call: C, result: Result, is_new: bool
    ) -> None:
        """Store a result before it is used; after a failure of the store, count what is lost."""
        if self.store is None:
            return
        changes = difference(call.payload(self.endpoint.model), sent)
        async with self.storing:
            if self.lost:
                self.lost += 1
                return
            try:
                # Another program's lock may make us wait; replies go on arriving meanwhile.
                await asyncio.to_thread(
                    self.store.keep, key, sent, call.sample, result, changes, is_new
                )
            except CiteforgeError as error:
                self.lost, self.stop = 1, error
                raise

    async def _send(self, create: Any, call: C, room: int) -> tuple[dict[str, Any], Result, bool]:
        """(body that was sent, result, whether it was paid for), adapted to what is refused."""
        adaptation = self.endpoint.adaptation
        asked = call.payload(self.endpoint.model)
        while True:
            sent = adaptation.apply(
                asked | ({LIMIT: asked[LIMIT] + room} if room and LIMIT in asked else {})
            )
            if sent != asked and self.store is not None:
                stored = self.store.get(request_key(sent, call.sample))
                if stored is not None:
                    return sent, stored, False
            result = await self._try(create, sent, call)
            if not isinstance(result, EndpointError):
                return sent, result, True
            if adaptation.apply(sent) != sent:
                continue  # another call has learned it in the meantime
            if (change := adaptation.learn(sent, result)) is not None:
                sys.stderr.write(f"openai:{self.endpoint.model} {change}\n")
            elif room and is_too_long(result):
                room = room // 2 if room >= 2 * _LEAST_ROOM else 0
            else:
                return sent, _failure(result), True

    async def _try(self, create: Any, sent: dict[str, Any], call: C) -> Result | EndpointError:
        """One call with the SDK's own retries; an error is returned if it may be adapted to."""
        import openai

        try:
            reply = await create(**sent)
        except openai.APIStatusError as error:
            read = read_error(error.status_code, error.response.content)
            read = read._replace(message=one_line(read.message))
            return read if read.status in (400, 404, 422, 501) else _failure(read)
        except openai.APITimeoutError:
            return Failure("exhausted", f"no answer within {self.options.timeout:g} s")
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            message = f"the connection broke: {str(cause) or type(cause).__name__}"
            return Failure("exhausted", one_line(message))
        return _redacted(self.route.read(call, reply.http_response.content))

    def _check_start(self, call: C, result: Result) -> None:
        """Stop at once without credit, and early when nothing works."""
        is_cut = _has_no_room(result)
        if isinstance(result, LlmReply) and not is_cut:
            self.answered += 1
            return
        self.failed += 1
        self.without_room += is_cut
        reason = result.reason if isinstance(result, Failure) else "no_room"
        message = result.message if isinstance(result, Failure) else ""
        n = self.options.give_up_after
        many = "call" if self.failed == 1 else f"{self.failed} calls"
        if reason == "billing":
            self._end(message, "add credit, then run again: replies so far are stored", reason)
        elif self.answered:
            return
        elif self.without_room >= n:
            option = getattr(call, "limited_by", MAX_ANSWER)
            self._end(
                f"the first {n} replies ended at their limit before an answer began",
                f"raise {option}: a model that thinks needs room for its thoughts",
                "no-room",
            )
        elif reason == "unauthorised" or (reason in _HOPELESS and self.failed >= n):
            advice = f"check the model, --base-url and {KEY_VARIABLE}; see: citeforge doctor"
            kind = "endpoint-refused" if reason == "unauthorised" else "endpoint-failed"
            self._end(f"the first {many} failed: {message}", advice, kind)

    def _end(self, message: str, allowed: str, code: str) -> None:
        error = InputError(message, path=self.options.endpoint, allowed=allowed, code=code)
        self.stop = self.stop or error

    def _note(self) -> str:
        cost = "" if self.budget.spent is None else f" · cost {self.budget.spent:.4f}"
        return f"{sum(self.budget.tokens):,} tokens{cost} · {self.failed} errors"


def _has_no_room(result: Result) -> bool:
    if isinstance(result, Failure):
        return result.reason == "no_room"
    return result.finish_reason == TRUNCATED and not result.text.strip()


def _failure(error: EndpointError) -> Failure:
    is_whole = error.message.startswith("HTTP ")
    status = error.status
    message = error.message if is_whole else f"HTTP {status}: {error.message}"
    if status == NO_REPLY:
        return Failure("exhausted", error.message)
    reason: FailureReason = "refused"
    if is_unpaid(error, may_pass=False):
        reason = "billing"
    elif status in (401, 403):
        reason = "unauthorised"
    elif status in (408, 409, 429) or status >= 500:
        reason = "exhausted"
    elif "content" in error.code and "filter" in error.code:
        reason = "content_filter"
    return Failure(reason, message, status)


def _redacted(result: Result) -> Result:
    """A result without the key: it is kept and shown from here on."""
    if isinstance(result, Failure):
        return replace(result, message=one_line(result.message))
    logprobs = result.logprobs
    if logprobs is not None:
        tokens = "".join(token.token for token in logprobs)
        # The tokens of a reply that contains the key would contain its pieces.
        logprobs = logprobs if hide(tokens) == tokens else None
    return replace(
        result,
        text=hide(result.text),
        model=hide(result.model),
        logprobs=logprobs,
        finish_reason=result.finish_reason and hide(result.finish_reason),
        thoughts=tuple(map(hide, result.thoughts)),
    )
