"""An endpoint's resources: each distinct call made once, stored, budgeted, adapted and counted."""

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import msgspec

from citeforge.engines.io.event_loop import run_async
from citeforge.engines.io.progress import Advance, progress
from citeforge.engines.llm.adapting import LIMIT, Adaptation, difference, is_too_long
from citeforge.engines.llm.budget import Budget
from citeforge.engines.llm.options import KEY_VARIABLE, one_line, shown_address, without_key
from citeforge.engines.llm.rate import RateGate
from citeforge.engines.llm.reading import UNREADABLE, EndpointError, Reply, failure_of
from citeforge.engines.llm.records import (
    MAX_ANSWER,
    THINKING,
    TRUNCATED,
    Call,
    Failure,
    LlmReply,
    Result,
)
from citeforge.engines.llm.replay import (
    C,
    OnResult,
    ReplayStore,
    SentRequest,
    Take,
    ask_once,
    decode_answer,
    encode_answer,
)
from citeforge.schemas.errors import CiteforgeError, InputError, UsageError
from citeforge.schemas.recipes.base import RunOptions

_ADAPTABLE = (400, 404, 422, 501)
"""Statuses of refusals that a changed request may pass."""
_LEAST_ROOM = 16
_GIVE_UP_AFTER = 10
"""Calls in a row that fail because nothing works; then the run ends."""


@dataclass(frozen=True)
class Route(Generic[C]):
    """One resource of an endpoint.

    Attributes:
        form: what the body of a 200 is decoded to, before it is read.
        settle: reads a reply, stored or new, as its call needs it.
    """

    title: str
    path: str
    form: type[Any]
    read: Callable[[C, Any], Result]
    settle: Callable[[C, LlmReply], Result] = lambda call, answer: answer
    has_batches: bool = False

    def read_reply(self, call: C, reply: Reply) -> Result:
        """Read an HTTP reply as a result; an error or a body of another form is a failure."""
        if isinstance(reply, EndpointError):
            return failure_of(reply)
        try:
            return self.read(call, msgspec.json.decode(reply, type=self.form))
        except UNREADABLE as error:
            message = f"the reply has not the form of {self.path} ({str(error)[:120]})"
            return Failure("unparsable", message, 200)


class Endpoint:
    """A model behind an OpenAI-compatible endpoint, with a store for its replies.

    Attributes:
        gate: lets requests through at their rate, in all runs.
        has_answered: whether it has given an answer.
        failures: reasons of the calls that failed since the last answer.
    """

    def __init__(
        self, model: str, store: ReplayStore | None = None, options: RunOptions | None = None
    ) -> None:
        self.model = model
        self.store = store
        self.options = options or RunOptions()
        self.gate = RateGate(self.options.rpm, self.options.tpm)
        self.has_answered = False
        self.failures: list[str] = []
        self._adaptation = Adaptation()

    def ask(
        self, route: Route[C], calls: Sequence[C], on_result: OnResult | None = None
    ) -> list[Result]:
        """Make calls, equal ones once and stored ones never; see :func:`ask_once`.

        Raises:
            InputError: no key, no credit, or ten calls in a row fail.
            BudgetError: the next call could pass the cost limit.
        """

        # Other requests may be taken, such as halves of a batch that was too large.
        self.failures = [reason for reason in self.failures if reason != "refused"]

        def ask(waiting: dict[str, C], take: Take) -> None:
            run_async(_Run(self, route, take).ask_all(waiting))

        return ask_once(calls, self.model, self.store, route.settle, ask, on_result)

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

    def room(self, call: Call) -> int:
        """Compute the tokens for reasoning to add to the limit of a call."""
        is_limited = getattr(call, "limited_by", None) == THINKING and call.most_tokens is not None
        return self.options.thinking_tokens if is_limited else 0

    def make_request(self, key: str, call: Call, room: int) -> SentRequest:
        """Make the request to send: without what the server refuses, with room for thoughts."""
        asked = call.payload(self.model)
        more = {LIMIT: asked[LIMIT] + room} if room and LIMIT in asked else {}
        body = self._adaptation.apply(asked | more)
        return SentRequest(key, body, call.sample, difference(asked, body))

    def adapt(self, sent: Mapping[str, Any], reply: Reply, room: int) -> int | None:
        """Learn from a refused request how to change it, and whether to send it again.

        Returns:
            Tokens for reasoning to ask again with; None to give up.
        """
        if isinstance(reply, bytes) or reply.status not in _ADAPTABLE:
            return None
        if self._adaptation.apply(sent) != sent:
            return room  # another call has learned it in the meantime
        if (change := self._adaptation.learn(sent, reply)) is not None:
            sys.stderr.write(f"openai:{self.model} {change}\n")
            return room
        if room and is_too_long(reply):
            return room // 2 if room >= 2 * _LEAST_ROOM else 0
        return None

    def check_result(self, call: Call, result: Result, is_batched: bool) -> None:
        """Raise an error to end the run if credit is used up or ten calls in a row have failed.

        Raises:
            InputError: nothing more is to be asked.
        """
        failure = result if isinstance(result, Failure) else Failure("no_room", "")
        if isinstance(result, LlmReply) and (
            result.finish_reason != TRUNCATED or result.text.strip()
        ):
            self.has_answered, self.failures = True, []
            return
        reason = failure.reason
        if reason == "billing":
            raise self._end(
                failure.message, "add credit, then run again: replies so far are stored", "billing"
            )
        # Many requests of one batch may fail together.
        if self.has_answered and (is_batched or reason not in ("exhausted", "unauthorised")):
            self.failures = []
            return
        self.failures.append(reason)
        if self.failures.count("no_room") >= _GIVE_UP_AFTER:
            option = getattr(call, "limited_by", MAX_ANSWER)
            raise self._end(
                f"the first {_GIVE_UP_AFTER} replies ended at their limit before an answer began",
                f"raise {option}: a model that thinks needs room for its thoughts",
                "no-room",
            )
        n, is_refused = len(self.failures), reason == "unauthorised"
        if (is_refused and not self.has_answered) or (
            n >= _GIVE_UP_AFTER and reason in ("refused", "exhausted", "unauthorised")
        ):
            which, advice = "first", "see: citeforge doctor"
            if self.has_answered:
                which, advice = "last", "run again: stored replies are not asked for again"
            calls = "call" if n == 1 else f"{n} calls"
            raise self._end(
                f"the {which} {calls} failed: {failure.message}",
                f"check the model, --base-url and {KEY_VARIABLE}; {advice}",
                "endpoint-refused" if is_refused else "endpoint-failed",
            )

    def _end(self, message: str, allowed: str, code: str) -> InputError:
        """Build the error that ends a run."""
        return InputError(message, path=shown_address(self.options), allowed=allowed, code=code)


class _Run(Generic[C]):
    """Calls of one run; when the store fails, nothing more is asked."""

    def __init__(self, endpoint: Endpoint, route: Route[C], take: Take) -> None:
        self.endpoint, self.route, self.take = endpoint, route, take
        self.options, self.store = endpoint.options, endpoint.store
        self.is_batched = self.options.batch and route.has_batches
        self.budget = Budget(self.options, self.store, self.is_batched)
        self.storing = asyncio.Lock()
        self.failed = self.lost = 0
        self.stop: Exception | None = None

    async def ask_all(self, waiting: dict[str, C]) -> None:
        """Ask everything; an error that ends the run is raised when no call is in flight."""
        from citeforge.engines.llm.transport import make_client  # imports the SDK: a second

        ask = self._ask_in_batches if self.is_batched else self._ask_directly
        # Rates are of direct calls; an upload would close the gate for hours.
        gate = RateGate() if self.is_batched else self.endpoint.gate
        with progress(self.route.title, len(waiting), "calls") as advance:
            async with make_client(self.options, gate) as client:
                await ask(client, waiting, advance)
        if self.lost and isinstance(self.stop, CiteforgeError):
            message = f"{self.stop}; {self.lost:,} replies that were under way could not be stored"
            raise InputError(message, code=self.stop.code)
        if self.stop is not None:
            raise self.stop

    def _open_batches(self, waiting: dict[str, C]) -> list[str]:
        """List unfinished batches of earlier runs to wait for; with a cost limit all of them."""
        if self.store is None:
            return []
        has_ceiling = self.options.max_cost is not None and self.route.has_batches
        return self.store.open_batches(None if has_ceiling else waiting)

    async def _ask_directly(self, client: Any, waiting: dict[str, C], advance: Advance) -> None:
        """Make the calls one by one, several at a time."""
        if self._open_batches(waiting):
            raise InputError(  # asked directly, they would be paid twice
                "has a batch under way: with some of these requests, or at a cost that --max-cost "
                "has to count",
                path=self.store and self.store.path,
                allowed="run again with --batch to fetch the replies (of a cancelled batch those "
                "that there are), or name another --store",
                code="open-batch",
            )
        calls = iter(waiting.items())

        async def work() -> None:
            """Make calls until none is left, or the run ends."""
            for key, call in calls:
                if self.stop is not None:
                    return
                await self._ask(client, key, call, advance)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self.options.concurrency, len(waiting))):
                group.create_task(work())

    async def _ask(self, client: Any, key: str, call: C, advance: Advance) -> None:
        """Make one call; a request that is refused is changed and sent again."""
        from citeforge.engines.llm.transport import post

        room: int | None = self.endpoint.room(call)
        reserve, result = 0.0, None
        try:
            reserve = await self.budget.hold(call, room or 0)
            while room is not None and self.stop is None:
                sent = self.endpoint.make_request(key, call, room)
                reply = await post(client, self.route.path, sent.body)
                room = self.endpoint.adapt(sent.body, reply, room)
                if room is None:
                    result = await self._finish(call, sent, reply)
                    self._hand_over(key, call, result, advance)
        except CiteforgeError as error:
            self.stop = self.stop or error
        finally:
            await self.budget.settle(reserve, result)

    async def _ask_in_batches(self, client: Any, waiting: dict[str, C], advance: Advance) -> None:
        """Submit the calls in batches, and wait for their results."""
        if self.store is None:
            raise UsageError(
                "--batch requires --store FILE: a killed command finds its batch there",
                code="missing-option",
            )
        from citeforge.engines.llm.batches import Batches, split_calls  # imports the SDK

        batches = Batches(client, self.store, f"/v1{self.route.path}", shown_address(self.options))
        rooms = {key: self.endpoint.room(call) for key, call in waiting.items()}  # of open calls
        held: dict[str, float] = {}

        def fitting(submitted: set[str]) -> Iterator[SentRequest]:
            """Make requests that are not submitted yet, while their cost fits the budget."""
            for key in [key for key in rooms if key not in submitted]:
                reserve = self.budget.try_hold(waiting[key], rooms[key])
                if reserve is None:
                    return
                held[key] = reserve
                yield self.endpoint.make_request(key, waiting[key], rooms[key])

        names = self._open_batches(waiting)
        while rooms and self.stop is None:
            if not names or self.options.max_cost is None:
                submitted = {key for name in names for key in batches.calls(name)}
                for group in split_calls(fitting(submitted), batches.url):
                    names.append(await batches.submit(group))
            if not names:
                raise self.budget.error()
            for name in names:
                async for sent, reply in batches.replies(name, advance):
                    key, result = sent.asked, None
                    # A reply to what is not asked now was paid for, too.
                    call = waiting[key] if key in rooms else None
                    room = None
                    if call is not None:
                        room = self.endpoint.adapt(sent.body, reply, rooms[key])
                    if room is not None:
                        rooms[key] = room
                    else:
                        result = await self._finish(call, sent, reply, batch=name)
                    await self.budget.settle(held.pop(key, 0.0), result)
                    if call is not None and result is not None:
                        del rooms[key]
                        self._hand_over(key, call, result, advance)
            names = []

    async def _finish(
        self, call: C | None, sent: SentRequest, reply: Reply, batch: str = ""
    ) -> Result:
        """Read the reply to a call, and store it."""
        result = read = _redacted(self.route.read_reply(call, reply))  # type: ignore[arg-type]
        if call is not None and isinstance(read, LlmReply):
            result = self.route.settle(call, read)
        if self.store is None:
            return result
        # Not what was made of a reply: thoughts are told apart again whenever it is read.
        kept = read if isinstance(result, LlmReply) else result
        async with self.storing:
            if self.lost:
                self.lost += 1
                raise InputError("a reply could not be stored", code="storage")
            try:
                # Another program's lock may make us wait; replies go on arriving meanwhile.
                await asyncio.to_thread(self.store.keep, sent, kept, batch)
            except CiteforgeError:
                self.lost = 1
                raise
        return result

    def _hand_over(self, key: str, call: C, result: Result, advance: Advance) -> None:
        """Give a result to the caller, show progress, and end the run if nothing works."""
        self.failed += isinstance(result, Failure)
        cost = "" if self.budget.spent is None else f" · cost {self.budget.spent:.4f}"
        advance(1, f"{sum(self.budget.tokens):,} tokens{cost} · {self.failed} errors")
        try:
            self.take(key, result)
            self.endpoint.check_result(call, result, self.is_batched)
        except CiteforgeError as error:  # replies that are under way are paid, and still taken
            self.stop = self.stop or error


def _redacted(result: Result) -> Result:
    """Remove the API key from a result before it is kept or shown."""
    if isinstance(result, Failure):
        return replace(result, message=one_line(result.message))
    text = encode_answer(result)
    if (shown := without_key(text)) == text:
        return result
    # The tokens of a reply that contains the key would contain its pieces.
    return replace(decode_answer(shown), logprobs=None)
