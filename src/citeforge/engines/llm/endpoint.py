"""One caller: store, budget, rate, retries and counted failures under every paid call."""

import asyncio
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from msgspec.structs import asdict

from citeforge.engines.io.files import canonical_json, storage_errors
from citeforge.engines.io.progress import Advance, progress
from citeforge.engines.llm.budget import Budget, estimate_prompt_tokens
from citeforge.engines.llm.caller import Caller
from citeforge.engines.llm.options import KEY_VARIABLE, ClientOptions, make_client
from citeforge.engines.llm.records import Call, Failure, LlmReply, Result
from citeforge.engines.llm.replay import OnResult, ReplayStore, Take, ask_once, exported_row
from citeforge.schemas.errors import CiteforgeError, InputError

_LARGEST_ROOM_BYTES = 256 << 20
# Of an answer beside its request and text.
_BLOCK = 1 << 20
_ROW_OVERHEAD_BYTES = 64 << 10
_HOPELESS = ("refused", "unauthorised", "exhausted")

C = TypeVar("C", bound=Call)


@dataclass(frozen=True)
class Route(Generic[C]):
    """One of the things that an endpoint does.

    Attributes:
        title: what the progress line calls it.
        resource: attributes of the SDK's client that lead to it.
        read: the body of a 200 to an answer, or why it is none; what is ``unparsable`` is asked
            again.
        settle: an answer, stored or new, as its call takes it.
    """

    title: str
    resource: str
    read: Callable[[C, bytes], Result]
    settle: Callable[[C, LlmReply], Result] = lambda call, answer: answer


class Endpoint:
    """A model behind an OpenAI-compatible endpoint.

    Attributes:
        model: its name there.
        store: where answers are found and kept; None to keep none.
        options: how it is reached.
        tokens: prompt and completion tokens paid for: of all runs with a store, else of this
            object's.
    """

    def __init__(
        self, model: str, store: ReplayStore | None = None, options: ClientOptions | None = None
    ) -> None:
        self.model = model
        self.store = store
        self.options = options or ClientOptions()
        self.tokens = (0, 0)

    def ask(
        self, route: Route[C], calls: Sequence[C], on_result: OnResult | None = None
    ) -> list[Result]:
        """One result a call, in order; equal calls are made once, stored ones never.

        Args:
            route: where the calls go.
            calls: what to ask.
            on_result: told (index of the call, result) as soon as each is settled.

        Raises:
            InputError: no key, or the first calls all fail.
            BudgetError: the next call could pass the cost limit.
        """

        def ask(waiting: dict[str, C], take: Take) -> None:
            run = _Run(self, route, waiting, take)
            try:
                asyncio.run(run.everything())
            finally:
                self.tokens = run.budget.tokens

        return ask_once(calls, self.model, self.store, route.settle, ask, on_result)

    def ask_numbers(self, route: Route[C], calls: Sequence[C], allowed: str) -> list[Any]:
        """The numbers of calls that must all be answered.

        Raises:
            InputError: some failed, or see :meth:`ask`; ``allowed`` says what would help.
            BudgetError: the next call could pass the cost limit.
        """
        results = self.ask(route, calls)
        failures = [r for r in results if isinstance(r, Failure)]
        if failures:
            raise InputError(
                f"{route.title} failed: {failures[0].message} "
                f"({len(failures):,} of {len(results):,} calls failed)",
                path=f"openai:{self.model}",
                allowed=allowed,
                code="endpoint-failed",
            )
        return [r.numbers for r in results if isinstance(r, LlmReply)]


class _Run(Generic[C]):
    """One run: workers that share a queue of calls.

    When the store fails, nothing more is asked; what is in flight lands and is kept beside it.
    """

    def __init__(
        self, endpoint: Endpoint, route: Route[C], waiting: dict[str, C], take: Take
    ) -> None:
        self.endpoint, self.route, self.take = endpoint, route, take
        self.options = endpoint.options
        self.queue = deque(waiting.items())
        self.n = len(waiting)
        self.caller = Caller(self.options)
        spent = endpoint.tokens if endpoint.store is None else endpoint.store.tokens()
        self.budget = Budget(self.options.price, self.options.max_cost, spent)
        self.answered = self.failed = 0
        self.stop: Exception | None = None
        self.keeping: Keeping | None = None

    async def everything(self) -> None:
        at_once = min(self.options.concurrency, self.n)
        with progress(self.route.title, self.n, "calls") as advance, ExitStack() as stack:
            client = make_client(self.options)
            if self.endpoint.store is not None:
                room = room_for((c for _, c in self.queue), self.endpoint.model, at_once)
                keeping = Keeping(self.endpoint.store, self.endpoint.model, room)
                self.keeping = stack.enter_context(keeping)
            async with client, asyncio.TaskGroup() as group:
                for _ in range(at_once):
                    group.create_task(self._work(client, advance))
            if self.keeping is not None and self.keeping.broken is not None:
                raise self.keeping.error()
        if self.stop is not None:
            raise self.stop

    async def _work(self, client: Any, advance: Advance) -> None:
        while self.stop is None and self.queue:
            key, call = self.queue.popleft()
            try:
                await self._ask(client, key, call)
            except CiteforgeError as error:
                self.stop = self.stop or error
                return
            advance(1, self._note())

    async def _ask(self, client: Any, key: str, call: C) -> None:
        reserve = await self.budget.hold(call)
        resource = attrgetter(self.route.resource)(client)
        send = partial(resource.with_raw_response.create, **call.payload(self.endpoint.model))
        read = partial(self.route.read, call)
        result = await self.caller.call(send, read, estimate_prompt_tokens(call))
        if isinstance(result, LlmReply):
            result = self.route.settle(call, result)
        if self.keeping is not None:  # stored before anybody sees it
            await self.keeping.keep(key, call, result)
        await self.budget.settle(reserve, result)
        if self.keeping is not None and self.keeping.broken is not None:
            self.stop = self.stop or self.keeping.broken
            return
        self.take(key, result)
        self._judge_start(result)

    def _judge_start(self, result: Result) -> None:
        """Stop early when nothing works."""
        if isinstance(result, LlmReply):
            self.answered += 1
            return
        self.failed += 1
        if self.answered or result.reason not in _HOPELESS:
            return
        if result.reason == "unauthorised" or self.failed >= self.options.give_up_after:
            many = "call" if self.failed == 1 else f"{self.failed} calls"
            refused = result.reason == "unauthorised"
            self.stop = self.stop or InputError(
                f"the first {many} failed: {result.message}",
                path=self.options.endpoint,
                allowed=f"check the model, --base-url and {KEY_VARIABLE}; see: citeforge doctor",
                code="endpoint-refused" if refused else "endpoint-failed",
            )

    def _note(self) -> str:
        cost = "" if self.budget.spent is None else f" · cost {self.budget.spent:.4f}"
        return f"{sum(self.budget.tokens):,} tokens{cost} · {self.failed} errors"


class Keeping:
    """The store of one run, and a file beside it for the answers that it does not take.

    The room of that file is taken before anything is asked: on a full disk it is what is left, and
    a disk that is full already is noticed while nothing has been paid for.

    Attributes:
        broken: why the store took no more; None while it does.
    """

    def __init__(self, store: ReplayStore, model: str, room: int) -> None:
        """Take the room for answers in flight.

        Raises:
            InputError: the disk is full already, or the folder cannot be written.
        """
        self.broken: CiteforgeError | None = None
        self._store, self._model = store, model
        self._n_kept = self._n_lost = self._end = 0
        self._turn = asyncio.Lock()
        path = store.path
        with storage_errors(path):
            self._handle, name = tempfile.mkstemp(prefix=f"{path.name}.spill.", dir=path.parent)
            self._path = Path(name)
            try:
                for start in range(0, max(1, room), _BLOCK):
                    os.write(self._handle, bytes(min(_BLOCK, max(1, room) - start)))
            except OSError:
                self.__exit__()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Give back the room that was not used; a file without rows goes away."""
        if self._end == 0:
            self._path.unlink(missing_ok=True)
        else:
            os.ftruncate(self._handle, self._end)
        os.close(self._handle)

    async def keep(self, key: str, call: Call, result: Result) -> None:
        """Store a result; when that fails, keep it beside the store, and say so in ``broken``."""
        payload = call.payload(self._model)

        def put() -> None:
            if self.broken is not None:  # what queued behind the failure need not wait as long
                raise self.broken
            self._store.keep(key, payload, call.sample, result)

        try:
            async with self._turn:
                # Another program's lock may make us wait; replies go on arriving meanwhile.
                await asyncio.to_thread(put)
        except CiteforgeError as error:
            self.broken = self.broken or error
            if not isinstance(result, LlmReply):
                return  # it would be asked again anyhow
            line = canonical_json(asdict(exported_row(key, payload, call.sample, result))) + "\n"
            try:
                self._spill(line.encode("utf-8", "surrogatepass"))
            except InputError:
                self._n_lost += 1

    def _spill(self, line: bytes) -> None:
        """Keep one row, on the disk.

        Raises:
            InputError: it cannot be written even here.
        """
        with storage_errors(self._path):
            os.lseek(self._handle, self._end, os.SEEK_SET)
            done = 0
            while done < len(line):
                done += os.write(self._handle, line[done:])
            os.fsync(self._handle)
        self._end += len(line)
        self._n_kept += 1

    def error(self) -> CiteforgeError:
        """Why the run ended, and where the answers are."""
        assert self.broken is not None
        note = f"{self._n_kept:,} paid answers are kept"
        where = f"{note} in {self._path}; the next run with this store imports them"
        if self._n_lost:
            where += f"; {self._n_lost:,} are lost"
        return InputError(f"{self.broken}; {where}", code=self.broken.code)


def room_for(calls: Iterable[Call], model: str, at_once: int) -> int:
    """Bytes that the answers of all calls in flight may need."""
    largest = 0
    for call in calls:
        size = len(canonical_json(call.payload(model)).encode("utf-8", "surrogatepass"))
        largest = max(largest, size + call.reply_bytes + _ROW_OVERHEAD_BYTES)
    return min(_LARGEST_ROOM_BYTES, at_once * largest)
