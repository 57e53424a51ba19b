"""An endpoint's resources: each distinct call made once, stored, budgeted, adapted and counted."""

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Generic

from citeforge.engines.io.progress import Advance, progress
from citeforge.engines.llm.adapting import LIMIT, Adaptation, difference, is_too_long
from citeforge.engines.llm.budget import Budget
from citeforge.engines.llm.options import (
    BATCH_PRICE,
    KEY_VARIABLE,
    ClientOptions,
    one_line,
    without_key,
)
from citeforge.engines.llm.reading import EndpointError, failure_of, read_error
from citeforge.engines.llm.records import (
    MAX_ANSWER,
    THINKING,
    TRUNCATED,
    Call,
    Failure,
    LlmReply,
    Result,
    request_key,
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

_ADAPTABLE = (400, 404, 422, 501)
"""Statuses of refusals that a changed request may pass."""
_HOPELESS = ("refused", "exhausted")
_LEAST_ROOM = 16
Reply = bytes | EndpointError | Result
"""What comes of a request: the body of a 200, or an error; or what a store or the SDK says."""
_GIVE_UP_AFTER = 10
"""Calls; when so many have ended and all of them failed, the run stops."""


@dataclass(frozen=True)
class Route(Generic[C]):
    """One resource of an endpoint.

    Attributes:
        title: name in the progress line.
        resource: attributes of the SDK's client that lead to it.
        read: reads the body of a 200.
        settle: reads a reply, stored or new, as its call needs it.
        batch_url: resource in lines of batches; empty where calls are always made directly.
    """

    title: str
    resource: str
    read: Callable[[C, bytes], Result]
    settle: Callable[[C, LlmReply], Result] = lambda call, answer: answer
    batch_url: str = ""


class Endpoint:
    """A model behind an OpenAI-compatible endpoint.

    Attributes:
        model: its name there.
        store: where replies are found and kept; None to keep none.
        options: how it is reached.
        tokens: prompt and completion tokens that this object paid for.
    """

    def __init__(
        self, model: str, store: ReplayStore | None = None, options: ClientOptions | None = None
    ) -> None:
        self.model = model
        self.store = store
        self.options = options or ClientOptions()
        self.tokens = (0, 0)
        self._adaptation = Adaptation()

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
        """Tokens for reasoning to add to the limit of a call."""
        is_limited = getattr(call, "limited_by", None) == THINKING and call.most_tokens is not None
        return self.options.thinking_tokens if is_limited else 0

    def make_request(self, key: str, call: Call, room: int) -> SentRequest:
        """The request to send, without what the server refuses, with room for thoughts."""
        asked = call.payload(self.model)
        more = {LIMIT: asked[LIMIT] + room} if room and LIMIT in asked else {}
        body = self._adaptation.apply(asked | more)
        return SentRequest(key, body, call.sample, difference(asked, body))

    def adapt(self, sent: dict[str, Any], reply: object, room: int) -> int | None:
        """Learn from a refusal how to ask again.

        Returns:
            Tokens for reasoning to ask again with; None to give up.
        """
        if not isinstance(reply, EndpointError) or reply.status not in _ADAPTABLE:
            return None
        if self._adaptation.apply(sent) != sent:
            return room  # another call has learned it in the meantime
        if (change := self._adaptation.learn(sent, reply)) is not None:
            sys.stderr.write(f"openai:{self.model} {change}\n")
            return room
        if room and is_too_long(reply):
            return room // 2 if room >= 2 * _LEAST_ROOM else 0
        return None


class _Run(Generic[C]):
    """Calls of one run; when the store fails, nothing more is asked."""

    def __init__(self, endpoint: Endpoint, route: Route[C], take: Take) -> None:
        self.endpoint, self.route, self.take = endpoint, route, take
        self.options, self.store = endpoint.options, endpoint.store
        self.is_batched = self.options.batch and bool(route.batch_url)
        if self.is_batched:  # rates are of direct calls; an upload would close the gate for hours
            self.options = replace(self.options, requests_per_minute=None, tokens_per_minute=None)
        spent, in_batches = endpoint.tokens, (0, 0)
        if self.store is not None:
            spent, in_batches = self.store.tokens(), self.store.tokens(in_batches=True)
        share = BATCH_PRICE if self.is_batched else 1.0
        self.budget = Budget(self.options, spent, in_batches, share)
        self.storing = asyncio.Lock()
        self.answered = self.failed = self.without_room = self.lost = 0
        self.stop: Exception | None = None

    async def ask_all(self, waiting: dict[str, C]) -> None:
        """Ask everything; an error that ends the run is raised when no call is in flight."""
        from citeforge.engines.llm.transport import make_client  # imports the SDK: a second

        ask = self._ask_in_batches if self.is_batched else self._ask_directly
        with progress(self.route.title, len(waiting), "calls") as advance:
            async with make_client(self.options) as client:
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
        has_ceiling = self.options.max_cost is not None and self.route.batch_url
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
        create = attrgetter(self.route.resource)(client).with_raw_response.create
        in_flight = asyncio.Semaphore(self.options.concurrency)
        async with asyncio.TaskGroup() as group:
            for key, call in waiting.items():
                await in_flight.acquire()
                if self.stop is not None:
                    break
                task = group.create_task(self._ask(create, key, call, advance))
                task.add_done_callback(lambda _: in_flight.release())

    async def _ask(self, create: Any, key: str, call: C, advance: Advance) -> None:
        """Make one call; a request that is refused is changed and sent again."""
        room: int | None = self.endpoint.room(call)
        reserve, paid = 0.0, None
        try:
            reserve = await self.budget.hold(call, room or 0)
            while room is not None and self.stop is None:
                sent = self.endpoint.make_request(key, call, room)
                reply: Reply | None = None
                if sent.changes and self.store is not None:
                    async with self.storing:
                        reply = self.store.get(request_key(sent.body, sent.sample))
                if is_new := reply is None:
                    reply = await self._send(create, sent.body)
                room = self.endpoint.adapt(sent.body, reply, room)
                if room is None:
                    result = await self._finish(call, sent, reply, is_new)
                    paid = result if is_new else None
                    self._hand_over(key, call, result, advance)
        except CiteforgeError as error:
            self.stop = self.stop or error
        finally:
            await self.budget.settle(reserve, paid)

    async def _send(self, create: Any, body: dict[str, Any]) -> Reply:
        """Send a request, with the SDK's own retries."""
        import openai

        try:
            content: bytes = (await create(**body)).http_response.content
            return content
        except openai.APIStatusError as error:
            return read_error(error.status_code, error.response.content)
        except openai.APITimeoutError:
            return Failure("exhausted", f"no answer within {self.options.timeout:g} s")
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            message = f"the connection broke: {str(cause) or type(cause).__name__}"
            return Failure("exhausted", message)

    async def _ask_in_batches(self, client: Any, waiting: dict[str, C], advance: Advance) -> None:
        """Submit the calls in batches, and wait for their results."""
        if self.store is None:
            raise UsageError(
                "--batch requires --store FILE: a killed command finds its batch there",
                code="missing-option",
            )
        from citeforge.engines.llm.batches import Batches, split_calls  # imports the SDK

        batches = Batches(client, self.store, self.route.batch_url, self.options.endpoint)
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
                    key, paid = sent.asked, None
                    # A reply to what is not asked now was paid for, too.
                    call = waiting[key] if key in rooms else None
                    room = None
                    if call is not None:
                        room = self.endpoint.adapt(sent.body, reply, rooms[key])
                    if room is not None:
                        rooms[key] = room
                    else:
                        paid = await self._finish(call, sent, reply, batch=name)
                    await self.budget.settle(held.pop(key, 0.0), paid)
                    if call is not None and paid is not None:
                        del rooms[key]
                        self._hand_over(key, call, paid, advance)
            names = []

    async def _finish(
        self, call: C | None, sent: SentRequest, reply: Reply | None, is_new: bool = True,
        batch: str = ""
    ) -> Result:  # fmt: skip
        """Read the reply to a call, and store it."""
        if isinstance(reply, bytes):
            reply = self.route.read(call, reply)  # type: ignore[arg-type]
        elif isinstance(reply, EndpointError):
            reply = failure_of(reply)
        assert reply is not None
        result = reply = _redacted(reply)
        if call is not None and isinstance(reply, LlmReply):
            result = self.route.settle(call, reply)
        if self.store is None:
            return result
        # Not what was made of a reply: thoughts are told apart again whenever it is read.
        kept = reply if isinstance(result, LlmReply) else result
        async with self.storing:
            if self.lost:
                self.lost += 1
                raise InputError("a reply could not be stored", code="storage")
            try:
                # Another program's lock may make us wait; replies go on arriving meanwhile.
                await asyncio.to_thread(
                    self.store.keep, sent.asked, sent.body, sent.sample, kept, sent.changes,
                    is_new, None, batch
                )  # fmt: skip
            except CiteforgeError:
                self.lost = 1
                raise
        return result

    def _hand_over(self, key: str, call: C, result: Result, advance: Advance) -> None:
        """Give a result to the caller; stop at once without credit, and early if nothing works."""
        self.take(key, result)
        self._check_start(call, result)
        cost = "" if self.budget.spent is None else f" · cost {self.budget.spent:.4f}"
        advance(1, f"{sum(self.budget.tokens):,} tokens{cost} · {self.failed} errors")

    def _check_start(self, call: C, result: Result) -> None:
        """End the run without credit, or if the first calls all fail."""
        failure = result if isinstance(result, Failure) else Failure("no_room", "")
        if isinstance(result, LlmReply) and (
            result.finish_reason != TRUNCATED or result.text.strip()
        ):
            self.answered += 1
            return
        self.failed += 1
        self.without_room += failure.reason == "no_room"
        many = "call" if self.failed == 1 else f"{self.failed} calls"
        if failure.reason == "billing":
            advice = "add credit, then run again: replies so far are stored"
            self._end(failure.message, advice, "billing")
        elif self.answered:
            return
        elif self.without_room >= _GIVE_UP_AFTER:
            option = getattr(call, "limited_by", MAX_ANSWER)
            self._end(
                f"the first {_GIVE_UP_AFTER} replies ended at their limit before an answer began",
                f"raise {option}: a model that thinks needs room for its thoughts",
                "no-room",
            )
        elif failure.reason == "unauthorised" or (
            failure.reason in _HOPELESS and self.failed >= _GIVE_UP_AFTER
        ):
            advice = f"check the model, --base-url and {KEY_VARIABLE}; see: citeforge doctor"
            kind = "endpoint-refused" if failure.reason == "unauthorised" else "endpoint-failed"
            self._end(f"the first {many} failed: {failure.message}", advice, kind)

    def _end(self, message: str, allowed: str, code: str) -> None:
        """End the run with an error; an earlier one stays."""
        error = InputError(message, path=self.options.endpoint, allowed=allowed, code=code)
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
