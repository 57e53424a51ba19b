"""Requests through a provider's batch endpoint, as OpenAI's Files and Batches define it.

A batch is recorded before it is created: its requests as rows of kind ``pending`` in the store of
replies, under a name of ours that the provider keeps as metadata. A killed command finds the batch
by its id or, where it died before the id was stored, by that name among the provider's batches.
"""

import asyncio
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

import httpx2
import msgspec
import openai
from openai.types import Batch

from citeforge.engines.io.files import canonical_json
from citeforge.engines.io.progress import Advance
from citeforge.engines.llm.options import one_line
from citeforge.engines.llm.reading import NO_REPLY, EndpointError, read_error, status_of_body
from citeforge.engines.llm.records import Failure, request_key
from citeforge.engines.llm.replay import BATCH, FAILURE, PENDING, BatchedCall, ReplayStore
from citeforge.schemas.errors import InputError

MOST_REQUESTS = 50_000
MOST_BYTES = 200_000_000
"""Of one batch, as OpenAI documents them."""
_LONGEST_LINE = 32 << 20
_NAME = "citeforge"
"""Key of a batch's metadata whose value is our name of it."""
_ENDED = ("completed", "failed", "expired", "cancelled")
_PAUSES = (1.0, 4.0, 16.0)
"""Seconds between tries of what the SDK does not try again."""
_FIRST_POLL, _LONGEST_POLL = 1.0, 60.0
_A_DAY = 86_400.0
_UNSURE = (openai.APIConnectionError, openai.InternalServerError, openai.RateLimitError)
"""Errors after which a batch may have been created all the same, or may be a moment later."""


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"null")


class _LineError(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: _LineError | None = None

    def read(self) -> bytes | EndpointError:
        """Body of a reply, or the error of the request."""
        if self.response is not None:
            status, body = self.response.status_code, bytes(self.response.body)
            status = status_of_body(body) if status == 200 else status
            return body if status == 200 else read_error(status, body)
        error = self.error or _LineError()
        return EndpointError(NO_REPLY, error.message or "no reason given", error.code or "")


def split_calls(calls: Iterable[BatchedCall], url: str) -> Iterator[list[BatchedCall]]:
    """Groups of requests within the limits of one batch.

    Raises:
        InputError: a single request is longer than a batch may be.
    """
    group: list[BatchedCall] = []
    size = 0
    for call in calls:
        n_bytes = len(call.line(url))
        if n_bytes > MOST_BYTES:
            raise InputError(
                f"a request has {n_bytes:,} bytes, and a batch at most {MOST_BYTES:,}",
                allowed="shorter prompts",
                code="too-large",
            )
        if len(group) == MOST_REQUESTS or size + n_bytes > MOST_BYTES:
            yield group
            group, size = [], 0
        group.append(call)
        size += n_bytes
    if group:
        yield group


def _stored_id(store: ReplayStore, name: str) -> tuple[str | None, float]:
    """Id of a batch (None: not known), and when it was recorded."""
    select = "SELECT content, created FROM kept WHERE kind = ? AND asked = ?"
    ((content, created),) = store.rows(select, BATCH, name)
    return msgspec.json.decode(content), created


@dataclass
class Batches:
    """Batches of one resource of an endpoint.

    Attributes:
        client: an ``AsyncOpenAI``.
        store: records them.
        url: of the resource, such as ``/v1/chat/completions``.
        endpoint: address, for messages.
    """

    client: Any
    store: ReplayStore
    url: str
    endpoint: str

    async def submit(self, calls: Sequence[BatchedCall]) -> str:
        """Record and create a batch; returns its name.

        Raises:
            InputError: the endpoint has no batches, or refuses this one.
        """
        name, now = uuid.uuid4().hex, time.time()
        rows = [(name, name, BATCH, "null", "{}", "{}", 0, 0, 0, now)]
        for c in calls:
            texts = (canonical_json(c.sent), canonical_json(c.changes))
            key = request_key(c.sent, c.sample)
            rows.append((c.asked, key, PENDING, name, *texts, c.sample, 0, 0, now))
        with self.store.transaction() as db:
            # What was paid for earlier failures of a request stays counted.
            db.executemany(
                f"INSERT INTO kept VALUES ({', '.join('?' * 10)}) ON CONFLICT (asked) DO UPDATE "
                "SET (key, kind, content, payload, changes, created) = (excluded.key, "
                "excluded.kind, excluded.content, excluded.payload, excluded.changes, "
                "excluded.created)",
                rows,
            )
        await self._create(name, calls, False)
        return name

    def calls(self, name: str) -> dict[str, BatchedCall]:
        """Requests of a batch that have no result yet, by their hashes."""
        select = "SELECT asked, payload, sample, changes FROM kept WHERE kind = ? AND content = ?"
        return {
            asked: BatchedCall(asked, msgspec.json.decode(body), n, msgspec.json.decode(changes))
            for asked, body, n, changes in self.store.rows(select, PENDING, name)
        }

    async def replies(
        self, name: str, advance: Advance
    ) -> AsyncIterator[tuple[BatchedCall, bytes | EndpointError]]:
        """Wait for the end of a batch; every open request of it, with its reply or error.

        Raises:
            InputError: the batch is not known, or the endpoint is out of reach.
        """
        calls = self.calls(name)
        stored, since = _stored_id(self.store, name)
        if stored is None:
            batch = await self._create(name, list(calls.values()), True, since)
        else:
            batch = await self._retrieve(stored)
        seconds = _FIRST_POLL
        while batch.status not in _ENDED:
            if (done := batch.request_counts) is not None:
                advance(0, f"batch {batch.status} · {done.completed:,} of {done.total:,}")
            await asyncio.sleep(seconds)
            seconds = min(2 * seconds, _LONGEST_POLL)
            batch = await self._retrieve(batch.id)
        for file in filter(None, (batch.output_file_id, batch.error_file_id)):
            async for line in self._read(file):
                if (call := calls.pop(line.custom_id, None)) is not None:
                    yield call, line.read()
        message = f"batch {batch.id} {batch.status} without a reply to this request"
        for fault in ((batch.errors and batch.errors.data) or [])[:1]:
            place = "" if fault.line is None else f"line {fault.line}: "
            message = f"batch {batch.id} {batch.status}: {place}{fault.message} ({fault.code})"
        for call in calls.values():
            yield call, EndpointError(NO_REPLY, one_line(message))

    async def _create(
        self, name: str, calls: Sequence[BatchedCall], is_unsure: bool, since: float = 0.0
    ) -> Batch:
        """Upload and create a batch once: after an unclear end, it is looked for first."""
        pauses = iter(_PAUSES)
        once, upload = self.client.with_options(max_retries=0), None
        try:
            while True:
                try:
                    batch = await self._find(name, since) if is_unsure else None
                    if batch is None:
                        is_unsure = False
                        content = b"".join(c.line(self.url) for c in calls)
                        file = (f"{name}.jsonl", content)
                        upload = upload or await self.client.files.create(
                            file=file, purpose="batch"
                        )
                        is_unsure = True
                        try:
                            batch = await once.batches.create(
                                input_file_id=upload.id, endpoint=self.url,
                                completion_window="24h", metadata={_NAME: name},
                            )  # fmt: skip
                        except openai.APIStatusError as error:
                            is_unsure = error.status_code >= 500
                            raise
                    break
                except _UNSURE:
                    if (seconds := next(pauses, None)) is None:
                        raise
                    await asyncio.sleep(seconds)
        except openai.APIError as error:
            if not is_unsure:  # there is none: its requests may be asked directly
                failed = asdict(Failure("refused", "no batch was created"))
                update = "UPDATE kept SET kind = ?, content = ? WHERE kind = ? AND content = ?"
                self.store.rows(update, FAILURE, canonical_json(failed), PENDING, name)
            self._refuse(error)
        update = "UPDATE kept SET content = ? WHERE kind = ? AND asked = ?"
        self.store.rows(update, canonical_json(batch.id), BATCH, name)
        sys.stderr.write(
            f"batch {one_line(batch.id)} of {len(calls):,} requests may take a day; this command "
            f"may be stopped and run again with --batch: {self.store.path} knows the batch\n"
        )
        return batch

    async def _find(self, name: str, since: float) -> Batch | None:
        """The provider's batch with our name, among those that are not older."""
        batch: Batch
        async for batch in self.client.batches.list(limit=100):
            if (batch.metadata or {}).get(_NAME) == name:
                return batch
            if batch.created_at < since - _A_DAY:
                return None
        return None

    async def _retrieve(self, batch_id: str) -> Batch:
        try:
            batch: Batch = await self.client.batches.retrieve(batch_id)
            return batch
        except openai.APIError as error:
            self._refuse(error, f"batch {batch_id} cannot be looked up: ")

    async def _read(self, file_id: str) -> AsyncIterator[_Line]:
        """Lines of an output or error file; what is no such line is left out."""
        pauses = iter(_PAUSES)
        while True:
            try:
                async for line in self._lines(file_id):
                    try:
                        yield msgspec.json.decode(line, type=_Line)
                    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                        continue
                return
            except openai.APIStatusError as error:
                self._refuse(error, f"file {file_id} cannot be read: ")
            except (openai.APIConnectionError, httpx2.TransportError) as error:
                if (seconds := next(pauses, None)) is None:
                    self._refuse(error, f"file {file_id} cannot be read: ")
                await asyncio.sleep(seconds)

    async def _lines(self, file_id: str) -> AsyncIterator[bytes]:
        async with self.client.files.with_streaming_response.content(file_id) as reply:
            rest = b""
            async for part in reply.iter_bytes():
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    yield line
                if len(rest) > _LONGEST_LINE:
                    return
            yield rest

    def _refuse(self, error: Exception, start: str = "no batch was created: ") -> NoReturn:
        message = str(error.__cause__ or error)
        if isinstance(error, openai.APIStatusError):
            read = read_error(error.status_code, error.response.content)
            message = f"HTTP {read.status}: {read.message}"
        advice = "run again: a batch that was created goes on, and is found again"
        if isinstance(error, openai.NotFoundError):
            advice = "an endpoint with /v1/files and /v1/batches; or run without --batch"
            if not start.startswith("no batch"):
                advice = "the endpoint and key that the batch was made with, or another --store"
        raise InputError(
            one_line(f"{start}{message}"),
            path=self.endpoint,
            allowed=advice,
            code="endpoint-refused",
        ) from error
