"""Requests through a provider's batch endpoint, as OpenAI's Files and Batches define it.

The file of requests is uploaded first; its id is the name of the batch. The store has the batch
before it is created, so that a killed command finds it again: by its id or, where the reply to its
creation was lost, by its file in the provider's list. A second one is never created on a guess.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import httpx2
import msgspec
import openai
from openai.types import Batch

from citeforge.engines.io.files import canonical_json
from citeforge.engines.io.progress import Advance
from citeforge.engines.llm.options import one_line
from citeforge.engines.llm.reading import (
    NO_REPLY,
    EndpointError,
    Reply,
    failure_of,
    read_error,
    status_of_body,
)
from citeforge.engines.llm.replay import BATCH, PENDING, ReplayStore, SentRequest
from citeforge.schemas.errors import InputError

MOST_REQUESTS = 50_000
MOST_BYTES = 200_000_000
"""Of one batch, as OpenAI documents them."""
_ENDED = ("completed", "failed", "expired", "cancelled")
_PAUSES = (0.0, 2.0, 8.0, 32.0)
"""Seconds before each look into the provider's list, which may be late."""
_FIRST_POLL, _LONGEST_POLL = 1.0, 60.0
_A_DAY = 86_400.0
_AGAIN = "run again: a batch that was created goes on, and is found again"


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"null")


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: msgspec.Raw = msgspec.Raw(b"null")

    def read(self) -> Reply:
        """Return the body of a reply, or the error of the request."""
        if self.response is None:
            return read_error(NO_REPLY, bytes(self.error))
        status, body = self.response.status_code, bytes(self.response.body)
        status = status_of_body(body) if status == 200 else status
        return body if status == 200 else read_error(status, body)


def _line(request: SentRequest, url: str) -> bytes:
    """Encode a request as a line of the file to upload."""
    row = {"custom_id": request.asked, "method": "POST", "url": url, "body": request.body}
    return msgspec.json.encode(row) + b"\n"


def split_calls(calls: Iterable[SentRequest], url: str) -> Iterator[list[SentRequest]]:
    """Group requests within the limits of one batch.

    Raises:
        InputError: a single request is longer than a batch may be.
    """
    group: list[SentRequest] = []
    size = 0
    for call in calls:
        n_bytes = len(_line(call, url))
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


@dataclass
class Batches:
    """Batches of one resource of an endpoint, recorded in a store."""

    client: openai.AsyncOpenAI
    store: ReplayStore
    url: str
    endpoint: str

    async def submit(self, calls: Sequence[SentRequest]) -> str:
        """Upload, record and create a batch; returns its name.

        Raises:
            InputError: the endpoint has no batches, refuses this one, or left it unknown whether
                there is one.
        """
        content = b"".join(_line(call, self.url) for call in calls)
        try:
            file = await self.client.files.create(file=("b.jsonl", content), purpose="batch")
        except openai.APIError as error:
            self._refuse(error)
        self.store.keep_batch(file.id, calls)
        try:
            once = self.client.with_options(max_retries=0)
            batch = await once.batches.create(
                input_file_id=file.id,
                endpoint=self.url,  # type: ignore[arg-type]
                completion_window="24h",
            )
        except openai.APIError as error:
            if isinstance(error, openai.APIStatusError) and error.status_code < 500:
                self.store.forget_batch(file.id)  # there is none
                self._refuse(error)
            batch = await self._find(file.id, time.time())
        self._note_id(file.id, batch)
        return file.id

    def calls(self, name: str) -> dict[str, SentRequest]:
        """List the requests of a batch that have no result yet, by hash."""
        select = "SELECT asked, payload, sample, changes FROM kept WHERE kind = ? AND content = ?"
        return {
            asked: SentRequest(asked, msgspec.json.decode(body), n, msgspec.json.decode(changes))
            for asked, body, n, changes in self.store.rows(select, PENDING, name)
        }

    async def replies(
        self, name: str, advance: Advance
    ) -> AsyncIterator[tuple[SentRequest, Reply]]:
        """Wait for the end of a batch, and yield each open request with its reply or error.

        Raises:
            InputError: the batch is not known, or the endpoint is out of reach.
        """
        select = "SELECT content, created FROM kept WHERE kind = ? AND asked = ?"
        ((stored, since),) = self.store.rows(select, BATCH, name)
        if (batch_id := msgspec.json.decode(stored)) is None:
            batch = await self._find(name, since)
            self._note_id(name, batch)
        else:
            batch = await self._retrieve(name, batch_id)
        seconds = _FIRST_POLL
        while batch.status not in _ENDED:
            if (done := batch.request_counts) is not None:
                advance(0, f"batch {batch.status} · {done.completed:,} of {done.total:,}")
            await asyncio.sleep(seconds)
            seconds = min(2 * seconds, _LONGEST_POLL)
            batch = await self._retrieve(name, batch.id)
        calls = self.calls(name)
        for file in filter(None, (batch.output_file_id, batch.error_file_id)):
            async for line in self._read(file):
                if (call := calls.pop(line.custom_id, None)) is not None:
                    yield call, line.read()
        message = f"batch {batch.id} {batch.status} without a reply to this request"
        for fault in ((batch.errors and batch.errors.data) or [])[:1]:
            place = "" if fault.line is None else f"line {fault.line}: "
            message = f"batch {batch.id} {batch.status}: {place}{fault.message} ({fault.code})"
        for call in calls.values():
            yield call, EndpointError(NO_REPLY, message)

    async def _find(self, name: str, since: float) -> Batch:
        """Find the batch of a file in the provider's list, which may be late.

        Raises:
            InputError: it is not there, so that only the user can tell whether it was created.
        """
        for seconds in _PAUSES:
            await asyncio.sleep(seconds)
            try:
                async for batch in self.client.batches.list(limit=100):
                    if batch.input_file_id == name:
                        return batch
                    if batch.created_at < since - _A_DAY:
                        break
            except openai.APIError as error:
                self._refuse(error, "batches cannot be listed: ")
        raise InputError(
            f"it is not known whether the batch of file {one_line(name)} was created: there was no "
            "clear reply, and it is not listed",
            path=self.endpoint,
            allowed="run again later; if the provider's own page does not show it either, "
            f"`citeforge llm forget {self.store.path} {one_line(name)}`, and run again",
            code="open-batch",
        )

    def _note_id(self, name: str, batch: Batch) -> None:
        """Store the id of a batch, and say that waiting is not needed."""
        update = "UPDATE kept SET content = ? WHERE kind = ? AND asked = ?"
        self.store.rows(update, canonical_json(batch.id), BATCH, name)
        sys.stderr.write(
            f"batch {one_line(batch.id)} of {len(self.calls(name)):,} requests may take a day; "
            "this command may be stopped and run again with --batch: "
            f"{self.store.path} knows the batch\n"
        )

    async def _retrieve(self, name: str, batch_id: str) -> Batch:
        """Look up a batch at the provider."""
        try:
            return await self.client.batches.retrieve(batch_id)
        except openai.NotFoundError as error:
            advice = (
                "the endpoint and key that the batch was made with, or another --store; if it is "
                f"gone, `citeforge llm forget {self.store.path} {one_line(name)}`"
            )
            self._refuse(error, f"batch {batch_id} cannot be looked up: ", advice)
        except openai.APIError as error:
            self._refuse(error, f"batch {batch_id} cannot be looked up: ")

    async def _read(self, file_id: str) -> AsyncIterator[_Line]:
        """Read the results in an output or error file; invalid lines are left out."""
        try:
            async for line in self._lines(file_id):
                try:
                    yield msgspec.json.decode(line, type=_Line)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    continue
        except (openai.APIError, httpx2.TransportError) as error:
            self._refuse(error, f"file {file_id} cannot be read: ")

    async def _lines(self, file_id: str) -> AsyncIterator[bytes]:
        """Stream the lines of a file of the provider."""
        async with self.client.files.with_streaming_response.content(file_id) as reply:
            rest = b""
            async for part in reply.iter_bytes():
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    yield line
            yield rest

    def _refuse(
        self, error: Exception, start: str = "no batch was created: ", advice: str = _AGAIN
    ) -> NoReturn:
        """Raise the error of a failed batch request, with advice."""
        message = str(error.__cause__ or error)
        if isinstance(error, openai.APIStatusError):
            message = failure_of(read_error(error.status_code, error.response.content)).message
        if isinstance(error, openai.NotFoundError) and start.startswith("no batch"):
            advice = "an endpoint with /v1/files and /v1/batches; or run without --batch"
        raise InputError(
            one_line(f"{start}{message}"),
            path=self.endpoint,
            allowed=advice,
            code="endpoint-refused",
        ) from error
