"""Client of a model's endpoint: sends each distinct request once, within rate and cost limits."""

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from citeforge.engines.event_loop import run_async
from citeforge.engines.jsonlines import UNREADABLE
from citeforge.engines.ledger import current_ledger
from citeforge.engines.llm.adapting import LIMIT, Adaptation, difference, is_too_long
from citeforge.engines.llm.addresses import BATCH_PRICE, server_address, shown_address
from citeforge.engines.llm.budget import (
    Bound,
    Budget,
    RunPlan,
    bound_call,
    estimate_call,
    estimate_paid,
    require_store,
)
from citeforge.engines.llm.rate import RateGate
from citeforge.engines.llm.records import OF_SERVER, Failure, LlmReply, Request, Result
from citeforge.engines.llm.replay import (
    OnResult,
    ReplayStore,
    SentRequest,
    Server,
    Take,
    ask_once,
    redact,
)
from citeforge.engines.llm.replies import Reply, advice_for
from citeforge.engines.progress import progress
from citeforge.engines.shown import show_number
from citeforge.schemas.errors import CiteforgeError, InputError
from citeforge.schemas.finish_reasons import TRUNCATED
from citeforge.schemas.recipes.base import RunOptions

_ADAPTABLE = (400, 404, 422, 501)
"""Statuses of refusals that a changed request may pass."""
_LEAST_ROOM = 16
_NOT_ASKED = Failure("refused", "not asked: this is a dry run")
_GIVE_UP_AFTER = 10
"""Calls in a row that fail for a reason of the server, and end the run."""
_FINAL_AT_FIRST = ("unauthorised", "unreachable")
"""Reasons that end the run at its first call."""


@dataclass(frozen=True)
class Route:
    """One resource of an endpoint.

    Attributes:
        form: what the body of a 200 is decoded to.
        read: reads that as the reply to a request's body.
    """

    title: str
    path: str
    form: type[Any]
    read: Callable[[Mapping[str, Any], Any], Result]
    has_batches: bool = False

    def read_reply(self, body: Mapping[str, Any], reply: Reply) -> Result:
        """Decode the HTTP reply to a request, keys masked; a failure if it contains no answer.

        Args:
            body: body of the request.
            reply: body of the reply, or a failure.
        """
        if isinstance(reply, Failure):
            return redact(reply)
        try:
            result = self.read(body, msgspec.json.decode(reply, type=self.form))
        except UNREADABLE as error:
            message = f"the reply has not the form of {self.path} ({str(error)[:120]})"
            result = Failure("unparsable", message, 200)
        return redact(result if isinstance(result, Failure) else estimate_paid(body, result))


class Endpoint:
    """A model behind an OpenAI-compatible endpoint, with a store for its replies.

    Attributes:
        gate: lets requests through at their rate, in all runs.
        has_answered: whether it has given an answer.
        failures: reasons of the calls that failed since the last answer.
    """

    def __init__(
        self, model: str, store: ReplayStore | None = None, options: RunOptions | None = None,
        role: str = "",
    ) -> None:  # fmt: skip
        """Set the model, the store of its replies and its options; nothing is sent.

        Args:
            model: name of the model.
            store: keeps its replies.
            options: how the endpoint is reached, and what it may cost.
            role: what the command asks the model for, in bills; empty for the route's title.
        """
        self.model = model
        self.store = store
        self.options = options or RunOptions()
        self.role = role
        self.ledger = current_ledger()
        self.ledger.has_price |= self.options.price is not None and not self.options.dry_run
        self.gate = RateGate(self.options.rpm, self.options.tpm)
        self.has_answered = False
        self._rehearsed: set[str] = set()
        self.failures: list[str] = []
        self._adaptation = Adaptation()

    def ask(
        self, route: Route, requests: Sequence[Request], on_result: OnResult | None = None
    ) -> list[Result]:
        """Return one result per request to a route; equal ones are sent once, stored ones never.

        Args:
            route: resource to ask.
            requests: what is asked.
            on_result: takes each result with the index of its request, as it comes.

        Raises:
            InputError: no key, no credit, or ten calls in a row fail.
            BudgetError: the next call could pass the cost limit.
        """
        if self.options.dry_run:
            results = self.rehearse(route, requests)
            for index, result in enumerate(results):
                if on_result is not None:
                    on_result(index, result)
            return results
        ask = partial(self.send, route)
        return ask_once(requests, self.model, self.store, ask, on_result, self.server)

    def bill_label(self, route: Route) -> str:
        """Get the model's label in bills: its role and name, such as ``judge openai:m``."""
        return f"{self.role or route.title} openai:{self.model}"

    def rehearse(self, route: Route, requests: Sequence[Request], tries: int = 1) -> list[Result]:
        """Record requests (``tries`` calls each) for a dry run; return stored replies, or failures.

        Equal requests are recorded once.

        Args:
            route: resource that would be asked.
            requests: what would be asked.
            tries: how often each is asked at most.
        """
        fresh = {}
        results: list[Result] = []
        for request in requests:
            key = request.key(self.model)
            stored = None if self.store is None else self.store.get(key, self.server)
            results.append(_NOT_ASKED if stored is None else request.check_reply(stored))
            if key not in self._rehearsed:
                self._rehearsed.add(key)
                fresh[key] = request, stored is not None
        if fresh:
            self.ledger.plan(self.bill_label(route), self._plan(list(fresh.values()), tries, route))
        return results

    def _plan(
        self, requests: Sequence[tuple[Request, bool]], tries: int, route: Route,
        possible_requests: Sequence[Request] = (),
    ) -> RunPlan:  # fmt: skip
        """Plan the calls of certain and possible requests: stored replies, tokens, cost bounds.

        Args:
            requests: distinct requests, each with whether its reply is stored.
            tries: how often each is asked at most.
            route: resource that would be asked.
            possible_requests: requests that only some replies cause.
        """
        require_store(self.options, self.store is not None or self.options.store is not None)
        rest = [request for request, is_stored in requests if not is_stored]
        # A stored reply may be refused as a new one may.
        again = (tries - 1) * [*(request for request, _ in requests), *possible_requests]
        most = sum(
            (
                bound_call(r.payload(self.model), self.thinking_room(r))
                for r in [*rest, *possible_requests, *again]
            ),
            Bound(),
        )
        about = sum((estimate_call(r.payload(self.model), r.usual_reply) for r in rest), Bound())
        share = BATCH_PRICE if self.options.batch and route.has_batches else 1.0
        n_stored = len(requests) - len(rest)
        return RunPlan(len(requests), n_stored, about, most, self.options.price, share)

    @property
    def server(self) -> Server | None:
        """Endpoint whose stored replies may be used; None if replies of every endpoint may be."""
        return Server(server_address(self.options), self.options.same_server)

    def send(self, route: Route, waiting: dict[str, Request], take: Take) -> None:
        """Send waiting requests, store results, and pass each to ``take`` with its request hash."""
        # Other requests may be taken, such as halves of a batch that was too large.
        self.failures = [reason for reason in self.failures if reason != "refused"]
        run_async(_Run(self, route, waiting, take).send_all())

    def require_replies(self, route: Route, results: Sequence[Result], advice: str = "") -> None:
        """Raise an error if any result is a failure, with ``advice`` or that for its HTTP status.

        Args:
            route: resource that was asked.
            results: replies and failures.
            advice: what would help, if the status of the failure does not say.

        Raises:
            InputError: there is one; ``advice`` says what would help, if its status does not.
        """
        failures = [r for r in results if isinstance(r, Failure)]
        if failures:
            raise InputError(
                f"{route.title} failed: {failures[0].message} "
                f"({len(failures):,} of {len(results):,} calls failed)",
                path=f"openai:{self.model}",
                allowed=advice or advice_for(failures[0]),
                code="endpoint-failed",
            )

    def thinking_room(self, request: Request) -> int:
        """Compute the thinking tokens added to a request's answer limit; 0 if it gets none."""
        is_limited = request.gets_room and LIMIT in request.params
        return self.options.thinking_tokens if is_limited else 0

    def make_request(self, key: str, request: Request, thinking_tokens: int) -> SentRequest:
        """Make the request to send, changed as the server requires, with more thinking tokens."""
        asked = request.payload(self.model)
        more = {LIMIT: asked[LIMIT] + thinking_tokens} if thinking_tokens else {}
        body = self._adaptation.apply(asked | more)
        return SentRequest(key, body, request.sample, difference(asked, body))

    def adapt(self, sent: Mapping[str, Any], reply: Reply, thinking_tokens: int) -> int | None:
        """Learn from a refused request; return the thinking tokens of a retry, None to give up.

        Args:
            sent: the request that was refused.
            reply: what the server answered.
            thinking_tokens: tokens for reasoning that it was sent with.

        Returns:
            Tokens for reasoning to ask again with; None to give up.
        """
        if isinstance(reply, bytes) or reply.status not in _ADAPTABLE:
            return None
        if self._adaptation.apply(sent) != sent:
            return thinking_tokens  # another call has learned it in the meantime
        if (change := self._adaptation.learn_change(sent, reply)) is not None:
            sys.stderr.write(f"openai:{self.model} {change}\n")
            return thinking_tokens
        if thinking_tokens and is_too_long(reply):
            return thinking_tokens // 2 if thinking_tokens >= 2 * _LEAST_ROOM else 0
        return None

    def check_result(self, request: Request, result: Result, is_batched: bool) -> None:
        """Raise an error to end the run if credit is used up or ten calls in a row have failed.

        Args:
            request: the request.
            result: its reply or failure.
            is_batched: whether it was sent in a batch, whose requests may fail together.

        Raises:
            InputError: nothing more is to be asked.
        """
        reason, message, help_text = "no_room", "", ""
        if isinstance(result, Failure):
            reason, message, help_text = result.reason, result.message, advice_for(result)
        elif result.finish_reason != TRUNCATED or result.text.strip():
            self.has_answered, self.failures = True, []
            return
        if reason == "billing":
            raise self._final_error(
                message, "add credit, then run again: replies so far are stored", "billing"
            )
        # Many requests of one batch may fail together.
        if self.has_answered and (is_batched or reason not in ("exhausted", "unauthorised")):
            self.failures = []
            return
        self.failures.append(reason)
        if self.failures.count("no_room") >= _GIVE_UP_AFTER:
            raise self._final_error(
                f"the first {_GIVE_UP_AFTER} replies ended at their limit before an answer began",
                f"raise {request.limited_by}: a model that thinks needs room for its thoughts",
                "no-room",
            )
        n, is_first, is_key = len(self.failures), not self.has_answered, reason == "unauthorised"
        is_final = is_first and reason in _FINAL_AT_FIRST
        if is_final or (n >= _GIVE_UP_AFTER and reason in OF_SERVER):
            which = "first" if is_first else "last"
            again = "" if is_first else "; run again: stored replies are not asked for again"
            calls = "call" if n == 1 else f"{n} calls"
            raise self._final_error(
                f"the {which} {calls} failed: {message}",
                f"{help_text}{again}",
                "endpoint-refused" if is_key else "endpoint-failed",
            )

    def _final_error(self, message: str, advice: str, code: str) -> InputError:
        """Make the error that ends a run: the endpoint's address, the fault and advice."""
        return InputError(message, path=shown_address(self.options), allowed=advice, code=code)


class _Run:
    """Requests of one run, until each has a result or an error ends the run.

    Attributes:
        waiting: requests without a result, by key.
        to_send: keys of those that are not under way; the next one is the last.
        rooms: tokens for reasoning that each request gets.
        stop: error that ends the run when nothing is under way any more.
        lost: replies that could not be stored.
    """

    def __init__(
        self, endpoint: Endpoint, route: Route, waiting: dict[str, Request], take: Take
    ) -> None:
        """Queue requests to send, and open the budget; ``take`` will get each result.

        Args:
            endpoint: model, options and store.
            route: resource to ask.
            waiting: requests by key.
            take: takes each result, with the key of its request.
        """
        self.endpoint, self.route, self.take = endpoint, route, take
        self.options, self.store = endpoint.options, endpoint.store
        self.waiting, self.to_send = dict(waiting), [*reversed(waiting)]
        self.rooms = {key: endpoint.thinking_room(request) for key, request in waiting.items()}
        self.is_batched = self.options.batch and route.has_batches
        bill_label, ledger = endpoint.bill_label(route), endpoint.ledger
        self.budget = Budget(self.options, self.store, self.is_batched, bill_label, ledger)
        self.failed = self.lost = 0
        self.stop: CiteforgeError | None = None

    async def send_all(self) -> None:
        """Send all requests, in batches or directly; every reply is stored before it is used."""
        from citeforge.engines.llm.transport import make_client  # imports the SDK: a second

        # Rates are of direct calls; an upload would close the gate for hours.
        gate = RateGate() if self.is_batched else self.endpoint.gate
        with progress(self.route.title, len(self.waiting), "calls") as self.advance:
            async with make_client(self.options, gate, self.endpoint.has_answered) as client:
                await (self._send_in_batches if self.is_batched else self._send_directly)(client)
        if self.stop is not None and self.lost:
            message = f"{self.stop}; {self.lost:,} replies that were under way could not be stored"
            raise InputError(message, code=self.stop.code)
        if self.stop is not None:
            raise self.stop

    def _next_to_send(self) -> Iterator[SentRequest]:
        """Yield queued requests, adapted to the server, as long as their cost fits the budget."""
        while self.to_send and self.stop is None:
            key = self.to_send[-1]
            request, room = self.waiting[key], self.rooms[key]
            try:
                if not self.budget.hold(key, request.payload(self.endpoint.model), room):
                    return
            except CiteforgeError as error:
                self.stop = error
                return
            self.to_send.pop()
            yield self.endpoint.make_request(key, request, room)

    def _open_batches(self) -> list[str]:
        """List the names of unfinished batches with waiting requests (all, if cost is limited)."""
        if self.store is None:
            return []
        has_ceiling = self.options.max_cost is not None and self.route.has_batches
        return self.store.open_batches(None if has_ceiling else self.waiting)

    async def _send_directly(self, client: Any) -> None:
        """Send each request by itself, several at a time.

        Args:
            client: the SDK's client of the endpoint.
        """
        from citeforge.engines.llm.transport import post

        if self._open_batches():
            raise InputError(  # asked directly, they would be paid twice
                "contains an unfinished batch with some of these requests, or with a cost that "
                "counts towards --max-cost",
                path=self.store and self.store.path,
                allowed="run again with --batch to fetch the replies (of a cancelled batch "
                "those that exist), or name another --store",
                code="open-batch",
            )
        under_way: dict[asyncio.Task[Reply], SentRequest] = {}
        async with asyncio.TaskGroup() as group:
            while True:
                for sent in islice(self._next_to_send(), self.options.concurrency - len(under_way)):
                    task = group.create_task(post(client, self.route.path, sent.body))
                    under_way[task] = sent
                if not under_way:
                    return
                done, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    await self._take_reply(under_way.pop(task), task.result())

    async def _send_in_batches(self, client: Any) -> None:
        """Submit the requests in batches, and wait for the replies.

        Args:
            client: the SDK's client of the endpoint.
        """
        assert self.store is not None  # else the budget has raised an error
        from citeforge.engines.llm.batches import Batches, split_requests  # imports the SDK

        batches = Batches(client, self.store, f"/v1{self.route.path}", shown_address(self.options))
        names = self._open_batches()
        while self.waiting and self.stop is None:
            if not names or self.options.max_cost is None:
                submitted = {key for name in names for key in batches.open_requests(name)}
                left = self.waiting.keys() - submitted
                self.to_send = [key for key in dict.fromkeys(self.to_send) if key in left]
                for group in split_requests(self._next_to_send(), batches.url):
                    names.append(await batches.submit(group))
            for name in names:
                async for sent, reply in batches.replies(name, self.advance):
                    await self._take_reply(sent, reply, name)
                    if self.lost and self.stop is not None:
                        raise self.stop  # the provider keeps the batch; the next run fetches it
            names = []

    async def _take_reply(self, sent: SentRequest, reply: Reply, batch: str = "") -> None:
        """Store a reply and pass it on; queue a refused request again with changed parameters.

        Args:
            sent: the request as it was sent.
            reply: body of the reply, or the failure.
            batch: name of the batch that it comes from; empty for none.
        """
        key, result = sent.asked, None
        # A reply to what is not asked now was paid for, too.
        request = self.waiting.get(key)
        room = None
        if request is not None:
            room = self.endpoint.adapt(sent.body, reply, self.rooms[key])
        try:
            if self.lost:  # the store takes nothing any more
                self.lost += 1
            elif room is not None:
                self.rooms[key] = room
                self.to_send.append(key)
            else:
                result = read = self.route.read_reply(sent.body, reply)
                if request is not None and isinstance(read, LlmReply):
                    result = request.check_reply(read)
                if self.store is not None:
                    # Not what was made of a reply: it is checked again whenever it is looked up.
                    kept = read if isinstance(result, LlmReply) else result
                    self.lost = 1
                    # Another program's lock may make us wait; replies go on arriving meanwhile.
                    await asyncio.to_thread(self._keep, sent, kept, batch)
                    self.lost = 0
                if request is not None:
                    del self.waiting[key]
                    self._hand_over(key, request, result)
        except CiteforgeError as error:  # replies that are under way are paid, and still taken
            self.stop = self.stop or error
        finally:
            self.budget.release(key, result)

    def _keep(self, sent: SentRequest, result: Result, batch: str) -> None:
        """Store a result, with the address that it came from."""
        server = self.endpoint.server
        assert self.store is not None
        self.store.keep(sent, result, batch, server=server.address if server else "")

    def _hand_over(self, key: str, request: Request, result: Result) -> None:
        """Give a result to the caller, show progress, and raise an error if the run should end."""
        self.failed += isinstance(result, Failure)
        cost = "" if self.budget.spent is None else f" · cost {show_number(self.budget.spent, 4)}"
        self.advance(1, f"{sum(self.budget.tokens):,} tokens{cost} · {self.failed} errors")
        self.take(key, result)
        self.endpoint.check_result(request, result, self.is_batched)
