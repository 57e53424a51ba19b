"""Calls of one run through the provider's batches."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic

from citeforge.engines.io.progress import Advance
from citeforge.engines.llm.adapting import difference
from citeforge.engines.llm.batches import Batches, split_calls
from citeforge.engines.llm.calls import NOTHING, Run
from citeforge.engines.llm.options import one_line
from citeforge.engines.llm.reading import EndpointError
from citeforge.engines.llm.records import LlmReply, Result
from citeforge.engines.llm.replay import BatchedCall, Take
from citeforge.engines.llm.served import ADAPTABLE, C, Route, ServedModel, failure_of, redacted
from citeforge.schemas.errors import UsageError


@dataclass
class _OpenCall(Generic[C]):
    """A call that has no result yet, its room for thoughts, and what is held back for it."""

    call: C
    room: int
    reserve: float = 0.0


class BatchRun(Run[C]):
    """Calls of one run, made in batches; those of earlier runs are fetched first."""

    is_batched = True

    def __init__(self, served: ServedModel, route: Route[C], take: Take) -> None:
        super().__init__(served, route, take)
        # Rates are of direct calls; the tokens of an upload would close the gate for hours.
        self.options = replace(self.options, requests_per_minute=None, tokens_per_minute=None)

    async def _ask_all(self, client: Any, waiting: dict[str, C], advance: Advance) -> None:
        if self.store is None:
            raise UsageError(
                "--batch requires --store FILE: a killed command finds its batch there",
                code="missing-option",
            )
        batches = Batches(client, self.store, self.route.batch_url, self.options.endpoint)
        open_calls = {k: _OpenCall(c, self.served.room(c)) for k, c in waiting.items()}
        names = self.store.open_batches(waiting)
        while open_calls and self.stop is None:
            submitted = {key for name in names for key in batches.calls(name)}
            fitting = self._fit({k: c for k, c in open_calls.items() if k not in submitted})
            for group in split_calls(fitting, batches.url):
                names.append(await batches.submit(group))
            if not names:
                raise self.budget.error()
            for name in names:
                async for batched, reply in batches.replies(name, advance):
                    one = open_calls.get(batched.asked)
                    if one is not None and await self._ask_again(one, batched.sent, reply):
                        continue
                    result = await self._take_batched(name, batched, one, reply)
                    if one is not None:
                        del open_calls[batched.asked]
                        self.take(batched.asked, result)
                        self._check_start(one.call, result)
                        advance(1, self._note())
            names = []

    def _fit(self, calls: dict[str, _OpenCall[C]]) -> Iterator[BatchedCall]:
        """Requests for batches, in order, as long as their cost fits."""
        for key, one in calls.items():
            reserve = self.budget.try_hold(one.call, one.room)
            if reserve is None:
                return
            one.reserve = reserve
            sent = self.served.body(one.call, one.room)
            changes = difference(one.call.payload(self.served.model), sent)
            yield BatchedCall(key, sent, one.call.sample, changes)

    async def _ask_again(
        self, one: _OpenCall[C], sent: dict[str, Any], reply: bytes | EndpointError
    ) -> bool:
        """Whether a refused request is adapted to and belongs in a further batch."""
        if not isinstance(reply, EndpointError) or reply.status not in ADAPTABLE:
            return False
        room = self.served.adapt(sent, reply, one.room)
        if room is None:
            return False
        one.room = room
        await self.budget.settle(one.reserve, NOTHING)
        return True

    async def _take_batched(
        self, name: str, batched: BatchedCall, one: _OpenCall[C] | None,
        reply: bytes | EndpointError,
    ) -> Result:  # fmt: skip
        """Store the reply to a request of a batch; one that is not asked now was paid for, too."""
        call: Any = None if one is None else one.call
        if isinstance(reply, EndpointError):
            result: Result = failure_of(reply._replace(message=one_line(reply.message)))
        else:
            result = redacted(self.route.read(call, reply))
        kept = result
        if one is not None and isinstance(result, LlmReply):
            result = self.route.settle(one.call, result)
            kept = kept if isinstance(result, LlmReply) else result
        assert self.store is not None
        self.store.keep(
            batched.asked, batched.sent, batched.sample, kept, batched.changes, batch=name
        )
        await self.budget.settle(0.0 if one is None else one.reserve, result)
        return result
