"""Calls of one run: concurrent, each stored before it is used, within the cost limit."""

import asyncio
from operator import attrgetter
from typing import Any, Generic

from citeforge.engines.io.progress import Advance, progress
from citeforge.engines.llm.adapting import difference
from citeforge.engines.llm.budget import Budget
from citeforge.engines.llm.options import KEY_VARIABLE, one_line
from citeforge.engines.llm.reading import EndpointError, read_error
from citeforge.engines.llm.records import (
    MAX_ANSWER,
    TRUNCATED,
    Failure,
    LlmReply,
    Result,
    request_key,
)
from citeforge.engines.llm.replay import Take
from citeforge.engines.llm.served import ADAPTABLE, C, Route, ServedModel, failure_of, redacted
from citeforge.schemas.errors import CiteforgeError, InputError

_HOPELESS = ("refused", "unauthorised", "exhausted")
NOTHING = LlmReply("")
"""Costs nothing."""


class Run(Generic[C]):
    """Concurrent calls; when the store fails, nothing more is asked."""

    is_batched = False

    def __init__(self, served: ServedModel, route: Route[C], take: Take) -> None:
        self.served, self.route, self.take = served, route, take
        self.options, self.store = served.options, served.store
        spent, in_batches = served.tokens, (0, 0)
        if self.store is not None:
            spent, in_batches = self.store.tokens(), self.store.tokens(in_batches=True)
        self.budget = Budget(self.options, spent, in_batches, self.is_batched)
        self.in_flight = asyncio.Semaphore(self.options.concurrency)
        self.storing = asyncio.Lock()
        self.answered = self.failed = self.without_room = self.lost = 0
        self.stop: Exception | None = None

    async def ask_all(self, waiting: dict[str, C]) -> None:
        """Ask everything; an error that ends the run is raised when no call is in flight."""
        from citeforge.engines.llm.transport import make_client  # imports the SDK: a second

        with progress(self.route.title, len(waiting), "calls") as advance:
            async with make_client(self.options) as client:
                await self._ask_all(client, waiting, advance)
        if self.lost and isinstance(self.stop, CiteforgeError):
            message = f"{self.stop}; {self.lost:,} replies that were under way could not be stored"
            raise InputError(message, code=self.stop.code)
        if self.stop is not None:
            raise self.stop

    async def _ask_all(self, client: Any, waiting: dict[str, C], advance: Advance) -> None:
        if self.store is not None and self.store.open_batches(waiting):
            raise InputError(  # asked directly, they would be paid twice
                "some of these requests are in a batch that was submitted",
                path=self.store.path,
                allowed="run again with --batch to fetch the replies (of a cancelled batch those "
                "that there are), or name another --store",
                code="open-batch",
            )
        create = attrgetter(self.route.resource)(client).with_raw_response.create
        async with asyncio.TaskGroup() as group:
            for key, call in waiting.items():
                await self.in_flight.acquire()
                if self.stop is not None:
                    break
                group.create_task(self._ask(create, key, call, advance))

    async def _ask(self, create: Any, key: str, call: C, advance: Advance) -> None:
        room, reserve = self.served.room(call), 0.0
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
        changes = difference(call.payload(self.served.model), sent)
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
        asked = call.payload(self.served.model)
        while True:
            sent = self.served.body(call, room)
            if sent != asked and self.store is not None:
                stored = self.store.get(request_key(sent, call.sample))
                if stored is not None:
                    return sent, stored, False
            result = await self._try(create, sent, call)
            if not isinstance(result, EndpointError):
                return sent, result, True
            more = self.served.adapt(sent, result, room)
            if more is None:
                return sent, failure_of(result), True
            room = more

    async def _try(self, create: Any, sent: dict[str, Any], call: C) -> Result | EndpointError:
        """One call with the SDK's own retries; an error is returned if it may be adapted to."""
        import openai

        try:
            reply = await create(**sent)
        except openai.APIStatusError as error:
            read = read_error(error.status_code, error.response.content)
            read = read._replace(message=one_line(read.message))
            return read if read.status in ADAPTABLE else failure_of(read)
        except openai.APITimeoutError:
            return Failure("exhausted", f"no answer within {self.options.timeout:g} s")
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            message = f"the connection broke: {str(cause) or type(cause).__name__}"
            return Failure("exhausted", one_line(message))
        return redacted(self.route.read(call, reply.http_response.content))

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
